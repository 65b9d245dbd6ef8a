"""The programs of benchmarks/optim: morula, SciPy and the code by hand solve the same problems."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from benchmarks.optim.program import GROUPS, programs

PROGRAMS = [p for group in GROUPS for p in programs(group).values()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_program_is_solved(program):
    args = program.inputs(0)
    batched = "1,000" in program.name  # a batch is fast where it is compiled
    solvers = [mo.jit(program.ours) if batched else program.ours, program.in_scipy]
    if program.by_hand is not None and not batched:  # the others need numba
        solvers.append(program.by_hand)
    for solve in solvers:
        if solve is not None:
            assert np.max(np.abs(program.measure(solve(*args), *args))) <= program.accuracy
