"""``solve_ivp`` with the arguments and results of ``scipy.integrate.solve_ivp``, solved and differentiated by ``odesolve``.

Existing code moves by changing one import:

    from morula.ode.scipy import solve_ivp
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from ..core import BadInput, stop_gradient
from .dense_output import DenseOutput
from .events import Event
from .jacobians import SparseJacobian
from .methods import METHODS, Method, is_implicit
from .solution import Status
from .solve import odesolve

NAMES = {"RK23": "bosh3", "RK45": "dopri5", "DOP853": "dop853", "Radau": "radau5", "BDF": "bdf", "LSODA": "auto"}
"""SciPy's name of a method -> the name here."""

_OF_ALL = {"first_step", "max_step", "rtol", "atol"}
_OF_STIFF = {"jac", "jac_sparsity", "lband", "uband", "min_step"}
"""The options, and those of implicit methods only."""
_LEAST_RTOL = 100 * np.finfo(float).eps

_MESSAGES = {
    0: "The solver successfully reached the end of the integration interval.",
    1: "A termination event occurred.",
    -1: "Required step size is less than spacing between numbers.",
}


@dataclass(eq=False)
class OdeResult(Mapping[str, Any]):
    """The result of ``solve_ivp``; fields are attributes, and items as in ``result["t"]`` or ``result.items()``.

    >>> result = solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0])
    >>> result["success"], list(result)[:2]
    (True, ['t', 'y'])
    """

    t: NDArray[Any]
    """The times (m,)."""
    y: NDArray[Any]
    """The solution at these times, (n, m)."""
    sol: Callable[[Any], Any] | None
    """With ``dense_output``: ``sol(t)`` is (n,) for a number t, and (n, k) for times (k,)."""
    t_events: list[Any] | None
    """For each event the times at which it happened; None without events."""
    y_events: list[Any] | None
    """For each event the states there (k, n)."""
    nfev: int
    """The number of evaluations of the right-hand side."""
    njev: int
    """The number of evaluations of the Jacobian."""
    nlu: int
    """The number of LU decompositions."""
    status: int
    """0: the end was reached. 1: a terminal event. -1: a step failed."""
    message: str
    """The status in words."""
    success: bool
    """Whether the status is 0 or 1."""

    def __getitem__(self, key: str) -> Any:
        if key not in self.__dict__:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)


