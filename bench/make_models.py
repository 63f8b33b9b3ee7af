#!/usr/bin/env python3
"""Makes the networks of the bench from seeds: the same weights on every machine. Needs numpy and onnx.

  make_models.py --out DIR [--only NET,NET] [--list]

For each network DIR/NET.onnx (float32, opset 13, symbolic batch dimension) and DIR/NET.x.f32: 64 inputs, raw little-endian
float32, of which the first is the centre of the question. DIR/manifest.json has eps, shapes, and hashes of weights and
inputs. The region is the ball of radius eps in the maximum norm, not clipped.
"""
import argparse
import hashlib
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INPUTS = 64


class Graph:
    """Nodes and weights in the order in which they are drawn from one stream of random numbers."""

    def __init__(self, name, shape, seed):
        self.name, self.shape = name, shape
        self.random = np.random.RandomState(seed)
        self.nodes, self.weights = [], []
        self.hash = hashlib.sha256()

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def weight(self, name, a):
        a = np.ascontiguousarray(a, np.float32)
        self.hash.update(a.tobytes())
        self.weights.append(numpy_helper.from_array(a, name))
        return name

    def integers(self, name, a):
        self.weights.append(numpy_helper.from_array(np.asarray(a, np.int64), name))

    def op(self, kind, inputs, **attributes):
        out = '%s_%d' % (kind.lower(), len(self.nodes) + 1)
        self.nodes.append(helper.make_node(kind, inputs, [out], name=out, **attributes))
        return out

    def relu(self, x):
        return self.op('Relu', [x])

    def linear(self, x, tag, n, m, gain=2.0):
        w = self.weight(tag + '.weight', self.normal(m, n) * np.float32(np.sqrt(gain / n)))
        b = self.weight(tag + '.bias', self.normal(m) * np.float32(0.05))
        return self.op('Gemm', [x, w, b], transB=1)

    def linear_last(self, x, tag, n, m, gain=1.0):
        """On the last axis of a tensor of rank 3; drawn as [m, n], kept as [n, m]."""
        w = self.weight(tag + '.weight', self.normal(m, n) * np.float32(np.sqrt(gain / n)))
        self.weights[-1] = numpy_helper.from_array(np.ascontiguousarray(numpy_helper.to_array(self.weights[-1]).T), w)
        b = self.weight(tag + '.bias', self.normal(m) * np.float32(0.05))
        return self.op('Add', [self.op('MatMul', [x, w]), b])

    def conv(self, x, tag, n, m, size, stride, pad, gain=2.0):
        scale = np.float32(np.sqrt(gain / (n * size * size)))
        w = self.weight(tag + '.weight', self.normal(m, n, size, size) * scale)
        b = self.weight(tag + '.bias', self.normal(m) * np.float32(0.05))
        return self.op('Conv', [x, w, b], kernel_shape=[size, size], strides=[stride, stride], pads=[pad] * 4)

    def block(self, x, tag, n, m, stride):
        """Two convolutions of 3x3 beside the identity, or beside one of 1x1 where the shape changes."""
        y = self.relu(self.conv(x, tag + '.c1', n, m, 3, stride, 1))
        y = self.conv(y, tag + '.c2', m, m, 3, 1, 1, gain=1.0)
        if stride != 1 or n != m:
            x = self.conv(x, tag + '.p', n, m, 1, stride, 0, gain=1.0)
        return self.relu(self.op('Add', [y, x]))

    def norm(self, x, tag, d):
        """Layer norm without the variance."""
        w = self.weight(tag + '.weight', 1 + 0.1 * self.normal(d))
        b = self.weight(tag + '.bias', 0.05 * self.normal(d))
        centred = self.op('Sub', [x, self.op('ReduceMean', [x], axes=[-1], keepdims=1)])
        return self.op('Add', [self.op('Mul', [centred, w]), b])

    def save(self, folder, outputs, eps):
        self.nodes[-1].output[0] = 'output'
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ['N'] + list(shape))
                for name, shape in (('input', self.shape), ('output', (outputs,)))]
        graph = helper.make_graph(self.nodes, self.name, ends[:1], ends[1:], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(folder, self.name + '.onnx'))
        x = np.random.RandomState(12345).random_sample((INPUTS,) + tuple(self.shape)).astype(np.float32)
        x.tofile(os.path.join(folder, self.name + '.x.f32'))
        return dict(input_shape=list(self.shape), outputs=outputs, eps=eps, weights_sha256=self.hash.hexdigest(),
                    x_sha256=hashlib.sha256(x.tobytes()).hexdigest())


def mlp(name, folder, sizes, eps, seed):
    g = Graph(name, (sizes[0],), seed)
    x = 'input'
    for i, (n, m) in enumerate(zip(sizes, sizes[1:])):
        x = g.linear(x, 'l%d' % i, n, m)
        if i < len(sizes) - 2:
            x = g.relu(x)
    return g.save(folder, sizes[-1], eps)


