#!/usr/bin/env python3
"""Times auto_LiRPA (CROWN, both sides of every output) on a network of make_models.py. Needs torch, auto_LiRPA and onnx.

  peer.py DIR NET THREADS [METHOD [ITERATIONS LR DECAY]]

METHOD is auto_LiRPA's, or alpha-fixed or alpha-all: slopes optimised by ITERATIONS steps of Adam, of the output alone over the
intermediate bounds of CROWN, or of every intermediate bound too; no step is left out.

A line of JSON when the first bounds are there; then, for each line with a number N on standard input, N more calls and a
line with their times. It stays in memory so that its runs can alternate with another program's. Only calls auto_LiRPA and
holds none of its source.
"""
import json
import os
import resource
import sys
import time
import warnings

START = time.perf_counter()
warnings.filterwarnings('ignore')

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm
from onnx import numpy_helper
from torch import nn

IMPORT_S = time.perf_counter() - START


class Weights(dict):
    """Tensors by name; dense(), last() and conv() make torch layers of them."""

    def dense(self, tag):
        w = self[tag + '.weight']
        layer = nn.Linear(w.shape[1], w.shape[0])
        layer.weight.data, layer.bias.data = w, self[tag + '.bias']
        return layer

    def last(self, tag):
        w = self[tag + '.weight'].T.contiguous()
        layer = nn.Linear(w.shape[1], w.shape[0])
        layer.weight.data, layer.bias.data = w, self[tag + '.bias']
        return layer

    def conv(self, tag, stride, pad):
        w = self[tag + '.weight']
        layer = nn.Conv2d(w.shape[1], w.shape[0], w.shape[2], stride, pad)
        layer.weight.data, layer.bias.data = w, self[tag + '.bias']
        return layer

    def count(self, end):
        return len([k for k in self if k.endswith(end)])


def mlp(w):
    layers = []
    for i in range(w.count('.weight')):
        layers += [nn.ReLU()] if i else []
        layers.append(w.dense('l%d' % i))
    return nn.Sequential(*layers)


class ResNet(nn.Module):
    def __init__(self, w, strides):
        super().__init__()
        self.first = w.conv('c0', strides['c0'], 1)
        self.blocks = nn.ModuleList()
        for i in range(w.count('.c1.weight')):
            b = 'b%d' % i
            parts = dict(c1=w.conv(b + '.c1', strides[b + '.c1'], 1), c2=w.conv(b + '.c2', 1, 1))
            if b + '.p.weight' in w:
                parts['p'] = w.conv(b + '.p', strides[b + '.p'], 0)
            self.blocks.append(nn.ModuleDict(parts))
        self.fc1, self.fc2 = w.dense('fc1'), w.dense('fc2')

    def forward(self, x):
        x = F.relu(self.first(x))
        for b in self.blocks:
            x = F.relu(b['c2'](F.relu(b['c1'](x))) + (b['p'](x) if 'p' in b else x))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Norm(nn.Module):
    def __init__(self, w, tag):
        super().__init__()
        self.w, self.b = nn.Parameter(w[tag + '.weight']), nn.Parameter(w[tag + '.bias'])

    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) * self.w + self.b


class ViT(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.n, self.heads, self.dh = (int(w['sh_heads'][i]) for i in (1, 2, 3))
        self.embed, self.pos = w.conv('embed', w['embed.weight'].shape[2], 0), nn.Parameter(w['pos'])
        self.blocks = nn.ModuleList()
        for i in range(w.count('.q.weight')):
            b = 'b%d.' % i
            parts = {k: w.last(b + k) for k in ('q', 'k', 'v', 'o', 'f1', 'f2')}
            self.blocks.append(nn.ModuleDict(dict(parts, ln1=Norm(w, b + 'ln1'), ln2=Norm(w, b + 'ln2'))))
        self.norm, self.head = Norm(w, 'lnf'), w.dense('head')

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2) + self.pos
        for b in self.blocks:
            y = b['ln1'](x)
            q, k, v = [b[c](y).reshape(-1, self.n, self.heads, self.dh).transpose(1, 2) for c in 'qkv']
            a = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * self.dh ** -0.5, -1)
            x = x + b['o'](torch.matmul(a, v).transpose(1, 2).reshape(-1, self.n, self.heads * self.dh))
            x = x + b['f2'](F.relu(b['f1'](b['ln2'](x))))
        return self.head(self.norm(x).mean(1))


