"""The differentiation and compilation core, told along one small function.

A user has a program; here it is a power by repeated multiplication:

>>> def pow(x, n):
...     r = 1
...     while n > 0:
...         n -= 1
...         r *= x
...     return r

``source`` finds its syntax tree, and ``frontend`` reads that into the structured SSA form of ``ir``, in which a loop is an
operation with blocks inside and everything else is a call:

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

``analyse`` types the values for given arguments and finds through which of them a derivative flows: ``r`` depends on ``x`` and
bears on the result, while ``n`` only counts.  ``reverse`` turns the function into a forward sweep, which also returns what must
be saved, and a backward sweep.  The rule of ``*`` (``rules/``) says that dr * r reaches x, so each ``r`` is saved and nothing else.
``emit.python`` prints both, and what it prints is what runs:

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

That is the *structured* tier (``structured``).  It takes a function whose calls are all known and free of side effects.
Any other Python (objects, in-place writes, generators, exceptions) is *recorded*: ``instrument`` replaces each
operation in the syntax tree by one that also goes on a ``tape``, ``operate`` and ``call`` say what these do,
``builtin_functions``, ``standard_library``, ``builtin_iteration`` and ``mutation`` know Python's and NumPy's own functions, ``destination`` says
where these leave a result that is given memory, ``comparison``, ``containers`` and ``text`` record the methods that C would
call, ``watched`` notices those that it calls all the same (``effects`` reads from bytecode which of them can store nothing,
``unasking`` and ``keys`` know calls of C code that reach none of them),
``fused`` makes one operation of an expression of numbers, ``access`` reads and ``stores`` writes, ``memory`` knows which
arrays share theirs, and ``structure`` brings arguments in and gradients out. ``pullback`` picks the tier for a call, ``held``
keeps for it what others may overwrite, ``strong_zero`` has the products of the second sweep that follows a gradient of NaN,
``custom`` holds derivatives given by hand, and ``api`` is what users see.

``jit`` compiles a function for the types of its arguments.  ``specialise`` runs the syntax tree on values of which only dtype and
shape are known (``traced``; ``surface`` says what NumPy does on them) and writes *typed* IR, of numbers and arrays alone:

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

``reverse_typed`` differentiates that, ``simplify`` tidies it, ``evaluate`` runs it as it stands, and ``emit.native`` and ``emit.xla``
compile it: ``targets`` chooses.  ``jitted`` keeps what was compiled for a function, ``compilation_cache`` what was
compiled by other processes, and ``explain`` tells what became of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from .implicit import constant, implicit

if TYPE_CHECKING:
    from . import debug, random
    from .callbacks import callback
    from .compilation.jitted import jit
    from .values import tree

__all__ = [
    "BadInput",
    "MorulaError",
    "NoDerivative",
    "adjoint",
    "callback",
    "checkpoint",
    "constant",
    "debug",
    "forwarddiff",
    "grad",
    "gradient",
    "hessian",
    "hook",
    "implicit",
    "ir",
    "jacobian",
    "jit",
    "nestlevel",
    "pullback",
    "random",
    "show",
    "stop_gradient",
    "tree",
    "value_and_grad",
    "vjp",
]

_LATER = {
    "callback": "callbacks",
    "debug": "debug",
    "jit": "compilation.jitted",
    "random": "random",
    "tree": "values.tree",
}
"""What the compiled path adds, and the module that has it: loaded on first use."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_LATER[name]}", __name__)
    value = module if _LATER[name].rpartition(".")[2] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
