# Makes net.onnx: Gemm (2 to 3), SignedSquare, Gemm (3 to 1).
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

constants = {
    "W1": [[1.5, -0.5, 0.75], [-1.0, 2.0, 0.25]],
    "b1": [0.25, -0.5, 0.0],
    "W2": [[1.0], [-0.5], [2.0]],
    "b2": [0.125],
}
nodes = [
    helper.make_node("Gemm", ["X", "W1", "b1"], ["a"]),
    helper.make_node("SignedSquare", ["a"], ["b"], domain="org.example"),
    helper.make_node("Gemm", ["b", "W2", "b2"], ["Y"]),
]
graph = helper.make_graph(
    nodes, "my_layer",
    [helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 2])],
    [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 1])],
    [numpy_helper.from_array(np.array(v, np.float32), k) for k, v in constants.items()],
)
opsets = [helper.make_opsetid("", 13), helper.make_opsetid("org.example", 1)]
model = helper.make_model(graph, opset_imports=opsets, producer_name="")
model.ir_version = 8
onnx.save(model, "net.onnx")
