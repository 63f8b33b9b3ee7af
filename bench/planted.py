#!/usr/bin/env python3
"""A bench of soundness: trained networks with planted counterexamples that a plain attack misses. Needs numpy alone.

  planted.py --bpgraph PROGRAM [--nets N] [--timeout S] [--seed N] [--keep DIR] [-- OPTIONS...]

Each network is trained on a smooth function of a few inputs, by Adam, and is then given a narrow spike at a random point: neurons of |x - a|
and one that is on near a alone, so that no gradient leads there. The property says that the output is at most what is reached at the top
of the spike and a little; a plain attack (projected gradients from 200 random points, here, in numpy) that finds it is noted. The
answer must never be `unsat`, with any of the options that are tried. Ends with 1 when one is.
"""
import argparse
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

WAYS = ([], ['--attack', 'off'], ['--attack', 'off', '--branching', 'babsr'], ['--attack', 'off', '--branching', 'input', '--batch', '5'],
        ['--attack', 'off', '--precision', 'float64', '--force-synchronous'], ['--method', 'alpha-crown', '--attack', 'off'])


# ---- ONNX, by hand: varints, fields, messages ----
def varint(n):
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack('<f', value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, a):
    return b''.join(field(1, d) for d in a.shape) + field(2, 1) + field(8, name) + field(9, a.astype('<f4').tobytes())


def info(name, *dims):
    shape = b''.join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def write_onnx(path, weights):
    """x -> relu(W x + b) -> ... -> W x + b"""
    nodes, tensors, x = b'', b'', 'x'
    for k, (W, b) in enumerate(weights):
        last = k == len(weights) - 1
        transposed = field(1, 'transB') + field(3, 1) + field(20, 2)
        nodes += field(1, b''.join(field(1, i) for i in (x, 'W%d' % k, 'b%d' % k)) + field(2, 'z%d' % k) + field(4, 'Gemm') + field(5, transposed))
        tensors += field(5, tensor('W%d' % k, W)) + field(5, tensor('b%d' % k, b))
        if not last:
            nodes += field(1, field(1, 'z%d' % k) + field(2, 'y%d' % k) + field(4, 'Relu'))
        x = 'y%d' % k
    graph = nodes + field(2, 'planted') + tensors + field(11, info('x', 1, weights[0][0].shape[1])) + field(12, info('z%d' % (len(weights) - 1), 1, 1))
    with open(path, 'wb') as f:
        f.write(field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 13)))


# ---- networks ----
def forward(weights, x):
    kept = [x]
    for W, b in weights[:-1]:
        x = np.maximum(x @ W.T + b, 0)
        kept.append(x)
    return x @ weights[-1][0].T + weights[-1][1], kept


def gradients(weights, kept, g):
    """Of sum(g * output), by weights and by the input."""
    out = []
    for k in range(len(weights) - 1, -1, -1):
        out.append((g.T @ kept[k], g.sum(0)))
        g = g @ weights[k][0]
        if k:
            g = g * (kept[k] > 0)
    return out[::-1], g


def train(rng, sizes, steps=400):
    weights = [[rng.standard_normal((m, n)) * np.sqrt(2 / n), np.zeros(m)] for n, m in zip(sizes, sizes[1:])]
    wave = rng.standard_normal((sizes[0], 3))
    moments = [[np.zeros_like(p) for p in w for _ in range(2)] for w in weights]
    for t in range(1, steps + 1):
        x = rng.uniform(-1, 1, (128, sizes[0]))
        y, kept = forward(weights, x)
        grads, _ = gradients(weights, kept, 2 * (y - np.sin(x @ wave).sum(1, keepdims=True)) / len(x))
        for w, g, m in zip(weights, grads, moments):
            for i in range(2):
                m[2 * i] = 0.9 * m[2 * i] + 0.1 * g[i]
                m[2 * i + 1] = 0.999 * m[2 * i + 1] + 0.001 * g[i] ** 2
                w[i] -= 0.01 * m[2 * i] / (1 - 0.9 ** t) / (np.sqrt(m[2 * i + 1] / (1 - 0.999 ** t)) + 1e-8)
    return weights


def plant(weights, at, reach, height):
    """Less a spike: height * relu(1 - |x - at|_1 / reach), carried through layers behind the second."""
    n = len(at)
    (W1, b1), (W2, b2) = weights[0], weights[1]
    first = np.vstack([W1, np.eye(n), -np.eye(n)]), np.concatenate([b1, -at, at])
    second = np.zeros((len(b2) + 1, len(b1) + 2 * n))
    second[:-1, :len(b1)] = W2
    second[-1, len(b1):] = -1 / reach
    out = [first, (second, np.append(b2, 1))]
    for W, b in weights[2:-1]:
        wider = np.zeros((len(b) + 1, W.shape[1] + 1))
        wider[:-1, :-1], wider[-1, -1] = W, 1
        out.append((wider, np.append(b, 0)))
    W, b = weights[-1]
    out.append((np.hstack([W, [[-height]]]), b))
    return [(W.astype(np.float32), b.astype(np.float32)) for W, b in out]


def attack(rng, weights, below, n, restarts=200, steps=60):
    x = rng.uniform(-1, 1, (restarts, n))
    for k in range(steps):
        y, kept = forward(weights, x)
        if (y <= below).any():
            return True
        x = np.clip(x - 0.2 * 0.95 ** k * np.sign(gradients(weights, kept, np.ones_like(y))[1]), -1, 1)
    return bool((forward(weights, x)[0] <= below).any())


def write_property(path, n, below):
    with open(path, 'w') as f:
        for i in range(n):
            f.write('(declare-const X_%d Real)\n' % i)
        f.write('(declare-const Y_0 Real)\n')
        for i in range(n):
            f.write('(assert (>= X_%d -1.0))\n(assert (<= X_%d 1.0))\n' % (i, i))
        f.write('(assert (<= Y_0 %.9f))\n' % below)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bpgraph', required=True)
    p.add_argument('--nets', type=int, default=36)
    p.add_argument('--timeout', type=float, default=5)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--keep', help='folder for the networks')
    a = p.parse_args()
    folder = a.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    wrong = attacked = 0
    counts = {}
    for k in range(a.nets):
        rng = np.random.RandomState(1000 * a.seed + k)
        n, depth = 2 + k % 5, 2 + k % 2
        weights = plant(train(rng, [n] + [16] * depth + [1]), rng.uniform(-0.9, 0.9, n), 0.03 * n, 8)
        at = -weights[0][1][16:16 + n].astype(np.float64)
        below = float(forward(weights, at[None].astype(np.float32))[0][0, 0]) + 1e-3
        net, spec = (os.path.join(folder, 'planted_%d.%s' % (k, end)) for end in ('onnx', 'vnnlib'))
        write_onnx(net, weights)
        write_property(spec, n, below)
        attacked += attack(rng, weights, below, n)
        words = []
        for way in WAYS:
            r = subprocess.run([a.bpgraph, 'run', net, spec, '--timeout', str(a.timeout), '--quiet'] + way, stdout=subprocess.PIPE, text=True)
            word = r.stdout.split('\n', 1)[0] or 'error %d' % r.returncode
            counts[word] = counts.get(word, 0) + 1
            wrong += word == 'unsat' or word.startswith('error')
            words.append(word)
        print('%2d: %d inputs, %d layers: %s' % (k, n, depth + 1, ' '.join(words)), flush=True)
    print('%d networks, %d found by the plain attack; answers: %s' % (a.nets, attacked, counts))
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main())
