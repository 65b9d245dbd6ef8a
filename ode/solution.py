"""The result of ``odesolve``: the solution, its cost, and how the solve ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, MorulaError, tree
from .dense_output import DenseOutput


class Status(IntEnum):
    """How a solve ended.

    >>> Status.MAX_STEPS.message
    'max_steps steps were taken before the last time was reached'
    """

    SUCCESS = 0
    TERMINATED = 1
    MAX_STEPS = 2
    STEP_TOO_SMALL = 3

    @property
    def message(self) -> str:
        """What happened, in words."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.SUCCESS: "the last time was reached",
    Status.TERMINATED: "a terminal event ended the solve",
    Status.MAX_STEPS: "max_steps steps were taken before the last time was reached",
    Status.STEP_TOO_SMALL: "the step became too small to advance the time, or smaller than min_step",
}


@dataclass
class Stats:
    """The cost of an ``odesolve``."""

    accepted: int
    """The number of accepted steps."""
    rejected: int
    """The number of rejected steps."""
    evaluations: int
    """The number of evaluations of f, without those for Jacobians."""
    last_step: float
    """The size of the last step that was not shortened to end at a given time."""
    jacobians: int = 0
    """The number of evaluations of the Jacobian of f."""
    factorisations: int = 0
    """The number of LU factorisations."""
    implicit_steps: int = 0
    """The number of accepted and rejected steps that solved equations; with ``method="auto"``, those of the method for stiff
    problems."""
    adjoint: str = "discrete"
    """How the derivative is computed (the argument ``adjoint`` of ``odesolve``)."""
    adjoint_reason: str = ""
    """Why."""
    time: float = field(default=nan, compare=False)
    """The seconds that the solve took, on a clock that runs on while others compute; NaN in compiled code, where it would be a
    call of Python."""


@dataclass
class Happened:
    """The times and states at which one event happened."""

    t: NDArray[Any]
    """The times (k,)."""
    y: Any
    """The states there, in y0's structure, before the event changed them; every leaf has a leading axis of length k."""


@dataclass
class Solution:
    """The result of ``odesolve``."""

    t: NDArray[Any]
    """The times (m,)."""
    y: Any
    """The state at these times, in y0's structure; every leaf has a leading axis of length m. Times that a failed solve did
    not reach hold NaN."""
    stats: Stats
    """The numbers of steps and evaluations."""
    code: int = 0
    """The number of the ``status``."""
    method: str = ""
    """The name of the method."""
    t_reached: Any = 0.0
    """The end of the last accepted step, or the time of the terminal event."""
    y_reached: Any = None
    """The state there, in y0's structure."""
    events: Sequence[Happened] = ()
    """Where each event happened."""
    sol: DenseOutput | None = None
    """With ``is_dense``: the solution as a function of time; ``sol(t)``, ``sol.derivative(t)``."""

    @property
    def status(self) -> Status:
        """How the solve ended."""
        return Status(self.code)

    @property
    def message(self) -> str:
        """How the solve ended, in words."""
        return Status(self.code).message

    @property
    def success(self) -> bool:
        """Whether the last time or a terminal event was reached."""
        return self.code <= 1

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Return the times as ``"t"``, and each number of the state as a column of length m, by its name in y0.

        >>> from morula.ode import odesolve
        >>> columns = odesolve(lambda t, y: {"a": -y["a"]}, {"a": np.array([1.0, 2.0])}, [0.0, 1.0]).to_numpy()
        >>> list(columns), columns["a[1]"].round(3).tolist()
        (['t', 'a[0]', 'a[1]'], [2.0, 0.736])
        """
        columns: dict[str, NDArray[Any]] = {"t": self.t}

        def add(path: tree.Path, leaf: Any) -> None:
            name = tree.spelled(path, "y").removeprefix("y")
            values = np.asarray(leaf)
            for place in np.ndindex(values.shape[1:]):
                index = "".join(f"[{i}]" for i in place)
                columns[_column(name) + index or "y"] = values[(slice(None), *place)]

        tree.rebuild(self.y, add, is_shared=False)
        return columns

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame`` of the columns of ``to_numpy``, with the times as its index.

        Raises:
            MorulaError: pandas is not installed.

        >>> from morula.ode import odesolve
        >>> solution = odesolve(lambda t, y: -y, 1.0, [0.0, 1.0])
        >>> try:
        ...     columns = list(solution.to_pandas().columns)
        ... except MorulaError:  # pandas is not installed
        ...     columns = list(solution.to_numpy())[1:]
        >>> columns
        ['y']
        """
        try:
            import pandas  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise MorulaError("to_pandas needs pandas (pip install pandas); to_numpy does not") from None
        columns = self.to_numpy()
        return pandas.DataFrame(columns, columns=list(columns)).set_index("t")

    def plot(self, axes: Any = None, phase: tuple[str, str] | None = None) -> Any:
        """Return matplotlib's axes with the solution against time, or with one column against another.

        Args:
            axes: what to draw into; new ones by default.
            phase: the names of two columns of ``to_numpy``, for a phase portrait.

        Raises:
            BadInput: there is no column of such a name.
            MorulaError: matplotlib is not installed.

        >>> from morula.ode import odesolve
        >>> odesolve(lambda t, y: -y, 1.0, [0.0, 1.0]).plot().get_xlabel()
        't'
        """
        columns = self.to_numpy()
        for name in phase or ():
            if name not in columns:
                raise BadInput(f"the solution has no column {name!r}; its columns are {', '.join(columns)}")
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise MorulaError("plot needs matplotlib (pip install 'morula[examples]')") from None
        if axes is None:
            axes = plt.subplots(layout="constrained")[1]
        if phase is not None:
            axes.plot(columns[phase[0]], columns[phase[1]])
            axes.set(xlabel=phase[0], ylabel=phase[1])
            return axes
        for name, values in columns.items():
            if name != "t":
                axes.plot(self.t, np.real(values), label=name)
        axes.set(xlabel="t")
        axes.legend()
        return axes


def _column(path: str) -> str:
    """Return the name of a leaf without the quotes of its keys: ``['a'].b`` as ``a.b``."""
    return re.sub(r"\['([^']*)'\]", r".\1", path).lstrip(".")


class IntegrationFailed(MorulaError):
    """Raised by ``odesolve`` when it cannot reach the last time; ``solution`` holds what was computed up to there.

    >>> from morula.ode import odesolve
    >>> try:
    ...     odesolve(lambda t, y: y * y, 1.0, [0.0, 0.5, 2.0])
    ... except IntegrationFailed as failure:
    ...     print(failure.solution.y.round(3), failure.solution.status.name, round(failure.solution.t_reached, 3))
    [ 1.  2. nan] STEP_TOO_SMALL 1.0
    """

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution: Solution = solution


def reason(code: int, max_steps: int, t: float, end: float, size: float, min_step: float = 0.0) -> str:
    """Return why a solve ended before the last time, for the message of ``IntegrationFailed``."""
    if code == Status.MAX_STEPS:
        return (
            f"max_steps = {max_steps} steps were taken and t = {t:.6g} of {end:.6g} was reached, with steps of {abs(size):.3g}; "
            "raise max_steps, loosen rtol or atol, or check whether the problem is stiff"
        )
    if min_step > 0.0:
        return (
            f"a step of min_step = {min_step:.3g} is not accurate enough at t = {t:.6g}; lower min_step, loosen rtol or atol, or check "
            "whether the solution is singular there"
        )
    return (
        f"the step became too small to advance the time at t = {t:.6g}; the solution may be singular there, or f may return "
        "values that are not finite"
    )
