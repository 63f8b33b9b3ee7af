#!/usr/bin/env python3
"""Decides every question again in other ways: no two verdicts may contradict each other. Python's standard library alone.

  agree.py --bpgraph PROGRAM [--timeout S] [--only TEXT] INDEX.csv       columns onnx, vnnlib (paths from the folder of the file)
  agree.py --bpgraph PROGRAM [--timeout S] NET.onnx PROPERTY.vnnlib [NET.onnx PROPERTY.vnnlib]...

What the plain run decides is asked again without an attack, with other seeds, schedulers, numbers of workers, batches, cuts, all in step
and in double precision. An answer may be missing there (time is limited), but it must not be another. Ends with 1 when one is.
"""
import argparse
import csv
import os
import subprocess
import sys

WAYS = [('attack off', ['--attack', 'off'], {}),
        ('another seed', ['--seed', '77'], {}),
        ('eager, one worker', [], {'STARPU_SCHED': 'eager', 'STARPU_NCPU': '1'}),
        ('dmdas', ['--attack', 'off'], {'STARPU_SCHED': 'dmdas'}),
        ('small batches', ['--attack', 'off', '--batch', '3'], {}),
        ('in step', ['--attack', 'off', '--force-synchronous'], {}),
        ('inputs', ['--attack', 'off', '--branching', 'input'], {}),
        ('neurons', ['--attack', 'off', '--branching', 'babsr'], {}),
        ('float64', ['--attack', 'off', '--precision', 'float64'], {})]


def questions(words, only):
    if len(words) == 1 and words[0].endswith('.csv'):
        folder = os.path.dirname(os.path.abspath(words[0]))
        with open(words[0]) as f:
            return [(os.path.join(folder, r['onnx']), os.path.join(folder, r['vnnlib'])) for r in csv.DictReader(f) if only in r['onnx'] + r['vnnlib']]
    if len(words) % 2:
        sys.exit('agree.py: give an index, or pairs of a network and a property')
    return list(zip(words[::2], words[1::2]))


def verdict(program, net, spec, seconds, options, variables):
    command = [program, 'run', net, spec, '--timeout', str(seconds), '--quiet'] + options
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **variables})
    return r.stdout.split('\n')[0].strip() or 'exit %d' % r.returncode


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bpgraph', required=True)
    p.add_argument('--timeout', type=float, default=10)
    p.add_argument('--only', default='', help='questions whose paths contain this text')
    p.add_argument('question', nargs='+')
    a = p.parse_args()
    asked = decided = bad = 0
    count = {name: 0 for name, _, _ in WAYS}
    for net, spec in questions(a.question, a.only):
        first = verdict(a.bpgraph, net, spec, a.timeout, [], {})
        asked += 1
        if first not in ('sat', 'unsat'):
            continue
        decided += 1
        for name, options, variables in WAYS:
            again = verdict(a.bpgraph, net, spec, a.timeout, options, variables)
            count[name] += again == first
            if again != first and again not in ('timeout', 'unknown'):
                bad += 1
                print('CONTRADICTION %s %s: %s, %s with %s' % (net, spec, first, again, name), flush=True)
    print('%d questions, %d decided; the same verdict: %s; %d contradictions' % (asked, decided, ', '.join('%s %d' % c for c in count.items()), bad))
    sys.exit(bad > 0)


if __name__ == '__main__':
    main()
