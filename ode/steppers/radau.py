"""Steps of Radau IIA methods, of one order or of an order that each step chooses.

Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II (1996), IV.8; Stiff differential equations solved by
Radau methods, J. Comput. Appl. Math. 111 (1999) 93, and the code RADAU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant, implicit
from ..methods.radau import RadauTableau
from ..newton import Kept, iterated, linear, nothing_kept, reach, searched, usable
from ..problem import Problem
from .stepper import ImplicitStepper

UP, DOWN = 0.002, 0.8
"""The rates of convergence of Newton's method below which the order rises, and above which it falls."""
PATIENCE = 10
"""The number of steps of one order before it rises."""
EVEN = 0.8, 1.2
"""The order rises only if the ratio of neighbouring steps lies between these."""
NEWTON = 0.03
"""Newton's method may leave this part of the tolerance."""

Progress = tuple[Any, Any, Any, Any, Any]
"""The place of the method, the number of steps since it changed, the smoothed rate of convergence of Newton's method, its last
rate (0 if it took one iteration), and whether it failed."""
Memory = tuple[NDArray[Any], NDArray[Any], Any, Progress, Kept]


class RadauStepper(ImplicitStepper):
    """The step of one of several ``RadauTableau``. The memory is f = M y' at the start of the step (n,), the collocation
    polynomial of the step before (s, n), from which Newton's method starts, and the size of that step; what the order is chosen
    from; and what Newton's method keeps.

    Arrays have the size of the method with most stages. The others have zeros in their first stages.

    name: of the method. tableaus: from the lowest order up. dtype: of the state. tolerance: the relative one.
    """

    steady = 1.2

    def __init__(self, name: str, tableaus: Sequence[RadauTableau], dtype: np.dtype[Any], tolerance: float) -> None:
        self.name, self.order, self.error_order = name, tableaus[0].order, len(tableaus[0].c) + 1
        sizes = np.array([len(tableau.c) for tableau in tableaus])
        self.degree = most = int(sizes.max())
        self.begins = (most - sizes).tolist()
        """The first stage of each method."""
        self.c = np.stack([_padded(t.c, (most,)) for t in tableaus])
        self.inverse = np.stack([_padded(t.inverse, (most, most)) for t in tableaus]).astype(dtype)
        self.interpolant = np.stack([_padded(t.interpolant[::-1], (most, most))[::-1] for t in tableaus]).astype(dtype)
        self.error_weights = np.stack([_padded(t.error, (most,)) for t in tableaus]).astype(dtype)
        modes = most // 2 + 1
        self.shifts = np.stack([_padded(np.append(t.shifts[::-1], t.shift), (modes,))[::-1] for t in tableaus])
        self.to_modes = np.stack([_padded(t.to_modes[::-1], (modes, most))[::-1] for t in tableaus])
        self.from_modes = np.stack([_padded(t.from_modes[:, ::-1], (most, modes))[:, ::-1] for t in tableaus])
        # The estimate has the order s, and the method 2 s - 1: RADAU relaxes the tolerance of the estimate accordingly.
        self.kappa = max(NEWTON, 10 * float(np.finfo(dtype).eps) / tolerance)
        self.relaxed = np.minimum(1.0, 10.0 * tolerance ** ((sizes - 1) / (2 * sizes)))

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Memory:
        form, n = problem.jacobian, len(y)
        kinds = [y.dtype] + [np.result_type(y.dtype, np.complex64)] * (self.degree // 2)
        kept = nothing_kept(problem, y, tuple([form.unfactored(n, kind) for kind in kinds]))
        return problem.massed(slope), np.zeros((self.degree, n), y.dtype), 1.0, (0, 0, 0.0, 0.0, False), kept

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Memory) -> Any:
        h = t_new - t
        place, since, smooth, is_changed = self._choice(h, memory)
        mixing, times = self.inverse[place] / h, self.times(place, t, t_new)
        found, error, cost, rate, kept = _search(self, problem, t, t_new, y, memory, place, times, mixing, is_changed)
        z = attached_stages(self, problem, place, times, mixing, y, found)
        slope = problem.massed(np.dot(mixing[-1], z))
        progress = place, since, smooth, rate, False
        return y + z[-1], (error, *cost, slope, np.dot(self.interpolant[place], z), h, progress, kept)

    def _choice(self, h: float, memory: Memory) -> tuple[int, int, float, bool]:
        if len(self.begins) == 1:
            return 0, 0, 0.0, False
        return _choice(h / memory[2], memory[3], len(self.begins) - 1)

    def times(self, place: int, t: Any, t_new: Any) -> NDArray[Any]:
        """Return the times of the stages (s,); that of the last one is t_new, not t + h, which may lie behind a stop."""
        c = self.c[place]
        return np.where(c == 1.0, t_new, t + c * (t_new - t))

    def begin(self, place: int) -> int:
        """Return the first stage of a method."""
        begin = self.begins[0]
        for i in range(1, len(self.begins)):
            if place == i:
                begin = self.begins[i]
        return begin

    def power(self, stages: Any) -> int:
        return self.degree + 1 - self.begin(stages[7][0])

    def advance(self, stages: Any) -> Memory:
        return stages[4], stages[5], stages[6], stages[7], stages[8]

    def again(self, memory: Memory, stages: Any) -> Memory:
        place, since, smooth, rate, _ = stages[7]
        progress = place, since, smooth, rate, not self.is_found(stages)
        return memory[0], memory[1], memory[2], progress, usable(stages[8])

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        return stages[5]


