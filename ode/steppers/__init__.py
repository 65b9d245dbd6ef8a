"""One stepper for each family of methods (``Stepper``); the loops know nothing else of a method."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..invariants import Invariants
from ..methods import (
    AdditiveTableau,
    EsdirkTableau,
    ExponentialTableau,
    Extrapolation,
    GaussTableau,
    Method,
    Multistep,
    NystromTableau,
    RadauFamily,
    RadauTableau,
    RosenbrockTableau,
    Switching,
    Taylor,
)
from .additive import AdditiveStepper
from .esdirk import EsdirkStepper
from .explicit import ExplicitStepper
from .exponential import ExponentialStepper
from .extrapolation import ExtrapolationStepper
from .gauss import GaussStepper
from .multistep import Adams, BackwardDifferences
from .nystrom import NystromStepper
from .projected import ProjectedStepper
from .radau import RadauStepper
from .rosenbrock import RosenbrockStepper
from .switching import SwitchingStepper
from .taylor import TaylorStepper


def stepper_of(method: Method, dtype: np.dtype[Any], rtol: Any, atol: Any, invariants: Invariants | None = None) -> Any:
    """Return the stepper of a method, for a state of a dtype, with the tolerances, that keeps the invariants."""
    if invariants is not None:
        return ProjectedStepper(stepper_of(method, dtype, rtol, atol), invariants)
    if isinstance(method, Taylor):
        return TaylorStepper(method.name, method.order_for(_tightest(rtol, atol)), dtype)
    if isinstance(method, Extrapolation):
        return ExtrapolationStepper(method, dtype, _tightest(rtol, atol))
    if isinstance(method, RosenbrockTableau):
        return RosenbrockStepper(method, dtype)
    if isinstance(method, EsdirkTableau):
        return EsdirkStepper(method, dtype)
    if isinstance(method, Multistep):
        return BackwardDifferences(method, dtype) if method.is_stiff else Adams(method, dtype)
    if isinstance(method, RadauTableau):
        return RadauStepper(method.name, [method], dtype, _tightest(rtol, atol))
    if isinstance(method, RadauFamily):
        return RadauStepper(method.name, method.methods, dtype, _tightest(rtol, atol))
    if isinstance(method, GaussTableau):
        return GaussStepper(method, dtype)
    if isinstance(method, ExponentialTableau):
        return ExponentialStepper(method, dtype)
    if isinstance(method, NystromTableau):
        return NystromStepper(method, dtype)
    if isinstance(method, AdditiveTableau):
        return AdditiveStepper(method, dtype)
    if isinstance(method, Switching):
        return SwitchingStepper(method, dtype)
    return ExplicitStepper(method, dtype)


def _tightest(rtol: Any, atol: Any) -> float:
    """Return the relative tolerance for which a method chooses its order; without one, the absolute tolerance."""
    relative = float(np.min(rtol))
    return relative if relative > 0.0 else float(np.min(atol))
