"""The adaptive solve of one problem, with all its settings, as a function of y0, the parameters and the times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import stop_gradient, tree
from .adjoints.sensitivities import gradient_steps
from .arguments import stops_between
from .control import StepControl
from .events import Watch
from .invariants import Invariants
from .loop import Run, adaptive_steps
from .mass import Mass
from .methods import Method
from .problem import Problem
from .steppers import stepper_of


@dataclass
class Integration:
    """The settings of a solve; each run has a stepper of its own, since some steppers choose their order as they go."""

    f: Any
    """The user's function f(t, y, *args), or a ``Split``."""
    leaves: Any
    """The layout of the state."""
    dtype: np.dtype[Any]
    """The dtype of the state's vector."""
    form: Any
    """The form of the Jacobian."""
    rtol: Any
    atol: Any
    """The tolerances: numbers, or arrays of the size of the vector."""
    method: Method
    control: StepControl
    tstops: ArrayLike
    """The times at which a step must end."""
    first_step: float | None
    max_step: float
    max_steps: int
    is_gradient_controlled: bool = False
    """Whether the error of the sensitivities with respect to y0 and ``args`` counts in the choice of the steps."""
    mass: Mass | None = None
    """M of M y' = f; None for the unit matrix."""
    is_singular: bool = False
    """Whether the method takes M as it is, singular or not."""
    invariants: Invariants | None = None
    """The invariants that each step keeps."""
    tell: Callable[..., None] | None = None
    """What is called as a solve proceeds; see ``Progress``."""
    min_step: float = 0.0
    """The least size of a step that may be rejected."""

    def problem(self, args: tuple[Any, ...]) -> Problem:
        """Return y' = f(t, y, *args) on vectors."""
        problem = Problem(self.f, args, self.leaves, self.dtype, self.form, self.rtol, self.atol, self.mass)
        return problem if self.mass is None or self.is_singular else problem.without_mass()

    def stepper(self) -> Any:
        """Return a new stepper of the method."""
        return stepper_of(self.method, self.dtype, self.rtol, self.atol, self.invariants)

    def run(
        self,
        y: NDArray[Any],
        args: tuple[Any, ...],
        times: NDArray[Any],
        watch: Watch | None = None,
        is_dense: bool = False,
        is_timed: bool = False,
    ) -> Run:
        """Solve from y at times[0]; the derivative is that of the discrete solution on the steps taken."""
        steps = None
        if self.is_gradient_controlled:
            theta, restore = tree.flatten(args, "args")
            steps = gradient_steps(self, y, theta, restore, times)
        return adaptive_steps(
            self.stepper(),
            self.problem(args),
            y,
            times,
            stop_gradient(stops_between(self.tstops, stop_gradient(times))),
            self.control,
            self.rtol,
            self.atol,
            self.first_step,
            self.max_step,
            self.max_steps,
            watch,
            is_dense,
            steps=steps,
            is_timed=is_timed,
            tell=self.tell,
            min_step=self.min_step,
        )