@constant
def _choice(ratio: float, progress: Progress, highest: int) -> tuple[int, int, float, bool]:
    """Return the place of the method of the next step, the number of steps since it changed, the smoothed rate of convergence,
    and whether it changes now; ``ratio`` is that of the step to the one before."""
    place, since, smooth, rate, is_failed = progress
    smooth = min(10.0, max(rate, 0.5 * smooth))
    chosen = place
    if since > PATIENCE and 0.0 < rate and smooth <= UP and EVEN[0] < ratio < EVEN[1]:
        chosen = min(place + 1, highest)
    if smooth >= DOWN or is_failed:
        chosen = max(place - 1, 0)
    is_changed = chosen != place
    return chosen, 1 if is_changed else since + 1, smooth, is_changed


def attached_stages(
    stepper: Any,
    problem: Problem,
    place: int,
    times: NDArray[Any],
    mixing: NDArray[Any],
    y: NDArray[Any],
    z: NDArray[Any],
) -> NDArray[Any]:
    """Return z (s, n), which solves the equations of the stages of a collocation method, with its derivative.

    stepper: has ``begins``, the first stage of each of its methods, whose matrix is ``mixing`` (s, s).
    """

    def residual(z: NDArray[Any]) -> NDArray[Any]:
        return problem.massed(np.dot(mixing, z)) - _slopes(stepper, problem, place, times, y, z)

    def solver(is_transposed: bool) -> Callable[[Any, Any], Any]:
        return linear(
            lambda b: _solved(stepper, problem, place, times, mixing, y, z, is_transposed, b),
            lambda b: _solved(stepper, problem, place, times, mixing, y, z, not is_transposed, b),
        )

    return implicit(z, residual, (solver(True), solver(False)))


def _slopes(
    stepper: Any, problem: Problem, place: int, times: NDArray[Any], y: NDArray[Any], z: NDArray[Any]
) -> NDArray[Any]:
    slopes = np.zeros_like(z)
    for i in range(stepper.begin(place), len(z)):
        slopes[i] = problem.rhs(times[i], y + z[i])
    return slopes


@constant
def _solved(
    stepper: Any,
    problem: Problem,
    place: int,
    times: NDArray[Any],
    mixing: NDArray[Any],
    y: NDArray[Any],
    z: NDArray[Any],
    is_transposed: bool,
    b: NDArray[Any],
) -> NDArray[Any]:
    """Return the solution of the linearised equations of the stages; b is flat."""
    form, (s, n) = problem.jacobian, z.shape
    blank = form.blank(n, y.dtype)
    entries = np.zeros((s, *blank.shape), blank.dtype)
    for i in range(stepper.begin(place), s):
        entries[i] = form.entries(problem.rhs, times[i], y + z[i])
    matrix = mixing.T if is_transposed else mixing
    x, right = np.zeros_like(z), b.reshape(z.shape)
    for i in range(len(stepper.begins)):
        begin = stepper.begins[i]
        if place == i:
            solve = form.coupled(problem.rhs, entries[begin:], matrix[begin:, begin:], is_transposed, problem.matrix)
            x[begin:] = solve(right[begin:])
    return x.reshape(-1)


