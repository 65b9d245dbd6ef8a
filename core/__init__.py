"""The differentiation and compilation core."""

from __future__ import annotations

from .api import (
    adjoint,
    checkpoint,
    forwarddiff,
    grad,
    gradient,
    hessian,
    hook,
    ir,
    jacobian,
    nestlevel,
    pullback,
    show,
    stop_gradient,
    value_and_grad,
    vjp,
)
from .errors import BadInput, MorulaError, NoDerivative

__all__ = [
    "BadInput",
    "MorulaError",
    "NoDerivative",
    "adjoint",
    "checkpoint",
    "forwarddiff",
    "grad",
    "gradient",
    "hessian",
    "hook",
    "ir",
    "jacobian",
    "nestlevel",
    "pullback",
    "show",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]
