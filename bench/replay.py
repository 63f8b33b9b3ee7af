#!/usr/bin/env python3
"""Replays every counterexample in ONNX Runtime. Needs numpy and onnxruntime.

  replay.py --bpgraph PROGRAM [--timeout S] INDEX.csv        columns onnx, vnnlib (paths from the folder of the file)
  replay.py --bpgraph PROGRAM [--timeout S] NET.onnx PROPERTY.vnnlib [NET.onnx PROPERTY.vnnlib]...

Runs each question. For a `sat` the point is run in ONNX Runtime, and its outputs are compared with those that were printed, for which the
assertions hold. Ends with 1 when an output differs by more than --tolerance, relative to the largest.
"""
import argparse
import csv
import os
import subprocess
import sys

import numpy as np
import onnxruntime


def questions(words):
    if len(words) == 1 and words[0].endswith('.csv'):
        folder = os.path.dirname(os.path.abspath(words[0]))
        with open(words[0]) as f:
            return [(os.path.join(folder, r['onnx']), os.path.join(folder, r['vnnlib'])) for r in csv.DictReader(f)]
    if len(words) % 2:
        sys.exit('replay.py: give an index, or pairs of a network and a property')
    return list(zip(words[::2], words[1::2]))


def witness(text):
    """Inputs and outputs of ((X_0 v) ... (Y_0 v))."""
    pairs = [w.split() for w in text.replace('(', ' ').split(')') if w.strip()]
    return [np.array([float(p[1]) for p in pairs if p[0][0] == side]) for side in 'XY']


def run(net, x):
    o = onnxruntime.SessionOptions()
    o.log_severity_level = 4
    o.intra_op_num_threads = 1
    s = onnxruntime.InferenceSession(net, o, providers=['CPUExecutionProvider'])
    feed, at = {}, 0
    for i in s.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in i.shape]
        n = int(np.prod(shape))
        kind = {'tensor(double)': np.float64, 'tensor(float16)': np.float16}.get(i.type, np.float32)
        feed[i.name] = x[at:at + n].reshape(shape).astype(kind)
        at += n
    return np.concatenate([np.ravel(y).astype(float) for y in s.run(None, feed)])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bpgraph', required=True)
    p.add_argument('--timeout', type=float, default=20)
    p.add_argument('--tolerance', type=float, default=1e-4)
    p.add_argument('question', nargs='+')
    a = p.parse_args()
    sat = bad = 0
    for net, spec in questions(a.question):
        r = subprocess.run([a.bpgraph, 'run', net, spec, '--timeout', str(a.timeout), '--quiet'], stdout=subprocess.PIPE, text=True)
        if r.returncode != 1:
            continue
        sat += 1
        x, y = witness(r.stdout.split('\n', 1)[1])
        name = '%s %s' % (os.path.basename(net), os.path.basename(spec))
        try:
            got = run(net[:-3] if net.endswith('.gz') else net, x)
        except Exception as e:  # an operator that this ONNX Runtime has not
            print('%s: not replayed: %s' % (name, str(e).split('\n')[0]))
            continue
        wrong = np.abs(got - y).max() / max(1, np.abs(got).max()) if got.shape == y.shape else np.inf
        bad += not wrong <= a.tolerance
        print('%s %s: largest difference %.2g' % ('ok ' if wrong <= a.tolerance else 'BAD', name, wrong), flush=True)
    print('%d counterexamples, %d differ' % (sat, bad))
    return bad > 0


if __name__ == '__main__':
    sys.exit(main())