@constant
def _search(
    stepper: RadauStepper,
    problem: Problem,
    t: float,
    t_new: float,
    y: NDArray[Any],
    memory: Memory,
    place: int,
    times: NDArray[Any],
    mixing: NDArray[Any],
    is_changed: bool,
) -> tuple[NDArray[Any], NDArray[Any], tuple[int, int, int], float, Kept]:
    """Return Z (s, n), the error estimate (1, n), the numbers of evaluations of f, Jacobians and factorisations, the rate of
    convergence, and what Newton's method keeps.

    The estimate is filtered by the real system, so that stiff components do not dominate it; and once more with f at the
    estimate, if it is above the tolerance (Hairer, Wanner II, IV.8.19 and 20).
    """
    h = t_new - t
    slope, polynomial, h_before, _, kept = memory
    form, rhs, M = problem.jacobian, problem.rhs, problem.matrix
    begin = stepper.begin(place)
    pairs = (len(times) - begin) // 2
    shifts, to_modes, from_modes = stepper.shifts[place] / h, stepper.to_modes[place], stepper.from_modes[place]
    theta = 1.0 + stepper.c[place] * reach(h, h_before)
    guess = np.dot(theta[:, None] ** np.arange(1.0, len(theta) + 1), polynomial) - polynomial.sum(axis=0)
    if is_changed:
        kept = kept[0], kept[1], 0.0, kept[3], kept[4]

    def factorise(entries: NDArray[Any]) -> Any:
        found = [form.factors(rhs, entries, np.real(shifts[0]), False, M)]
        for i in range(1, len(shifts)):
            pair = kept[1][i]
            if i <= pairs:
                pair = form.factors(rhs, entries, shifts[i], False, M)
            found.append(pair)
        return tuple(found)

    def attempt(factors: Any, eta: float) -> Any:
        def change(z: NDArray[Any]) -> NDArray[Any]:
            residual = _slopes(stepper, problem, place, times, y, z) - problem.massed(np.dot(mixing, z))
            real = form.solved(rhs, factors[0], np.dot(np.real(to_modes[0]), residual), False, M)
            total = np.real(from_modes[:, 0])[:, None] * real
            for i in range(1, len(shifts)):
                if i <= pairs:
                    mode = form.solved(rhs, factors[i], np.dot(to_modes[i], residual), False, M)
                    total = total + np.real(from_modes[:, i][:, None] * mode)
            return total

        z, is_found, count, rate, eta = iterated(problem, change, guess, y, eta, stepper.kappa)
        return z, is_found, count * (len(times) - begin), rate, eta

    z, is_found, cost, rate, kept = searched(problem, t, y, h, kept, guess, factorise, attempt)
    relaxed = stepper.relaxed[place]
    scale = problem.atol + problem.rtol * np.abs(y)
    defect = problem.massed(np.dot(stepper.error_weights[place] / h, z))
    error = relaxed * form.solved(rhs, kept[1][0], slope + defect, False, M)
    ratio, count = error / scale, cost[0]
    if is_found and np.dot(ratio, ratio) >= ratio.size:
        error = relaxed * form.solved(rhs, kept[1][0], rhs(t, y + error / relaxed) + defect, False, M)
        count += 1
    factorisations = cost[2] * (1 + pairs)
    return z, np.where(is_found, np.abs(error), np.inf)[None], (count, cost[1], factorisations), rate, kept


def _padded(table: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the table with zeros before it."""
    found = np.zeros(shape, table.dtype)
    found[tuple(slice(n - k, None) for n, k in zip(shape, table.shape))] = table
    return found
