#!/usr/bin/env python3
"""Makes the cases of this folder from bounds that were recorded with an independent implementation.

  convert.py FROM [DIR]     FROM: folders with net.onnx and case.json; DIR: where to write (default: the folder of this file)

Copies the networks of at most 150 KB whose operators bpgraph has, and writes of each case.json what the test reads: lines
`key n value ...`, blank separated. README.md says what the keys mean.
"""
import json, os, shutil, sys

OPS = set('''Add AveragePool BatchNormalization Cast Clip Concat Constant ConstantOfShape Conv ConvTranspose Div Expand Flatten
    Gather Gemm GlobalAveragePool Identity LeakyRelu MatMul MaxPool Mul Neg Pad ReduceMean ReduceSum Relu Reshape Resize Sigmoid
    Slice Split Squeeze Sub Tanh Transpose Unsqueeze'''.split())
# Bounds on these are unique numbers; where another operator stands, the relaxation is a choice.
CHOICE = {'Clip', 'MaxPool', 'Sigmoid', 'Tanh'}
PRODUCTS = {'gated_cell', 'ops_mul'}  # of two variables: not part of this version
METHODS = {'ibp': 'IBP', 'crown-ibp': 'CROWN-IBP', 'crown': 'CROWN', 'crown.same': 'CROWN:same-slope',
           'crown.zero': 'CROWN:zero-lb',
           'crown.one': 'CROWN:one-lb', 'alpha.all': 'alpha_20_lr0.5', 'alpha.fixed': 'alpha_fixed_interm_20_lr0.5'}


def write(name, case, to):
    lines = []

    def put(key, values, digits=12):
        lines.append(' '.join([key, str(len(values))] + ['%.*g' % (digits, v) for v in values]))

    box = case['input']
    norm = {'inf': 0, '1': 1, '2': 2}[str(box['norm'])]
    put('unique', [not CHOICE & set(case['ops'])])
    put('norm', [norm])
    if norm:
        put('center', box['center'], 17)
        put('radius', [box['eps']], 17)
    else:
        put('lower', box['lower'], 17)
        put('upper', box['upper'], 17)
    put('label', [case['label']])
    for rows, spec in case['specs'].items():
        put(rows + '.attack.lower', spec['attack_min'])
        put(rows + '.attack.upper', spec['attack_max'])
        for key, method in METHODS.items():
            if method in spec['float64']:
                for side in 'lower', 'upper':
                    put('%s.%s.%s' % (rows, key, side), spec['float64'][method][side])
    for i, v in enumerate(v for v in case.get('intermediate_CROWN', []) if len(flat(v['lower'])) <= 1024):
        lines.append('tensor.%d 0 %s' % (i, v['tensor']))
        for side in 'lower', 'upper':
            put('tensor.%d.%s' % (i, side), flat(v[side]), 9)
    with open(os.path.join(to, name + '.txt'), 'w') as f:
        f.write('\n'.join(lines) + '\n')


def flat(v):
    return [y for x in v for y in flat(x)] if isinstance(v, list) else [v]


def main(source, to):
    for name in sorted(os.listdir(source)):
        net, text = (os.path.join(source, name, f) for f in ('net.onnx', 'case.json'))
        if not os.path.exists(text) or os.path.getsize(net) > 150000 or name in PRODUCTS:
            continue
        with open(text) as f:
            case = json.load(f)
        if 'specs' in case and set(case['ops']) <= OPS:
            shutil.copyfile(net, os.path.join(to, name + '.onnx'))
            write(name, case, to)
            print(name)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__)))
