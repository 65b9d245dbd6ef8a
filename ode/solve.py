"""``odesolve``: initial-value problems y' = f(t, y, *args), y(ts[0]) = y0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import BadInput
from .adjoints.options import Adjoint, adjoint_of, check_fits, choice
from .adjoints.solving import solved
from .arguments import (
    check_adaptive,
    chosen_method,
    span_with,
    step_control as chosen_control,
    times_of,
    tolerance,
)
from .consistency import check_start
from .control import SUCCESS, StepControl
from .ending import ended, held_by, now
from .events import watch_of
from .integration import Integration
from .invariants import invariants_of
from .jacobians import BandedJacobian, DenseJacobian, GivenJacobian, KrylovJacobian, SparseJacobian, jacobian_of
from .loop import Run, equal_steps
from .mass import mass_of, regular, takes_singular
from .methods import ExponentialTableau, Method, RadauFamily, RadauTableau, is_implicit
from .problem import Problem
from .progress import teller_of
from .second_order import SecondOrder, equation_for
from .solution import Solution
from .split_sides import Split, method_for
from .state import Leaf, initial
from .steppers import stepper_of


def odesolve(
    f: Callable[..., Any] | Split | SecondOrder,
    y0: Any,
    ts: ArrayLike,
    *args: Any,
    method: str | Method = "tsit5",
    rtol: ArrayLike = 1e-6,
    atol: ArrayLike = 1e-9,
    steps: int | None = None,
    first_step: float | None = None,
    min_step: float = 0.0,
    max_step: float = np.inf,
    max_steps: int = 100_000,
    step_control: str | StepControl = "PI",
    tstops: ArrayLike = (),
    jacobian: Any = None,
    mass: Any = None,
    invariants: Callable[..., Any] | None = None,
    events: Any = (),
    saveat: Any = None,
    is_dense: bool = False,
    throw: bool = True,
    adjoint: str | Adjoint = "auto",
    error_control: str = "solution",
    progress: bool | Callable[[float, int], Any] = False,
) -> Solution:
    """Solve y' = f(t, y, *args) from y(ts[0]) = y0; the solution is differentiable.

    Args:
        f: ``f(t, y, *args)`` takes a float t and the state in y0's structure; it returns dy/dt in the same structure.
            Or ``Split(stiff, nonstiff)``, for "implicit_euler" and "kencarp3" to "kencarp5"; or ``SecondOrder(acceleration)`` with y0 =
            (q, q'), for "dprkn6" (6), "dprkn8" (8) and all others.
        y0: a number, an array of any shape, or dicts, lists, tuples and objects of them; float32 and complex are kept.
        ts: (m,) output times, rising or falling; equal neighbours are allowed. They do not restrict the adaptive steps.
        args: further arguments of f; gradients reach them.
        method: "tsit5" (order 5), "dopri5" (5), "bosh3" (3), "vern6" (6), "vern7" (7), "vern8", "dop853" (8), "vern9" (9),
            "heun", "midpoint", "ralston" (2), "kcl43" (4), "kcl54" (5); with ``steps`` also "rk4", "ck54", "cfrlddrk64" (4),
            "williamson3" (3), "euler" (1). "taylor" takes as many terms of the Taylor series as the tolerance asks for, "gbs" (4 to
            16) extrapolates the midpoint rule.
            Stiff problems take "rodas5p" (5), "rodas4" (4), "ros3p", "ros34pw2" (3), "rosenbrock23" (2), "kvaerno3" to "kvaerno5",
            "kencarp3" to "kencarp5" (3 to 5), "trbdf2" (2), "implicit_euler" (1),
            "radau" (5, 9 or 13), "radau5" (5), "radau9" (9), "radau13" (13), "bdf" (1 to 5); with ``steps`` also "trapezoid" (2).
            "exprb32" (3) and "exprb43" (4) take the linear part exactly, by matrix exponentials.
            Any Hamiltonian system, with ``steps``: the symplectic "implicit_midpoint" (2), "gauss4" (4), "gauss6" (6).
            "auto" is "tsit5" until the problem turns out to be stiff, and
            "rodas5p" while it is; "adams" (1 to 12) takes few evaluations at high accuracy. Or a ``Tableau``, ``RosenbrockTableau``,
            ``EsdirkTableau``, ``Multistep``, ``Taylor`` or ``Extrapolation`` of your own.
        rtol, atol: the root mean square of the local error over atol + rtol |y| is kept below 1; numbers, or arrays of
            the size of an array y0.
        steps: take this many equal steps between neighbouring ``ts``, without error control.
        first_step: the size of the first step; chosen from f by default.
        min_step: the solve fails where a step of this size is not accurate enough; steps that end at a given time may be shorter.
        max_step: the largest step size; a step that ends at a given time may be 1% longer.
        max_steps: the limit on the number of accepted and rejected steps.
        step_control: "I", "PI", "PI42", "PID" or "predictive" (``CONTROLS``), or a ``StepControl``.
        tstops: times at which a step must end, such as those where f jumps; f at such a time belongs to the step before it
            and to the one after it.
        jacobian: for implicit methods: by default found by forward mode; or a function ``jacobian(t, y, *args)`` that returns
            (n, n), for a state that is a vector; or (lower, upper), the numbers of diagonals beside the main one of a
            banded Jacobian; or a matrix of ``scipy.sparse`` with its pattern (compiled code needs a ``jacobian_pattern``
            made outside of it); or "krylov", to solve the systems by GMRES without a matrix.
        mass: the matrix M of M y' = f(t, y, *args): its diagonal in y0's structure, or for a vector y0 (n,) all of it,
            (n, n). A singular M makes algebraic equations, of index 1, which y0 must satisfy (``consistent_start``); "radau5" to
            "radau13", "rodas4", "rodas5p", "bdf" and the adaptive ESDIRK methods solve them. A function
            ``mass(t, y, *args)`` returns a regular M (n, n), for any method.
        invariants: ``invariants(t, y, *args)`` returns numbers that the solution keeps; each step of a Runge-Kutta method is projected onto
            the states at which they have their value at the start, or after the last event that changed the state.
        events: an ``Event``, a function ``event(t, y, *args)`` that is zero at an event, or a sequence of these. Two zeros
            within one step are not seen; ``max_step`` helps.
        saveat: the times of the solution, between ts[0] and ts[-1] and in their direction, in place of ``ts``; or "steps" for
            the beginning of every step and the end.
        is_dense: whether the solution has ``sol``, a function of time.
        throw: whether to raise an error if the last time is not reached; else the solution's ``status`` tells.
        adjoint: how the derivative is computed: "discrete" (through the steps), "checkpoint" (the same in less memory),
            "backsolve", "interpolating", "quadrature" (by the adjoint equation), "forward" (by sensitivities), "reversible" (by
            steps that are undone; every time ends a step); or an ``Adjoint`` with settings. "auto" chooses by the size of the
            state; ``stats`` says what, and why.
        error_control: "solution", or "gradient": the error of the sensitivities with respect to y0 and ``args`` counts, too, so
            that gradients are as accurate as the solution. It costs a solve for all of them.
        progress: True shows a progress bar; a function ``progress(t, steps)`` is called with the time and the number of accepted
            steps, at each hundredth of the span, every 1,000 steps, and at both ends; so does compiled code. Samples of a
            compiled batch (``mo.vmap``) are then solved one after the other.

    Returns:
        A ``Solution``: the times, the states at these times, the cost, and how the solve ended.

    Raises:
        BadInput: an argument has the wrong type, shape or value, or f does at the start.
        IntegrationFailed: ``max_steps`` is reached, or the step size becomes too small; its
            ``solution`` holds what was computed.
        NoDerivative: a derivative is taken with respect to a tolerance, ``first_step``, ``min_step``, ``max_step`` or ``tstops``.

    Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.4 to II.6.

    >>> solution = odesolve(lambda t, y, rate: -rate * y, 1.0, [0.0, 0.5, 1.0], 2.0)
    >>> solution.y.round(5).tolist()
    [1.0, 0.36788, 0.13534]
    """
    began = now()
    chosen = chosen_method(method, steps)
    options = adjoint_of(adjoint)
    if not isinstance(f, (Split, SecondOrder)) and not callable(f):
        raise BadInput(f"f is {type(f).__name__}; odesolve needs a function f(t, y, *args) that returns dy/dt")
    chosen = method_for(f, chosen, mass)
    f = equation_for(f, chosen, y0)
    times = times_of(ts)
    is_saving_steps = isinstance(saveat, str)
    if is_saving_steps and saveat != "steps":
        raise BadInput(f'saveat is {saveat!r}; expected times between ts[0] and ts[-1], or "steps"')
    if is_saving_steps:
        times = times[:: max(len(times) - 1, 1)]
    elif saveat is not None:
        times = span_with(times, saveat)
    end = times[-1]
    y, leaves, size = initial(y0)
    tell = teller_of(progress)
    relative, absolute = tolerance(rtol, "rtol", size, leaves), tolerance(atol, "atol", size, leaves)
    if is_implicit(chosen) and y.dtype.kind == "c":
        raise BadInput(
            f"{chosen.name} solves real states; give the real and imaginary parts of y0 apart, as in (z.real, z.imag)"
        )
    form = jacobian_of(jacobian, args, size, isinstance(leaves, Leaf) and len(leaves.shape) == 1)
    if isinstance(form, KrylovJacobian) and isinstance(chosen, (RadauFamily, RadauTableau)):
        raise BadInput(
            f"{chosen.name} solves complex systems, which the Krylov form of the Jacobian does not; choose bdf"
        )
    if mass is not None and isinstance(f, SecondOrder):
        raise BadInput(f"{chosen.name} has no mass; let the acceleration divide by it")
    if isinstance(chosen, ExponentialTableau) and not isinstance(form, DenseJacobian):
        raise BadInput(
            f"{chosen.name} takes a full Jacobian; leave out jacobian, or give a function that returns (n, n)"
        )
    if callable(mass) and not isinstance(f, (Split, SecondOrder)):
        if not isinstance(leaves, Leaf) or len(leaves.shape) != 1:
            raise BadInput("mass is a function, which needs a state that is a vector (n,); give y0 as a vector")
        if isinstance(form, (GivenJacobian, BandedJacobian, SparseJacobian)):
            raise BadInput(
                "mass is a function, so that the Jacobian of M^-1 f is neither that of f nor sparse: leave out jacobian, or give "
                '"krylov"'
            )
        f, mass = regular(f, mass), None
    matrix = mass_of(mass, leaves, size, y.dtype, form)
    is_singular = matrix is not None and takes_singular(chosen)
    problem = Problem(f, args, leaves, y.dtype, form, relative, absolute, matrix)
    if matrix is not None and is_singular:
        check_start(problem, float(times[0]), y)
    elif matrix is not None:
        matrix.check_regular(chosen.name)
        problem = problem.without_mass()
    conserved = invariants_of(invariants, args, leaves, chosen, float(times[0]), y)
    if steps is not None:
        if is_dense or saveat is not None or watch_of(events, args, leaves, y.dtype) is not None:
            raise BadInput(
                "steps does not go together with events, saveat and is_dense; leave out steps, or give max_step"
            )
        if options.name not in ("auto", "discrete") or error_control != "solution":
            raise BadInput(
                'steps goes together with adjoint="discrete" and error_control="solution" only; leave out steps, or these'
            )
        problem.most_iterations = 50  # no shorter step is tried
        rows, stats = equal_steps(
            stepper_of(chosen, y.dtype, relative, absolute, conserved), problem, y, times, steps, tell
        )
        run = Run(rows, stats, SUCCESS, times[-1], rows[-1], [], [], [], [])
        return ended(run, times, end, leaves, chosen.name, max_steps, throw, lambda x: x, began)
    check_adaptive(relative, absolute, first_step, max_step, max_steps, min_step)
    control = chosen_control(step_control)
    watch = watch_of(events, args, leaves, y.dtype)
    direct = "mass" if matrix is not None else "invariants" if conserved is not None else ""
    if not direct and isinstance(f, (Split, SecondOrder)):
        direct = "a Split" if isinstance(f, Split) else chosen.name
    fitting = ("auto", "discrete", "checkpoint") + (() if direct == "invariants" else ("forward",))
    if direct and (options.name not in fitting or error_control != "solution"):
        names = '"discrete" or "checkpoint"' if direct == "invariants" else '"discrete", "checkpoint" or "forward"'
        raise BadInput(f'{direct} goes together with adjoint={names} only, and with error_control="solution"')
    asked = "events" if watch is not None else "is_dense" if is_dense else 'saveat="steps"' if is_saving_steps else ""
    check_fits(options, chosen, asked, error_control)
    name, why = choice(options, chosen, size)
    integration = Integration(
        f,
        leaves,
        y.dtype,
        form,
        relative,
        absolute,
        chosen,
        control,
        tstops,
        first_step,
        float(max_step),
        max_steps,
        error_control == "gradient",
        matrix,
        is_singular,
        conserved,
        tell,
        float(min_step),
    )
    if name == "discrete":
        run = integration.run(y, args, times, watch, is_dense or is_saving_steps)
    else:
        run = solved(integration, y, args, times, replace(options, name=name), watch, is_dense or is_saving_steps)
    run.stats = replace(run.stats, adjoint=name, adjoint_reason=why)
    tolerances = {
        "rtol": rtol,
        "atol": atol,
        "first_step": first_step,
        "min_step": min_step,
        "max_step": max_step,
        "adjoint": adjoint,
    }
    held = held_by("odesolve", tolerances, tstops)
    saved = is_dense, is_saving_steps, saveat is not None and not is_saving_steps
    return ended(run, times, end, leaves, chosen.name, max_steps, throw, held, began, *saved, min_step=float(min_step))