class OdeSolution:
    """The dense output with SciPy's axes.

    output: the dense output. ts: the ends of the steps.

    >>> solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0, 2.0], dense_output=True).sol(np.array([0.0, 0.5, 1.0])).shape
    (2, 3)
    """

    def __init__(self, output: DenseOutput, ts: NDArray[Any]) -> None:
        output.is_extrapolating = True
        self.output, self.ts = output, ts
        self.t_min, self.t_max = min(ts[0], ts[-1]), max(ts[0], ts[-1])

    def __call__(self, t: Any) -> Any:
        return self.output(t).T


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[float],
    y0: ArrayLike,
    method: str | Method = "RK45",
    t_eval: ArrayLike | None = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Sequence[Any] | None = None,
    **options: Any,
) -> OdeResult:
    """Solve y' = fun(t, y, *args) on t_span; the result is differentiable, eagerly, for y0, args and t_span.

    Args:
        fun: returns dy/dt (n,).
        t_span: (t0, tf); tf may be below t0.
        y0: (n,), real or complex.
        method: "RK23", "RK45", "DOP853", "Radau", "BDF" or "LSODA", which switches between ``tsit5`` and ``rodas5p``; or a
            method of ``odesolve``.
        t_eval: the times of the solution, sorted and inside t_span; by default the ends of the steps.
        dense_output: whether the result has ``sol``.
        events: a function ``event(t, y, *args)``, or a list of them; an attribute ``terminal`` (a bool, or a number of
            times) ends the solve, ``direction`` above or below 0 chooses rising or falling zeros.
        vectorized: whether fun takes columns (n, k) and returns their derivatives.
        args: further arguments of fun, events and jac.
        options: rtol (1e-3), atol (1e-6), first_step, max_step; for implicit methods jac, a function ``jac(t, y, *args)``
            or a constant matrix (by default it is found by forward mode), or jac_sparsity, its pattern; or lband and
            uband, the numbers of diagonals of a banded Jacobian. min_step is ignored. An option without effect gives a warning.

    Returns:
        An ``OdeResult``.

    Raises:
        BadInput: an argument has a wrong type, shape or value; it is a ``ValueError`` too.

    Source: P. Virtanen et al., SciPy 1.0: fundamental algorithms for scientific computing in Python, Nature Methods 17
    (2020) 261.

    >>> result = solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), [2.0], args=(0.5,), t_eval=[0.0, 1.0], rtol=1e-8)
    >>> result.y.round(5).tolist(), result.status
    ([[2.0, 1.21306]], 0)
    """
    chosen = _method(method)
    useless = [f"`{name}`" for name in options if name not in (_OF_ALL | _OF_STIFF if is_implicit(chosen) else _OF_ALL)]
    if useless:
        text = f"The following arguments have no effect for a chosen solver: {', '.join(useless)}."
        warnings.warn(text, stacklevel=2)
    try:
        t0, tf = t_span
    except (TypeError, ValueError):
        raise BadInput(f"`t_span` is {t_span!r}; expected two numbers (t0, tf)") from None
    y = np.asarray(y0)
    if y.ndim != 1:
        raise BadInput(f"`y0` must be 1-dimensional; it has shape {y.shape}")
    y = y.astype(complex if y.dtype.kind == "c" else float)
    if not callable(fun):
        raise BadInput(f"`fun` is {type(fun).__name__}; expected a function fun(t, y, *args) that returns dy/dt")
    given = _arguments(args)
    right = _columns(fun) if vectorized else fun
    is_split = y.dtype.kind == "c" and is_implicit(chosen)
    n, state = len(y), y
    if n == 1:
        right = _of_one(right)
    if is_split:  # implicit methods solve real states
        state = np.concatenate([np.real(y), np.imag(y)])
        right = _parts(right, n)
    watched = None if events is None else [events] if callable(events) else list(events)
    step = options.get("first_step")
    span = float(stop_gradient(tf)) - float(stop_gradient(t0))
    if step is not None and step > abs(span):
        raise BadInput("`first_step` exceeds bounds")
    solution = odesolve(
        right,
        state,
        [t0, tf],
        *given,
        method=chosen,
        rtol=_relative(options.get("rtol", 1e-3)),
        atol=_doubled(options.get("atol", 1e-6), is_split),
        first_step=step,
        max_step=options.get("max_step", np.inf),
        max_steps=10**9,
        jacobian=_jacobian(options, n, is_split),
        events=[_event(e, n, is_split) for e in watched or ()],
        saveat="steps"
        if t_eval is None or not np.size(t_eval)
        else _inside(t_eval, stop_gradient(t0), stop_gradient(tf)),
        is_dense=dense_output,
        throw=False,
    )
    join = (lambda x: x[..., :n] + 1j * x[..., n:]) if is_split else (lambda x: x)
    count = (
        len(solution.t) if t_eval is None else _reached(solution.t, solution.t_reached, span) if np.size(t_eval) else 0
    )
    code = {Status.SUCCESS: 0, Status.TERMINATED: 1}.get(solution.status, -1)
    sol = None
    if solution.sol is not None:
        ends = np.append(solution.sol.starts, solution.sol.ends[-1])
        sol = OdeSolution(solution.sol, ends)
    return OdeResult(
        t=solution.t[:count],
        y=join(solution.y[:count]).T,
        sol=sol if not is_split or sol is None else (lambda t: join(sol(t).T).T),
        t_events=None if watched is None else [e.t for e in solution.events],
        y_events=None if watched is None else [join(e.y) for e in solution.events],
        nfev=solution.stats.evaluations,
        njev=solution.stats.jacobians,
        nlu=solution.stats.factorisations,
        status=code,
        message=_MESSAGES[code],
        success=code >= 0,
    )


def _method(method: Any) -> Any:
    if isinstance(method, str):
        if method not in NAMES and method not in METHODS:
            raise BadInput(f"`method` must be one of {', '.join(NAMES)}, or a method of odesolve; it is {method!r}")
        return METHODS[NAMES.get(method, method)]
    if isinstance(method, type):
        return _method(method.__name__)
    return method


def _arguments(args: Any) -> tuple[Any, ...]:
    if args is None:
        return ()
    try:
        return tuple(args)
    except TypeError:
        raise BadInput(
            f"Supplied 'args' cannot be unpacked. Please supply `args` as a tuple (e.g. `args=({args!r},)`)"
        ) from None


def _columns(fun: Callable[..., Any]) -> Callable[..., Any]:
    return lambda t, y, *args: np.reshape(fun(t, y[:, None], *args), -1)


