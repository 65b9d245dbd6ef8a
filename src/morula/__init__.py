"""Differentiable programming for Python: gradients of the program you already have, from its own source.

>>> import morula as mo
>>> def pow(x, n):
...     r = 1
...     while n > 0:
...         n -= 1
...         r *= x
...     return r
>>> mo.gradient(pow, 5, 3)
(75, 0)

The functions here are those of `morula.core`; the packages `ode`, `linalg`, `optim`, `physics`, `ml`, `symbolic` and
`foreign` are ordinary Python written on them, and `testing` holds what a user's own tests need.  Everything is loaded when it is first used,
so that importing morula costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import core, foreign, linalg, ml, ode, optim, physics, symbolic, testing
    from .core import debug, random, tree
    from .core.api import (
        adjoint,
        checkpoint,
        grad,
        gradient,
        hook,
        ir,
        nestlevel,
        no_derivative,
        pullback,
        show,
        stop_gradient,
        tangent,
        value_and_grad,
        vjp,
    )
    from .core.callbacks import callback
    from .core.compilation.autobatching import autobatch
    from .core.compilation.back_end_forms import lowering
    from .core.compilation.batching import batch_rule, vmap
    from .core.compilation.collectives import all_gather, axis_index, pmax, pmean, pmin, psum
    from .core.compilation.just_in_time import jit
    from .core.compilation.sparse.functions import sparse_hessian, sparse_jacobian
    from .core.debug.audits import audit
    from .core.debug.non_finite import debug_nans
    from .core.eager.recorded.invertible import invertible
    from .core.errors import BadInput, MorulaError, NoDerivative, NonFinite
    from .core.forward import jvp, linearize
    from .core.implicit import constant, implicit
    from .core.ir.memory_policies import inverse, offload, online, revolve
    from .core.jacobians.functions import forwarddiff, hessian, hvp, jacfwd, jacobian
    from .core.jacobians.series import derivatives, taylor
    from .core.jacobians.wirtinger import wirtinger
    from .foreign import to_jax, to_torch

__all__ = [
    "BadInput",
    "MorulaError",
    "NoDerivative",
    "NonFinite",
    "__version__",
    "adjoint",
    "all_gather",
    "audit",
    "autobatch",
    "batch_rule",
    "axis_index",
    "callback",
    "checkpoint",
    "constant",
    "core",
    "debug",
    "debug_nans",
    "derivatives",
    "foreign",
    "forwarddiff",
    "grad",
    "gradient",
    "hessian",
    "hook",
    "hvp",
    "implicit",
    "inverse",
    "invertible",
    "ir",
    "jacfwd",
    "jacobian",
    "jit",
    "jvp",
    "linalg",
    "linearize",
    "lowering",
    "ml",
    "nestlevel",
    "no_derivative",
    "ode",
    "offload",
    "online",
    "optim",
    "physics",
    "pmax",
    "pmean",
    "pmin",
    "psum",
    "pullback",
    "random",
    "revolve",
    "show",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "symbolic",
    "tangent",
    "taylor",
    "testing",
    "to_jax",
    "to_torch",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "wirtinger",
]

_PACKAGES = frozenset({"core", "foreign", "linalg", "ml", "ode", "optim", "physics", "symbolic", "testing"})
_ERRORS = frozenset({"BadInput", "MorulaError", "NoDerivative", "NonFinite"})
_FOREIGN = frozenset({"to_jax", "to_torch"})


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'morula' has no attribute {name!r}")
    if name in _PACKAGES:
        value = import_module(f".{name}", __name__)
    else:
        place = ".core.errors" if name in _ERRORS else ".foreign" if name in _FOREIGN else ".core"
        home = import_module(place, __name__)
        value = getattr(home, name)
        if place == ".core":
            import_module(".core.rules", __name__).when_imported("scipy.sparse.linalg", f"{__name__}._scipy_forms")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
