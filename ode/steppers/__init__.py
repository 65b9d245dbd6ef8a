"""One stepper for each family of methods.

A stepper makes one step of a method; the loops (``loop.py``) know nothing else of it:

    memory = stepper.start(problem, t, y, slope, h)         what a step needs from the step before; slope is y', h a guess of its size
    y_new, stages = stepper.step(problem, t, t_new, y, memory)
    error = stepper.error(h, stages)                        (m, n): estimates of the local error; with
                                                            ``is_variable_order``, at order k, k - 1, k + 1
    count = stepper.spent(stages)                           the number of evaluations of f in the step
    memory = stepper.advance(stages)                        after the step was accepted
    c = stepper.polynomial(problem, t, t_new, y, stages)        (degree, n): y(t + theta h) = y + sum_j c[j] theta^(j + 1)

with h = t_new - t. ``start`` and ``step`` return arrays of fixed shapes, so that the loops compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..methods import EsdirkTableau, Method, Multistep, RadauTableau, RosenbrockTableau, Switching
from .esdirk import EsdirkStepper
from .explicit import ExplicitStepper
from .multistep import Adams, BackwardDifferences
from .radau import RadauStepper
from .rosenbrock import RosenbrockStepper
from .switching import SwitchingStepper


def stepper_of(method: Method, dtype: np.dtype[Any]) -> Any:
    """Return the stepper of a method, for a state of a dtype."""
    if isinstance(method, RosenbrockTableau):
        return RosenbrockStepper(method, dtype)
    if isinstance(method, EsdirkTableau):
        return EsdirkStepper(method, dtype)
    if isinstance(method, Multistep):
        return BackwardDifferences(method, dtype) if method.is_stiff else Adams(method, dtype)
    if isinstance(method, RadauTableau):
        return RadauStepper(method, dtype)
    if isinstance(method, Switching):
        return SwitchingStepper(method, dtype)
    return ExplicitStepper(method, dtype)
