#!/usr/bin/env python3
"""The law of memory of a search over ranks in step: bytes of an owner = a + b B / P, for batches of B domains on P ranks.

  bench/law.py NET.onnx [--build DIR] [--ranks 1,2,4] [--batch 64,128,256] [--epsilon E] [--part X] [--seconds S] [--tile N] [--json FILE]

The question is one that a search leaves open for long: an output below a value that lies a part X of the way from its CROWN bound to what
a point of the region has. A run is stopped after S seconds; it counts when it had as many domains as four full batches have. a and b are
those of least squares by the worst owner's registered bytes, for each P (a holds the owner's weights, 1/P of them, and two slots) and for all
together; beside them what is registered for slopes and moments, and what that is of one rank's over P."""
import argparse
import json
import os
import subprocess
import tempfile

MPI = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}


def run(o, words, ranks, **more):
    command = [os.path.join(o.build, 'bpgraph'), 'run', o.net, '--quiet', '--json', '-', *words]
    if ranks > 1:
        command = ['mpirun', '--oversubscribe', '--bind-to', 'none', '-n', str(ranks)] + command
    env = dict(os.environ, STARPU_NCPU=os.environ.get('STARPU_NCPU', '1'), **MPI)
    p = subprocess.run(command, env=env, capture_output=True, text=True, timeout=o.seconds + 120)
    if not p.stdout.startswith('{'):
        raise SystemExit('%s: %s' % (' '.join(command), p.stderr))
    return json.loads(p.stdout)


def question(o, tmp):
    """Output 0 of the box about 0.5 is at most a value between its bound and that of the centre."""
    centre = tmp + '/centre'
    with open(centre, 'w') as f:
        f.write('\n'.join(['0.5'] * o.inputs))
    bounds = run(o, ['--center', centre, '--epsilon', str(o.epsilon), '--method', 'crown'], 1)['rows']
    at = json.loads(subprocess.run([os.path.join(o.build, 'bpgraph'), 'eval', o.net, '--input', centre, '--json', '-'], capture_output=True, text=True).stdout)
    value = bounds['lower'][0] + o.part * (at['output'][0] - bounds['lower'][0])
    outputs = len(bounds['lower'])
    path = tmp + '/open.vnnlib'
    with open(path, 'w') as f:
        f.write(''.join('(declare-const X_%d Real)\n' % i for i in range(o.inputs)) + ''.join('(declare-const Y_%d Real)\n' % i for i in range(outputs)))
        for i in range(o.inputs):
            f.write('(assert (>= X_%d %.9g))\n(assert (<= X_%d %.9g))\n' % (i, 0.5 - o.epsilon, i, 0.5 + o.epsilon))
        f.write('(assert (<= Y_0 %.17g))\n' % value)
    return path


def least_squares(points):
    """a, b of y = a + b x."""
    n, x, y = len(points), sum(p[0] for p in points), sum(p[1] for p in points)
    xx, xy = sum(p[0] * p[0] for p in points), sum(p[0] * p[1] for p in points)
    b = (n * xy - x * y) / (n * xx - x * x)
    return (y - b * x) / n, b


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('net')
    a.add_argument('--build', default='.')
    a.add_argument('--inputs', type=int, default=784)
    a.add_argument('--ranks', default='1,2,4')
    a.add_argument('--batch', default='64,128,256')
    a.add_argument('--epsilon', type=float, default=0.01)
    a.add_argument('--part', type=float, default=0.5)
    a.add_argument('--seconds', type=float, default=60)
    a.add_argument('--tile', type=int, default=16)
    a.add_argument('--iterations', type=int, default=0, help='of the root')
    a.add_argument('--json')
    o = a.parse_args()
    rows, one = [], {}
    with tempfile.TemporaryDirectory() as tmp:
        path = question(o, tmp)
        print('| B | P | domains | peak MB, worst owner | alpha, moments MB | of 1/P |\n|---|---|---|---|---|---|')
        for batch in map(int, o.batch.split(',')):
            for ranks in map(int, o.ranks.split(',')):
                words = [path, '--attack', 'off', '--branching', 'babsr', '--force-synchronous', '--batch', str(batch), '--tile', str(o.tile), '--timeout',
                         str(o.seconds), '--iterations', str(o.iterations)] + (['--placement', 'rows'] if ranks > 1 else [])
                r = run(o, words, ranks)
                peak, parameters = max(r['memory']['peak_bytes']), max(r['memory']['parameter_bytes'])
                one.setdefault(batch, parameters * ranks)
                rows.append({'batch': batch, 'ranks': ranks, 'domains': r['domains'], 'verdict': r['verdict'], 'peak': peak, 'parameters': parameters})
                print('| %d | %d | %d | %.2f | %.2f | %.3f |%s' % (batch, ranks, r['domains'], 1e-6 * peak, 1e-6 * parameters, parameters * ranks / one[batch],
                                                            '' if r['domains'] >= 4 * batch else ' too few domains: left out'), flush=True)
    print()
    for ranks in [*map(int, o.ranks.split(',')), 0]:
        points = [(r['batch'] / r['ranks'], r['peak']) for r in rows if ranks in (0, r['ranks']) and r['domains'] >= 4 * r['batch']]
        if len({p[0] for p in points}) > 1:
            base, slope = least_squares(points)
            worst = max(abs(base + slope * x - y) / y for x, y in points)
            print('%s: bytes of an owner = %.2f MB + %.1f kB B / P; residuals at most %.1f %%' % ('P = %d' % ranks if ranks else 'all', 1e-6 * base, 1e-3 * slope, 100 * worst))
    if o.json:
        with open(o.json, 'w') as f:
            json.dump(rows, f, indent=1)


if __name__ == '__main__':
    main()
