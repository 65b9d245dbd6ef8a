"""The contenders, in the order of the tables: the solve or the gradient of a ``program.Program``.

A gradient is the value and the gradients by y0 and by all parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..racing.contender import JAX_WITH_SWITCH, MORULA, Call, Contender, arrived, table
from .program import Problem, Program

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
BY_HAND = "C"
MANY_EAGER = "a solve for each in Python takes minutes"


def _by_hand(program: Program, args: tuple[Any, ...]) -> Call:
    from . import limits

    problem = program.problem
    if problem.is_lockstep:
        raise LookupError("written for steps of each sample")
    if problem.is_batch:
        return limits.of_many(problem, program.is_gradient)
    return limits.differentiated(problem) if program.is_gradient else limits.solved(problem)


def _in_scipy(program: Program, args: tuple[Any, ...]) -> Call:
    from scipy.integrate import solve_ivp

    problem = program.problem
    if program.is_gradient or problem.is_batch or problem.is_lockstep:
        raise LookupError("SciPy has no gradients, and no batches")
    settings: dict[str, Any] = {
        "method": problem.in_scipy,
        "rtol": problem.rtol,
        "atol": problem.atol,
        "args": args[1:],
    }
    if problem.bands and problem.in_scipy == "LSODA":
        settings |= dict(zip(("lband", "uband"), problem.bands))
    rate = problem.rate(np)
    return lambda: solve_ivp(rate, problem.span, args[0], **settings).y[:, -1]


def _in_diffrax(program: Program, args: tuple[Any, ...]) -> Call:
    try:
        import diffrax
    except ImportError:
        raise LookupError("Diffrax is not installed") from None
    import jax

    problem, t0, t1 = program.problem, *program.problem.span
    rate = problem.rate(jax.numpy)
    term = diffrax.ODETerm(lambda t, y, parameters: rate(t, y, *parameters))
    control = diffrax.PIDController(rtol=problem.rtol, atol=problem.atol)
    solver = getattr(diffrax, problem.in_diffrax)()

    def solve(y0: Any, *parameters: Any) -> Any:
        run = diffrax.diffeqsolve(
            term, solver, t0, t1, None, y0, parameters, stepsize_controller=control, max_steps=2**15
        )  # fmt: skip
        return run.ys[-1]  # type: ignore[index]

    compiled = jax.jit(_complete(program, solve, jax.vmap, jax.numpy.sum, jax.value_and_grad))
    on_device = [jax.device_put(a) for a in args]
    return lambda: compiled(*on_device)


def _in_torchdiffeq(program: Program, args: tuple[Any, ...]) -> Call:
    try:
        import torch
        from torchdiffeq import odeint
    except ImportError:
        raise LookupError("torchdiffeq is not installed") from None
    from types import SimpleNamespace

    problem = program.problem
    if problem.method != "tsit5" or problem.is_batch:
        raise LookupError("torchdiffeq has no solver for stiff problems, and no steps of each sample")
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    functions = {name: getattr(torch, name) for name in ("stack", "exp", "sqrt", "tanh", "sin", "cos", "eye")}
    rate = problem.rate(SimpleNamespace(**functions, concatenate=torch.cat))
    times = torch.tensor(problem.span)
    tensors = [torch.as_tensor(a, dtype=torch.float64).requires_grad_(program.is_gradient) for a in args]

    def end() -> Any:
        settings = {"method": "dopri5", "rtol": problem.rtol, "atol": problem.atol}
        return odeint(lambda t, y: rate(t, y, *tensors[1:]), tensors[0], times, **settings)[-1]

    def gradient() -> Any:
        value = (end() ** 2).sum()
        return value.detach(), torch.autograd.grad(value, tensors)

    return gradient if program.is_gradient else end


def _solve(problem: Problem) -> Callable[..., Any]:
    from morula.ode import odesolve

    rate, times = problem.rate(np), np.array(problem.span)
    settings: dict[str, Any] = {"method": problem.method, "rtol": problem.rtol, "atol": problem.atol}
    if problem.bands:
        settings["jacobian"] = problem.bands
    return lambda y0, *parameters: odesolve(rate, y0, times, *parameters, **settings).y[-1]


def _complete(
    program: Program, solve: Callable[..., Any], vmap: Any, add: Any, value_and_grad: Any
) -> Callable[..., Any]:
    """The solve, or the value and the gradients, for one or for many."""
    problem = program.problem
    end = solve
    if problem.is_batch and problem.y0.ndim == 2:
        end = vmap(solve, in_axes=(0,) + (None,) * len(problem.args))
    elif problem.is_batch:
        width = problem.args[0].shape[1]
        end = vmap(lambda y0, p: solve(y0, *(p[i] for i in range(width))), in_axes=(None, 0))
    if not program.is_gradient:
        return end
    return value_and_grad(lambda *args: add(end(*args) ** 2), argnums=tuple(range(1 + len(problem.args))))


def _ours(program: Program) -> Callable[..., Any]:
    import morula as mo

    return _complete(program, _solve(program.problem), mo.vmap, np.sum, mo.value_and_grad)


def _eager(program: Program, args: tuple[Any, ...]) -> Call:
    if program.problem.is_batch:
        raise LookupError(MANY_EAGER)
    f = _ours(program)
    return lambda: f(*args)


def _compiled(target: str) -> Callable[[Program, tuple[Any, ...]], Call]:
    def start(program: Program, args: tuple[Any, ...]) -> Call:
        import morula as mo

        compiled = mo.jit(_ours(program), target=target)
        return lambda: compiled(*args)

    return start


CONTENDERS = table(
    Contender(BY_HAND, _by_hand, environment=ONE_THREAD),
    Contender("SciPy", _in_scipy, environment=ONE_THREAD),
    Contender("Diffrax", _in_diffrax, arrived, JAX_WITH_SWITCH | ONE_THREAD),
    Contender("torchdiffeq", _in_torchdiffeq, environment=ONE_THREAD),
    Contender("eager", _eager, environment=MORULA | ONE_THREAD),
    Contender("native", _compiled("native"), environment=MORULA | ONE_THREAD),
    Contender("xla", _compiled("xla"), arrived, MORULA | ONE_THREAD),
)
