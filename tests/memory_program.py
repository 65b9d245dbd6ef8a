"""Prints the rise of the resident memory in a gradient, and what ``explain`` says; run as a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import morula as mo


def step(u, v, c):
    lap = np.zeros_like(u)
    lap[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return 2 * u - v + c * lap, u


def wave(c, u, steps):
    v = u
    for _ in range(steps):
        u, v = step(u, v, c)
    return np.sum(u * u)


def several(u, v, c):
    for _ in range(20):
        u, v = step(u, v, c)
    return u, v


def chunks(c, u, steps):
    v = u
    for _ in range(steps // 20):
        u, v = mo.checkpoint(several, u, v, c)
    return np.sum(u * u)


def nested(c, u, steps):
    """Each iteration has a loop whose length is known only at run time, but has a bound."""
    for i in range(steps // 4):
        v = u
        for _ in range(4 + i % 2):
            v = np.sin(v) * np.cos(c + v)
        u = 0.5 * u + 0.5 * v
    return np.sum(u * u)


PROGRAMS = {"chunks": chunks, "nested": nested}


def status(name):
    return int(Path("/proc/self/status").read_text().partition(name + ":")[2].split()[0]) * 1024


path, given, n = sys.argv[1], json.loads(sys.argv[2]), 300
c, u = np.full((n, n), 0.1), np.random.default_rng(0).normal(size=(n, n))


def gradient(steps):
    f = PROGRAMS.get(given.pop("program", ""), wave)
    g = mo.grad(lambda c: mo.checkpoint(f, c, u, steps, **given) if given else f(c, u, steps))
    return g if path == "eager" else mo.jit(g, target=path)


text = ""
if path == "eager":
    g = gradient(200)
    text = g.explain(c)  # the code of the sweeps is made too
else:
    g = gradient(200)
    text = g.explain(c)
    g.lower(c).compile()
Path("/proc/self/clear_refs").write_text("5")  # the peak is what is resident now
before = status("VmRSS")
g(c)
print(json.dumps([status("VmHWM") - before, text]))
