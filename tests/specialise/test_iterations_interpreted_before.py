"""What tracing does not do twice: an iteration of ``while True``, and a derivative that no mode around needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import morula as mo
from morula.core.specialise.loops import Loop


@dataclass
class Counter:
    """A holder whose attributes a method changes, which the statements of the loop do not show."""

    steps: int = 0
    size: float = 1.0

    def shrink(self, by: float) -> bool:
        self.steps += 1
        self.size = self.size * by
        return self.size < 0.1


def halvings(x):
    counter = Counter()
    total = np.zeros(2)
    while True:
        total[1] += counter.size
        if counter.shrink(x):
            break
    return counter.steps + total[1]


def test_a_loop_begins_with_what_its_first_iteration_changed(monkeypatch):
    attempts, attempt = [], Loop.attempt
    monkeypatch.setattr(Loop, "attempt", lambda self: attempts.append(1) or attempt(self))
    found = mo.jit(mo.value_and_grad(halvings), target="native")(0.5)
    assert np.allclose(found, mo.value_and_grad(halvings)(0.5)) and found[0] == 4 + 1.875
    assert len(attempts) == 1


def cube(x):
    return x**3


@mo.adjoint(cube)
def _(x):
    return x**3, lambda dy: (3 * x**2 * dy,)


@mo.tangent(cube)
def _(x):
    return x**3, lambda dx: np.asarray(open("a file that does not exist").read())


def test_reverse_mode_needs_no_tangent_that_can_be_compiled():
    assert mo.jit(mo.grad(cube), target="native")(2.0) == 12.0
