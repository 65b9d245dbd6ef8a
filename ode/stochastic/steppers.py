"""Steps of the methods for stochastic equations, in the form that the loops of ``odesolve`` run (``ode.steppers``).

The memory of a step is W and its integral at the time where the step begins.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant
from ..steppers.stepper import Stepper
from .methods import Method, Milstein, RosslerTableau, StratonovichTableau
from .problem import StochasticProblem

Memory = tuple[NDArray[Any], NDArray[Any]]


def stepper_of(method: Method, is_adaptive: bool) -> Any:
    """Return the stepper of a method; one without an estimate of its error takes two half steps beside each step."""
    if isinstance(method, RosslerTableau):
        stepper = RosslerStepper(method)
        return stepper if len(method.alpha) > 1 or not is_adaptive else HalvedStepper(stepper)
    stepper = MilsteinStepper(method) if isinstance(method, Milstein) else StratonovichStepper(method)
    return HalvedStepper(stepper) if is_adaptive else stepper


class StochasticStepper(Stepper):
    """What all steps have in common.

    stages holds the change of y, the estimate of the error (1, n), and the path at the end of the step.
    """

    def __init__(self, method: Method, evaluations: int) -> None:
        self.method, self.name, self.order, self.evaluations = method, method.name, method.order, evaluations
        self.error_order = method.order

    def start(self, problem: StochasticProblem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Memory:
        return problem.path(t)

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        return stages[1]

    def spent(self, stages: Any) -> int:
        return self.evaluations

    def advance(self, stages: Any) -> Memory:
        return stages[2]

    def polynomial(
        self, problem: StochasticProblem, t: float, t_new: float, y: NDArray[Any], stages: Any
    ) -> NDArray[Any]:
        """The line between the ends of the step; outputs are taken at ends only."""
        return stages[0][None]

    def step(
        self, problem: StochasticProblem, t: float, t_new: float, y: NDArray[Any], memory: Memory
    ) -> tuple[NDArray[Any], Any]:
        after = problem.path(t_new)
        h, w, area = _over(t, t_new, memory, after)
        change, error = self.change(problem, t, h, y, w, area)
        return y + change, (change, error, after)

    def change(
        self, problem: StochasticProblem, t: float, h: float, y: NDArray[Any], w: NDArray[Any], area: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the change of y over the step, and the estimate of its error (1, n).

        w, area: the increments (m,) of the motions, and the integrals of W - W(t) over the step.
        """
        raise NotImplementedError


@constant
def _over(t: float, t_new: float, before: Memory, after: Memory) -> tuple[float, NDArray[Any], NDArray[Any]]:
    """Return the step, the increment of W, and the integral of W - W(t) over it."""
    h = t_new - t
    return h, after[0] - before[0], after[1] - before[1] - h * before[0]


class RosslerStepper(StochasticStepper):
    """The step of a ``RosslerTableau``.

    The estimate of the error is the difference to the method of order 1 that the same stages contain: Euler's drift, and
    the diffusion without the integrals I10 and I111 (C. Rackauckas, Q. Nie, DCDS-B 22 (2017) 2731).
    """

    def __init__(self, method: RosslerTableau) -> None:
        super().__init__(method, len(method.alpha))
        self.tableau = method

    def change(
        self, problem: StochasticProblem, t: float, h: float, y: NDArray[Any], w: NDArray[Any], area: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        method, root = self.tableau, sqrt(h)
        i10 = area / h
        i11, i111 = (w * w - h) / (2.0 * root), (w * w * w - 3.0 * h * w) / (6.0 * h)
        one = np.ones_like(w)
        fs: list[Any] = []
        gs: list[Any] = []
        change = correction = drift = 0.0 * y
        for i in range(len(method.alpha)):
            H0 = H1 = y
            for j in range(i):
                if method.A0[i][j]:
                    H0 = H0 + (h * method.A0[i][j]) * fs[j]
                if method.B0[i][j]:
                    H0 = H0 + problem.weighted(gs[j], method.B0[i][j] * i10)
                if method.A1[i][j]:
                    H1 = H1 + (h * method.A1[i][j]) * fs[j]
                if method.B1[i][j]:
                    H1 = H1 + problem.weighted(gs[j], (root * method.B1[i][j]) * one)
            fs.append(problem.rhs(t + method.c0[i] * h, H0) if method.takes_drift[i] else None)
            gs.append(problem.diffusion(t + method.c1[i] * h, H1))
            b1, b2, b3, b4 = method.beta[i]
            if method.alpha[i]:
                change = change + (h * method.alpha[i]) * fs[i]
                drift = drift + (h * method.alpha[i]) * (fs[i] - fs[0])
            if b1 or b2:
                change = change + problem.weighted(gs[i], b1 * w + b2 * i11)
            if b3 or b4:
                part = problem.weighted(gs[i], b3 * i10 + b4 * i111)
                change, correction = change + part, correction + part
        return change, (np.abs(drift) + np.abs(correction))[None]


class StratonovichStepper(StochasticStepper):
    """The step of a ``StratonovichTableau``."""

    def __init__(self, method: StratonovichTableau) -> None:
        super().__init__(method, len(method.b))
        self.a, self.b, self.c = method.a, method.b, method.c

    def change(
        self, problem: StochasticProblem, t: float, h: float, y: NDArray[Any], w: NDArray[Any], area: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        ks: list[Any] = []
        change = 0.0 * y
        for i in range(len(self.b)):
            point, time = y, t + self.c[i] * h
            for j in range(i):
                if self.a[i][j]:
                    point = point + self.a[i][j] * ks[j]
            ks.append(h * problem.rhs(time, point) + problem.weighted(problem.diffusion(time, point), w))
            if self.b[i]:
                change = change + self.b[i] * ks[i]
        return change, np.zeros((1, len(y)))


class MilsteinStepper(StochasticStepper):
    """The step of Milstein's method."""

    def __init__(self, method: Milstein) -> None:
        super().__init__(method, 1)

    def change(
        self, problem: StochasticProblem, t: float, h: float, y: NDArray[Any], w: NDArray[Any], area: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        g = problem.diffusion(t, y)
        slope = problem.along(t, y, g)
        square = w * w - h if problem.is_ito else w * w
        change = h * problem.rhs(t, y) + problem.weighted(g, w) + problem.weighted(slope, 0.5 * square)
        return change, np.zeros((1, len(y)))


class HalvedStepper(StochasticStepper):
    """Two half steps of a method; their difference to one whole step is the estimate of the error.

    inner: the stepper of the method.
    """

    def __init__(self, inner: StochasticStepper) -> None:
        super().__init__(inner.method, 3 * inner.evaluations)
        self.inner = inner

    def step(
        self, problem: StochasticProblem, t: float, t_new: float, y: NDArray[Any], memory: Memory
    ) -> tuple[NDArray[Any], Any]:
        t_half = 0.5 * (t + t_new)
        middle, after = problem.path(t_half), problem.path(t_new)
        whole = self.inner.change(problem, t, *_of(y, _over(t, t_new, memory, after)))[0]
        first = self.inner.change(problem, t, *_of(y, _over(t, t_half, memory, middle)))[0]
        second = self.inner.change(problem, t_half, *_of(y + first, _over(t_half, t_new, middle, after)))[0]
        change = first + second
        return y + change, (change, np.abs(change - whole)[None], after)


def _of(y: NDArray[Any], over: tuple[float, NDArray[Any], NDArray[Any]]) -> tuple[Any, ...]:
    return over[0], y, over[1], over[2]