def resnet(name, folder, width, blocks, dense, eps, seed):
    g = Graph(name, (3, 32, 32), seed)
    x, n, side = g.relu(g.conv('input', 'c0', 3, width, 3, 2, 1)), width, 16
    for i, (m, stride) in enumerate(blocks):
        x, n, side = g.block(x, 'b%d' % i, n, m, stride), m, side // stride
    x = g.relu(g.linear(g.op('Flatten', [x], axis=1), 'fc1', n * side * side, dense))
    g.linear(x, 'fc2', dense, 10)
    return g.save(folder, 10, eps)


def vit(name, folder, patch, d, heads, depth, hidden, eps, seed):
    g = Graph(name, (3, 32, 32), seed)
    tokens, dh = (32 // patch) ** 2, d // heads
    g.integers('sh_tok', [0, d, tokens])
    g.integers('sh_heads', [0, tokens, heads, dh])
    g.integers('sh_back', [0, tokens, d])
    g.weight('scale', np.array(dh ** -0.5))
    x = g.conv('input', 'embed', 3, d, patch, patch, 0, gain=1.0)
    x = g.op('Transpose', [g.op('Reshape', [x, 'sh_tok'])], perm=[0, 2, 1])
    x = g.op('Add', [x, g.weight('pos', 0.1 * g.normal(1, tokens, d))])
    for i in range(depth):
        t = 'b%d' % i
        y = g.norm(x, t + '.ln1', d)
        q, k, v = [g.op('Reshape', [g.linear_last(y, '%s.%s' % (t, s), d, d), 'sh_heads']) for s in 'qkv']
        q, k, v = [g.op('Transpose', [a], perm=perm) for a, perm in ((q, [0, 2, 1, 3]), (k, [0, 2, 3, 1]), (v, [0, 2, 1, 3]))]
        a = g.op('Softmax', [g.op('Mul', [g.op('MatMul', [q, k]), 'scale'])], axis=-1)
        y = g.op('Reshape', [g.op('Transpose', [g.op('MatMul', [a, v])], perm=[0, 2, 1, 3]), 'sh_back'])
        x = g.op('Add', [x, g.linear_last(y, t + '.o', d, d, gain=0.5)])
        y = g.relu(g.linear_last(g.norm(x, t + '.ln2', d), t + '.f1', d, hidden, gain=2.0))
        x = g.op('Add', [x, g.linear_last(y, t + '.f2', hidden, d, gain=0.5)])
    x = g.op('ReduceMean', [g.norm(x, 'lnf', d)], axes=[1], keepdims=0)
    g.linear(x, 'head', d, 10, gain=1.0)
    return g.save(folder, 10, eps)


NETS = dict(
    acas_50x6=(mlp, [5] + [50] * 6 + [5], 0.02, 9),
    mnist_fc_256x6=(mlp, [784] + [256] * 6 + [10], 0.01, 4),
    mlp_3072_1024x2=(mlp, [3072, 1024, 1024, 10], 1 / 255, 1),
    mlp_3072_4096x2=(mlp, [3072, 4096, 4096, 10], 1 / 255, 2),
    mlp_3072_8192x2=(mlp, [3072, 8192, 8192, 10], 1 / 255, 3),
    mlp_784_4096x4=(mlp, [784, 4096, 4096, 4096, 4096, 10], 1 / 255, 8),
    resnet_2b=(resnet, 8, [(16, 2), (16, 1)], 100, 2 / 255, 5),
    resnet_4b=(resnet, 16, [(32, 2), (32, 1), (32, 1), (32, 1)], 100, 1 / 255, 6),
    vit_2_3_8=(vit, 8, 48, 3, 2, 96, 1 / 255, 7),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', metavar='DIR')
    parser.add_argument('--only', metavar='NET,NET', help='default: all')
    parser.add_argument('--list', action='store_true')
    a = parser.parse_args()
    if a.list:
        print('\n'.join(NETS))
        return
    wanted = a.only.split(',') if a.only else list(NETS)
    unknown = [n for n in wanted if n not in NETS]
    if unknown or not a.out:
        parser.error('no net ' + ' '.join(unknown) if unknown else '--out DIR is missing')
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, 'manifest.json')
    manifest = {}
    if os.path.exists(path):
        with open(path) as f:
            manifest = json.load(f)
    for n in wanted:
        make, *what = NETS[n]
        manifest[n] = make(n, a.out, *what)
        with open(path, 'w') as f:
            json.dump(manifest, f, indent=1)
        print(n, os.path.getsize(os.path.join(a.out, n + '.onnx')) >> 10, 'KiB', manifest[n]['weights_sha256'][:16], flush=True)


if __name__ == '__main__':
    main()
