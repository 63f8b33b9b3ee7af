#!/usr/bin/env python3
"""Domains a second, time to a verdict and memory of searches. Python's standard library alone.

  search.py --bpgraph PROGRAM [--timeout S] [--workers N,N] [--options 'WORDS'] NET.onnx PROPERTY.vnnlib [NET.onnx PROPERTY.vnnlib]...

Without an attack, so that all is search. Prints a Markdown table: domains, seconds of the search and of the process, domains a second, domains
a second of CPU time, peak memory, and bytes that each domain adds where a shorter run (a third of the time) can be compared.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile


def once(a, net, spec, seconds, workers):
    with tempfile.NamedTemporaryFile(suffix='.json') as f:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [a.bpgraph, 'run', net, spec, '--attack', 'off', '--timeout', '%g' % seconds, '--quiet', '--json', f.name] + a.options.split()
        r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, 'STARPU_NCPU': str(workers)})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if r.returncode == 2:
            sys.exit('search.py: ' + r.stderr.strip())
        j = json.load(open(f.name))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {'verdict': j['verdict'], 'domains': j.get('domains') or 0, 'search': j['seconds'].get('search') or 0, 'total': j['seconds']['total'],
            'cpu': cpu, 'peak': j['memory']['peak_rss_bytes'][0]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bpgraph', required=True)
    p.add_argument('--timeout', type=float, default=60)
    p.add_argument('--workers', default='1,2')
    p.add_argument('--options', default='')
    p.add_argument('question', nargs='+')
    a = p.parse_args()
    if len(a.question) % 2:
        sys.exit('search.py: give pairs of a network and a property')
    print('| question | workers | verdict | domains | search s | process s | domains/s | domains per CPU s | peak MB | bytes a domain |')
    print('|---|---:|---|---:|---:|---:|---:|---:|---:|---:|')
    for net, spec in zip(a.question[::2], a.question[1::2]):
        for workers in (int(w) for w in a.workers.split(',')):
            r = once(a, net, spec, a.timeout, workers)
            grows = '–'
            if r['verdict'] == 'timeout':
                s = once(a, net, spec, a.timeout / 3, workers)
                if r['domains'] > s['domains']:
                    grows = '%.0f' % ((r['peak'] - s['peak']) / (r['domains'] - s['domains']))
            rate = r['domains'] / r['search'] if r['search'] > 0 else 0
            name = '%s %s' % (os.path.basename(net).split('.onnx')[0], os.path.basename(spec).split('.vnnlib')[0])
            print('| %s | %d | %s | %d | %.2f | %.2f | %.0f | %.0f | %.0f | %s |' % (name, workers, r['verdict'], r['domains'], r['search'], r['total'], rate,
                                                                             r['domains'] / r['cpu'] if r['cpu'] else 0, r['peak'] / 1e6, grows), flush=True)


if __name__ == '__main__':
    main()
