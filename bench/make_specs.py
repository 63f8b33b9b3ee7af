#!/usr/bin/env python3
"""Writes a long property: an `or` of many boxes with rows over the outputs, as index and cardinality benchmarks have them.

  make_specs.py SHAPE MIB OUT.vnnlib      about MIB mebibytes; gzip OUT to test the compressed stream

boxes    a disjunct bounds all of 300 inputs and has a row over the one output
index    a disjunct bounds one input; two disjuncts in a row share their box
common   300 inputs bounded once, disjuncts of six rows over ten outputs
mixed    `and`s that hold several bounded inputs, several rows and comments
query    the disjuncts of `boxes`, in VNN-LIB 2
"""
import random, sys


def declare(n, m):
    return ''.join('(declare-const X_%d Real)\n' % i for i in range(n)) + ''.join('(declare-const Y_%d Real)\n' % i for i in range(m))


def box(rng, n, x='X_%d'):
    for i in range(n):
        lo = rng.uniform(0, 1)
        name = x % i
        yield '(>= %s %.16f) (<= %s %.16f)' % (name, lo, name, lo + rng.uniform(0, 0.01))


def boxes(rng):
    return declare(300, 1), lambda: '  (and %s (>= Y_0 %.16f))\n' % (' '.join(box(rng, 300)), rng.uniform(0, 1))


def index(rng):
    def pair():
        b = next(box(rng, 1))
        y = rng.uniform(0, 1)
        return '  (and %s (<= Y_0 %.16f))\n  (and %s (>= Y_0 %.16f))\n' % (b, y - 0.002, b, y + 0.002)
    return declare(1, 1), pair


def common(rng):
    bounds = ''.join('(assert %s)\n(assert %s)\n' % tuple(b.replace(') (', ')\n(').split('\n')) for b in box(rng, 300))
    row = lambda: '(<= (+ (* %.6f Y_%d) Y_%d) %.16f)' % (rng.uniform(-2, 2), rng.randrange(10), rng.randrange(10), rng.uniform(-1, 1))
    return declare(300, 10) + bounds, lambda: '  (and %s)\n' % ' '.join(row() for _ in range(6))


def mixed(rng):
    def one():
        some = ' '.join('(<= X_%d %.12g)' % (rng.randrange(40), rng.uniform(0, 1)) for _ in range(rng.randrange(1, 30)))
        rows = ' '.join('(or (<= Y_%d %.7g) (> Y_%d Y_%d))' % (rng.randrange(5), rng.uniform(-1, 1), rng.randrange(5), rng.randrange(5)) for _ in range(rng.randrange(1, 3)))
        return '  ; a case\n  (and %s\n\t%s)\n' % (some, rows)
    return declare(40, 5), one


def query(rng):
    head = '(vnnlib-version <2.0>)\n(declare-network f (declare-input X float32 [1,300]) (declare-output Y float32 [1,1]))\n'
    return head, lambda: '  (and %s (>= Y[0,0] %.16f))\n' % (' '.join(box(rng, 300, 'X[0,%d]')), rng.uniform(0, 1))


def main():
    shape, size, out = sys.argv[1:]
    head, disjunct = {'boxes': boxes, 'index': index, 'common': common, 'mixed': mixed, 'query': query}[shape](random.Random(1))
    left = float(size) * 2**20 - len(head)
    with open(out, 'w') as f:
        f.write(head + '(assert (or\n')
        while left > 0:
            d = disjunct()
            f.write(d)
            left -= len(d)
        f.write('))\n')


main()