def load(folder, net):
    model = onnx.load(os.path.join(folder, net + '.onnx'))
    w = Weights((i.name, torch.tensor(numpy_helper.to_array(i))) for i in model.graph.initializer)
    with open(os.path.join(folder, 'manifest.json')) as f:
        what = json.load(f)[net]
    x = np.fromfile(os.path.join(folder, net + '.x.f32'), '<f4', count=int(np.prod(what['input_shape'])))
    x = torch.tensor(x.reshape([1] + what['input_shape']))
    if 'l0.weight' in w:
        return mlp(w), x, what['eps']
    if 'c0.weight' in w:
        convolutions = [n for n in model.graph.node if n.op_type == 'Conv']
        strides = {n.input[1][:-len('.weight')]: a.ints[0] for n in convolutions for a in n.attribute if a.name == 'strides'}
        return ResNet(w, strides), x, what['eps']
    return ViT(w), x, what['eps']


def sgemm_rate(n=1536):
    """GFLOP/s of torch's sgemm in a second of CPU time, whatever the number of threads."""
    a, b, c, best = torch.randn(n, n), torch.randn(n, n), torch.empty(n, n), float('inf')
    for _ in range(8):
        start = time.process_time()
        torch.mm(a, b, out=c)
        best = min(best, time.process_time() - start)
    return 2e-9 * n ** 3 / best


def alpha_options(words):
    if not words:
        return {}
    iterations, lr, decay = int(words[0]), float(words[1]), float(words[2])
    return {'optimize_bound_args': {'iteration': iterations, 'lr_alpha': lr, 'lr_decay': decay, 'early_stop_patience': 10 ** 9}}


def say(**figures):
    print(json.dumps(figures), flush=True)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    folder, net, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    method = sys.argv[4] if len(sys.argv) > 4 else 'CROWN'
    torch.set_num_threads(threads)
    model, x, eps = load(folder, net)
    for p in model.parameters():
        p.requires_grad_(False)
    bounded = BoundedModule(model.eval(), torch.zeros_like(x), bound_opts=alpha_options(sys.argv[5:]), device='cpu')
    box = BoundedTensor(x, PerturbationLpNorm(norm=float('inf'), eps=eps))
    fixed = None
    if method == 'alpha-fixed':
        with torch.no_grad():
            bounded.compute_bounds(x=(box,), method='CROWN')
        nodes = [n.inputs[0] for n in bounded.optimizable_activations]
        fixed = {n.name: (n.lower.detach().clone(), n.upper.detach().clone()) for n in nodes}

    def bounds():
        if method.startswith('alpha-'):
            return bounded.compute_bounds(x=(box,), method='CROWN-Optimized', interm_bounds=fixed)
        with torch.no_grad():
            return bounded.compute_bounds(x=(box,), method=method)

    start = time.perf_counter()
    lower, upper = bounds()
    say(first_s=time.perf_counter() - start, ready_s=time.perf_counter() - START, import_s=IMPORT_S, threads=threads,
        mean_width=float((upper.detach().double() - lower.detach().double()).mean()), cpu_total=time.process_time())
    for line in sys.stdin:
        wall, used = [], []
        for _ in range(int(line)):
            c, t = time.process_time(), time.perf_counter()
            bounds()
            wall.append(round(time.perf_counter() - t, 6))
            used.append(round(time.process_time() - c, 6))
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        say(warm_all=wall, cpu_all=used, peak_rss_mb=rss, sgemm_gflops=sgemm_rate(), cpu_total=time.process_time())


if __name__ == '__main__':
    main()