def _of_one(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return fun with a vector (1,) for a number, which SciPy takes as the derivative of one component."""

    def right(t: Any, y: NDArray[Any], *args: Any) -> Any:
        dy = fun(t, y, *args)
        return dy if np.ndim(dy) else np.reshape(dy, 1)

    return right


def _relative(rtol: Any) -> Any:
    """Return rtol, raised to 100 roundings with SciPy's warning."""
    if np.any(np.less(rtol, _LEAST_RTOL)) and not np.any(np.less(rtol, 0)):
        text = "At least one element of `rtol` is too small. Setting `rtol = np.maximum(rtol, 2.220446049250313e-14)`."
        warnings.warn(text, stacklevel=3)
        return np.maximum(rtol, _LEAST_RTOL)
    return rtol


def _parts(fun: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Return a function of a complex state as one of its real and imaginary parts."""

    def right(t: Any, v: NDArray[Any], *args: Any) -> NDArray[Any]:
        dz = np.asarray(fun(t, v[:n] + 1j * v[n:], *args))
        return np.concatenate([np.real(dz), np.imag(dz)])

    return right


def _doubled(tolerance: Any, is_split: bool) -> Any:
    return np.concatenate([tolerance, tolerance]) if is_split and np.ndim(tolerance) else tolerance


def _jacobian(options: dict[str, Any], n: int, is_split: bool) -> Any:
    jac = options.get("jac")
    if options.get("lband") is not None or options.get("uband") is not None:
        if is_split:
            raise BadInput("lband and uband need a real state; leave them out")
        return (options.get("lband") or 0, options.get("uband") or 0)
    pattern = options.get("jac_sparsity")
    if jac is None and pattern is not None and not is_split:
        return SparseJacobian(pattern if scipy.sparse.issparse(pattern) else scipy.sparse.csc_array(pattern))
    if jac is None:
        return None
    if not callable(jac):
        matrix = _dense(jac)
        if matrix.shape != (n, n):
            raise BadInput(f"`jac` is expected to have shape {(n, n)}, but actually has {matrix.shape}")
        return lambda t, y, *args: _real_form(matrix, is_split)
    if not is_split:
        return lambda t, y, *args: _dense(jac(t, y, *args))
    return lambda t, v, *args: _real_form(_dense(jac(t, v[:n] + 1j * v[n:], *args)), True)


def _dense(matrix: Any) -> NDArray[Any]:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def _real_form(matrix: NDArray[Any], is_split: bool) -> NDArray[Any]:
    """Return the matrix that acts on real and imaginary parts."""
    if not is_split:
        return matrix
    a, b = np.real(matrix), np.imag(matrix)
    return np.concatenate([np.concatenate([a, -b], axis=1), np.concatenate([b, a], axis=1)])


def _event(function: Callable[..., Any], n: int, is_split: bool) -> Event:
    if not callable(function):
        raise BadInput(f"an event is {function!r}; expected a function event(t, y)")
    terminal = getattr(function, "terminal", None) or False
    if not isinstance(terminal, (bool, np.bool_)) and (terminal != int(terminal) or terminal < 0):
        raise BadInput("The `terminal` attribute of each event must be a boolean or positive integer.")
    direction = int(np.sign(getattr(function, "direction", 0)))
    if is_split:
        return Event(lambda t, v, *args: _number(function(t, v[:n] + 1j * v[n:], *args)), int(terminal), direction)
    return Event(lambda t, y, *args: _number(function(t, y, *args)), int(terminal), direction)


def _number(value: Any) -> Any:
    """Return the value of an event; SciPy takes arrays of one element for numbers."""
    return np.reshape(value, -1)[0] if np.ndim(value) and np.size(value) == 1 else value


def _inside(t_eval: Any, t0: float, tf: float) -> NDArray[Any]:
    times = np.asarray(t_eval, dtype=float)
    if times.ndim != 1:
        raise BadInput("`t_eval` must be 1-dimensional.")
    if np.any(times < min(t0, tf)) or np.any(times > max(t0, tf)):
        raise BadInput("Values in `t_eval` are not within `t_span`.")
    changes = np.diff(times)
    if np.any(changes <= 0 if tf > t0 else changes >= 0):
        raise BadInput("Values in `t_eval` are not properly sorted.")
    return times


def _reached(times: NDArray[Any], end: Any, span: float) -> int:
    """Return how many of the times lie before the end."""
    last = float(stop_gradient(end))
    return int(np.sum(times <= last if span >= 0 else times >= last))
