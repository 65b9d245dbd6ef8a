"""The frames of the program's calls: ``sys._getframe``, ``locals``, ``globals``, ``dir``, ``eval`` of a text.

Python's own functions would find the engine's frames.  The frames outside of the compiled function belong to its caller,
which differs from call to call, and are refused.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..errors import BadInput
from .scopes import Scope

_OUTSIDE = (
    "compiled code reads the frame of the function that called it, which may be another one at each call; pass the "
    "variables as arguments (e.g. a dict of names and values)"
)
_INLINES_COMPREHENSIONS = sys.version_info >= (3, 12)


class Frame:
    """A call of the program, with the attributes of Python's frame objects."""

    f_trace = None

    def __init__(self, trace: Any, frames: list[Scope]) -> None:
        self._trace = trace
        self._frames = frames
        self._scope = frames[-1]
        self.f_lineno = int(trace.builder.line)
        self.f_globals = globals_of(trace, self._scope)
        self.f_builtins = vars(sys.modules["builtins"])

    @property
    def f_locals(self) -> dict[str, Any]:
        return locals_of(self._trace, self._scope)

    @property
    def f_code(self) -> CodeType:
        return code_of(self._scope)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("f_"):
            raise BadInput(
                f"compiled code cannot read {name} of a frame; call the function outside of the compiled one"
            )
        raise AttributeError(name)

    @property
    def f_back(self) -> Frame:
        back = frame_at(self._trace, self._frames, 1)
        back.f_lineno = int(self._scope.caller)
        return back


def frame_at(trace: Any, frames: list[Scope], depth: int) -> Frame:
    if depth >= len(frames):
        raise BadInput(_OUTSIDE)
    return Frame(trace, frames[: len(frames) - depth])


def code_of(scope: Scope) -> CodeType:
    if scope.callee is None:
        raise BadInput("compiled code cannot read the frame of a comprehension; read it outside of the comprehension")
    return scope.callee.__code__


def globals_of(trace: Any, scope: Scope) -> dict[str, Any]:
    return trace.outside.read(trace, [scope.globals], 0, scope.globals)


def locals_of(trace: Any, scope: Scope) -> dict[str, Any]:
    """Return the variables of a call, with those of the enclosing functions that it uses."""
    free = {n: _free_variable(trace, scope, n) for n in code_of(scope).co_freevars}
    return trace.new({**{n: x for n, x in scope.vars.items() if n in scope.local and n[0] != "."}, **free})


def _free_variable(trace: Any, scope: Scope, name: str) -> Any:
    outer = scope.parent
    while outer is not None:
        if name in outer.local:
            return outer.vars[name]
        scope, outer = outer, outer.parent
    return trace.outside.read(trace, scope.cells[name], None, scope.cells[name].cell_contents)


def _getframe(trace: Any, depth: int = 0) -> Frame:
    frames = [s for s in trace.scopes if not (s.is_comprehension and _INLINES_COMPREHENSIONS)]
    return frame_at(trace, frames, depth)


def _locals(trace: Any) -> dict[str, Any]:
    return locals_of(trace, trace.scope)


def _globals(trace: Any) -> dict[str, Any]:
    return globals_of(trace, trace.scope)


def _dir(trace: Any, *objects: Any) -> Any:
    if objects:
        return NotImplemented
    found = locals_of(trace, trace.scope)
    trace.refuse_unknown_entries(found)
    return trace.new(sorted(found))


def _eval(trace: Any, source: Any, *spaces: Any, **named: Any) -> Any:
    """Interpret a text in the variables of the function that calls ``eval``."""
    if spaces or named:
        return NotImplemented
    tree = ast.parse(source.strip(), mode="eval") if isinstance(source, str) else None
    if tree is None or trace.scope.parent is not None or any(isinstance(n, _SCOPED) for n in ast.walk(tree)):
        raise BadInput(
            "eval in compiled code takes the text of an expression without functions, comprehensions or assignments, in a "
            "function that is not nested; write the expression itself, or pass eval the variables in a dict"
        )
    return trace.expressions.expression(tree.body)


_SCOPED = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)


def _exec(trace: Any, source: Any, *spaces: Any, **named: Any) -> Any:
    if spaces or named:
        return NotImplemented
    raise BadInput(
        "exec in compiled code needs a dict of variables, since it cannot assign the function's own; pass one, or write "
        "the statements themselves"
    )


def _exception(trace: Any) -> BaseException | None:
    """``sys.exception()``: the exception that the innermost handler has caught."""
    if not trace.handled:
        return None
    if len(trace.handled[-1].errors) > 1:
        raise BadInput(
            "sys.exc_info() and sys.exception() in a handler of several exceptions cannot be compiled; name the exception: "
            "except ... as error"
        )
    return trace.handled[-1].errors[0]


def _exc_info(trace: Any) -> tuple[Any, Any, None]:
    error = _exception(trace)
    return (None if error is None else type(error)), error, None


OF_FRAMES: dict[Any, Callable[..., Any]] = {
    sys._getframe: _getframe,
    locals: _locals,
    globals: _globals,
    dir: _dir,
    eval: _eval,
    exec: _exec,
    sys.exc_info: _exc_info,
    sys.exception: _exception,
}
"""Functions that look at the frame of their caller, as ``builtin_functions.SPECIAL``."""
