"""The differentiation and compilation core, told along one small function.

The example is a power by repeated multiplication:

>>> def pow(x, n):
...     r = 1
...     while n > 0:
...         n -= 1
...         r *= x
...     return r

``source/`` reads its syntax tree and lowers it (``source/statements.py``) to the structured SSA form of
``ir/dynamic.py``, in which a loop is an operation with nested blocks and everything else is a call:

>>> print(ir(pow))
function pow(%x, %n):
  %n.1, %r = while %n, 1
    condition(%n.2, %r.1):
      %t = operator.gt(%n.2, 0)
      yield %t
    body(%n.3, %r.2):
      %n.4 = operator.isub(%n.3, 1)
      %r.3 = operator.imul(%r.2, %x)
      yield %n.4, %r.3
  yield %r

``eager/structured/inference.py`` infers the types and the activity of the values for given arguments: ``r`` depends on
``x`` and affects the result, so it is active; ``n`` only counts.  ``eager/structured/sweeps.py`` makes a forward
sweep, which also returns the residuals, and a backward sweep.  The rule of ``*`` (``rules/``) adds dr * r to the
cotangent of x, so each ``r`` is saved and nothing else.  ``emit/python.py`` prints both sweeps; the printed code is
the code that runs:

>>> show(pow, 5.0, 3)
def pow_forward(x, n):
    stack = []
    n1 = n
    r = 1
    while n1 > 0:
        stack.append(r)
        n1, r = n1 - 1, r * x
    return (r, (stack, x))
<BLANKLINE>
def pow_backward(saved, dr):
    stack, x = saved
    dr1 = dr
    dx = 0
    for r in reversed(stack):
        dr1, dx = dr1 * x, dx + dr1 * r
    return (dx, 0)

>>> gradient(pow, 5, 3)
(75, 0)

That is the *structured* tier (``eager/structured/``).  It takes a function whose calls are all known and free of side
effects. Any other Python (objects, in-place writes, generators, exceptions) is *recorded*:
``eager/rewriting/instrument.py`` rewrites the syntax tree so that each operation also goes on a tape
(``eager/recorded/tape.py``).  ``eager/arrays/`` and ``eager/libraries/`` handle NumPy's and Python's own functions,
``eager/unrecorded/`` the calls that cannot be recorded, and ``values/memory.py`` knows which arrays share memory.
``api.py`` holds the public functions.

``jit`` compiles a function for the types of its arguments.  ``specialise/`` traces the function with abstract values
(dtype and shape; ``surface/`` defines NumPy on them) and records *typed* IR, whose values are numbers and arrays only:

>>> from morula import jit
>>> print(jit(pow).lower(5.0, 3).as_text())
function pow(%x: float, %n: int):
  %t: python bool = numpy.greater(%n, 0)
  %n.1: int, %r: float, %go: python bool = while %n, 1.0, %t
    condition(%n.2: int, %r.1: float, %go.1: python bool):
      yield %go.1
    body(%n.3: int, %r.2: float, %go.2: python bool):
      %t.1: int = numpy.subtract(%n.3, 1)
      %t.2: float = numpy.multiply(%r.2, %x)
      %t.3: python bool = numpy.greater(%t.1, 0)
      yield %t.1, %t.2, %t.3
  yield %r

``passes/reverse/`` differentiates typed IR, ``passes/simplify.py`` simplifies it and ``ir/evaluate.py`` interprets it.
``emit/native/`` and ``emit/xla/`` compile it; ``compilation/targets.py`` chooses between them.
``compilation/jitted.py`` holds the compiled programs of a function, ``compilation/compilation_cache.py`` shares them
between processes on disk, and ``compilation/explain.py`` reports on them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .api import (
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
from .eager.recorded.invertible import invertible
from .errors import BadInput, MorulaError, NoDerivative, NonFinite
from .forward import jvp, linearize
from .implicit import constant, implicit
from .ir.memory_policies import inverse, offload, online, revolve
from .jacobians.functions import forwarddiff, hessian, hvp, jacfwd, jacobian
from .jacobians.series import derivatives, taylor
from .jacobians.wirtinger import wirtinger
from .values.allocation import keep_freed_memory

if TYPE_CHECKING:
    from . import debug, random
    from .callbacks import callback
    from .compilation.autobatching import autobatch
    from .compilation.back_end_forms import lowering
    from .compilation.batching import batch_rule, vmap
    from .compilation.collectives import all_gather, axis_index, pmax, pmean, pmin, psum
    from .compilation.just_in_time import jit
    from .compilation.sparse.functions import sparse_hessian, sparse_jacobian
    from .debug.audits import audit
    from .debug.non_finite import debug_nans
    from .values import tree

__all__ = [
    "BadInput",
    "MorulaError",
    "NoDerivative",
    "NonFinite",
    "adjoint",
    "all_gather",
    "audit",
    "autobatch",
    "batch_rule",
    "axis_index",
    "callback",
    "checkpoint",
    "constant",
    "debug",
    "debug_nans",
    "derivatives",
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
    "linearize",
    "lowering",
    "nestlevel",
    "no_derivative",
    "offload",
    "online",
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
    "tangent",
    "taylor",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "wirtinger",
]

_LATER = {
    "all_gather": "compilation.collectives",
    "audit": "debug.audits",
    "autobatch": "compilation.autobatching",
    "axis_index": "compilation.collectives",
    "batch_rule": "compilation.batching",
    "callback": "callbacks",
    "debug": "debug",
    "debug_nans": "debug.non_finite",
    "jit": "compilation.just_in_time",
    "lowering": "compilation.back_end_forms",
    "pmax": "compilation.collectives",
    "pmean": "compilation.collectives",
    "pmin": "compilation.collectives",
    "psum": "compilation.collectives",
    "random": "random",
    "sparse_hessian": "compilation.sparse.functions",
    "sparse_jacobian": "compilation.sparse.functions",
    "tree": "values.tree",
    "vmap": "compilation.batching",
}
"""Names of the compiled path -> the module that defines them; imported on first use."""

keep_freed_memory()


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_LATER[name]}", __name__)
    value = module if _LATER[name].rpartition(".")[2] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
