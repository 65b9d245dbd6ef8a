"""A program that is dropped gives its memory back, in whatever order the garbage collector finalises its parts."""

from __future__ import annotations

import gc
import sys

import numpy as np

import morula as mo
from morula.core.emit.native import machine


def test_a_dropped_program_is_freed_whole(monkeypatch):
    unraisable, freed = [], []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    free = machine.free
    monkeypatch.setattr(machine, "free", lambda address: (freed.append(address), free(address)))
    gc.collect()
    before, x = len(machine._ENGINES), np.ones(3000)
    for k in range(5):

        def repeated(x, k=k):
            while np.sum(x) > k + 1.0:
                x = 0.5 * np.sin(x)
            return np.sum(x)

        f = mo.jit(mo.grad(repeated), target="native")
        np.testing.assert_allclose(f(x), mo.grad(repeated)(x))
        f.cycle = f
    assert len(machine._ENGINES) > before
    del f
    gc.collect()
    assert len(machine._ENGINES) == before and not unraisable and freed
