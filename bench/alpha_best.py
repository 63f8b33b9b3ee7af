#!/usr/bin/env python3
"""How soon alpha-CROWN comes near the best bounds that are known: iterations and seconds for each recorded case.

  alpha_best.py CASES [--build DIR] [--objective local,...] [--within 0.01] [--only NAME,...]

CASES has folders with net.onnx and case.json, whose specs.margin (or specs.identity) holds float64.alpha_best: bounds that another
program found in a long run. A case is reached by the first number of iterations with which the mean width of bpgraph's bounds is
at most (1 + within) times that of alpha_best. Steps do not depend on how many will follow, so that more iterations continue
fewer. Other options come from the environment (BPGRAPH_LR=0.1). Needs Python's standard library only.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

TRIES = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]


def write(folder, name, rows):
    path = os.path.join(folder, name)
    with open(path, 'w') as f:
        for row in rows:
            f.write(' '.join('%.17g' % x for x in row) + '\n')
    return path


def question(case, folder):
    """Options that ask for what alpha_best bounds, and its bounds; None: the case has none."""
    for name, spec in case['specs'].items():
        best = spec['float64'].get('alpha_best')
        if best:
            break
    else:
        return None
    outs, label = len(case['specs']['identity']['attack_min']), case['label']
    if name == 'margin':
        rows = [[(k == label) - (k == j) for k in range(outs)] for j in range(outs) if j != label]
    else:
        rows = [[float(k == j) for k in range(outs)] for j in range(outs)]
    options = ['--rows=' + write(folder, 'rows', rows)]
    box = case['input']
    if str(box['norm']) == 'inf':
        options += ['--%s=%s' % (end, write(folder, end, [box[end]])) for end in ('lower', 'upper')]
    else:
        options += ['--center=' + write(folder, 'center', [box['center']]), '--epsilon=%.17g' % box['eps'], '--norm=%s' % box['norm']]
    return options, best


def mean_width(lower, upper):
    return sum(u - l for l, u in zip(lower, upper)) / len(lower)


def run(a, net, options):
    command = [os.path.join(a.build, 'bpgraph'), 'run', net, '--json=-', '--quiet', '--method=alpha-crown'] + options
    p = subprocess.run(command, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr.strip().splitlines()[-1])
    r = json.loads(p.stdout)
    return mean_width(r['rows']['lower'], r['rows']['upper']), r['seconds']['bound']


def case_row(a, name, objective):
    folder = os.path.join(a.cases, name)
    with open(os.path.join(folder, 'case.json')) as f:
        case = json.load(f)
    with tempfile.TemporaryDirectory() as scratch:
        asked = question(case, scratch) if 'specs' in case else None
        if not asked:
            return None
        options, best = asked
        goal, at, reached = mean_width(best['lower'], best['upper']), {}, None
        try:
            for n in [n for n in TRIES if n <= a.most]:
                at[n] = run(a, os.path.join(folder, 'net.onnx'), options + ['--objective=' + objective, '--iterations=%d' % n])
                if reached is None and at[n][0] <= goal * (1 + a.within):
                    reached = n
                if reached is not None and n >= 20:
                    break
        except RuntimeError as e:
            return [name, objective, str(e).replace('|', '/'), '', '', '']
    last = max(at)
    return [name, objective, '%d' % reached if reached is not None else 'not by %d' % last,
            '%.3f' % at[reached if reached is not None else last][1],
            '%.4f' % (at[20][0] / goal) if 20 in at else '–', '%.4f' % (at[last][0] / goal)]


def words():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('cases')
    p.add_argument('--build', metavar='DIR', default='.', help='the folder of the build (default: this one)')
    p.add_argument('--objective', default='local', metavar='WORD,...', help='default: %(default)s')
    p.add_argument('--within', type=float, default=0.01, metavar='X', help='share of the width (default %(default)s)')
    p.add_argument('--most', type=int, default=TRIES[-1], metavar='N', help='iterations to try (default %(default)s)')
    p.add_argument('--only', metavar='NAME,...')
    return p.parse_args()


def main():
    a = words()
    names = a.only.split(',') if a.only else sorted(os.listdir(a.cases))
    names = [n for n in names if os.path.exists(os.path.join(a.cases, n, 'case.json'))]
    print('| case | objective | iterations | seconds | width at 20, over the best | at last |')
    print('|---|---|---:|---:|---:|---:|')
    for name in names:
        for objective in a.objective.split(','):
            row = case_row(a, name, objective)
            if row:
                print('| ' + ' | '.join(row) + ' |', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
