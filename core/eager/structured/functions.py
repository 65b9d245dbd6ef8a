"""The structured tier: compile a function for the types of its arguments, to a form of Python for each mode.

A function qualifies if its source has a structured form and every call in it is known and free of side effects.  For
reverse mode, it then runs as two Python functions, a forward and a backward sweep, that keep saved values in local
variables; for forward mode as one, which computes tangents as well.  All other functions are recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ...emit.python import build
from ...exclusion import one_at_a_time
from ...ir.dynamic import Link, Operation, verify
from ...ir.vocabulary import Unstructured, hold
from ...source.definitions import NoSource
from ...source.statements import STATIC, lower
from ...values.cotangents import zeros_for_none
from ...values.numbers import NUMBERS
from ...values.passing import drop, forgets, pass_by
from .forward import forward
from .inference import Inference
from .sweeps import reverse
from .types import OBJECT, REAL, Type, type_of


@dataclass(eq=False)
class Compiled:
    """One function for one choice of argument types and of active arguments."""

    name: str
    result: Type
    active: tuple[bool, ...]
    guards: list[tuple[Any, str, Any]] = field(default_factory=list)
    forward: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None
    push: Callable[..., Any] | None = None  # in forward mode, in place of the two sweeps
    text: tuple[str, ...] = ()
    failures: int = 0  # how often ``push`` raised or gave NaN, so that the run was recorded
    waiting: list[tuple[dict[str, Any], str, str]] = field(default_factory=list)
    is_recursive: bool = False
    called: list[tuple[FunctionType, Any]] = field(default_factory=list)  # functions among the guards, and their code
    is_fixed: bool = False  # whether no run can change the globals that it treats as constants: see ``captured``
    arrays_given: set[int] | None = None  # ids of the arrays among those globals, once none was found on a tape

    def is_current(self) -> bool:
        """Whether every global that was read while compiling is still the same object."""
        return hold(self.guards) and all(function.__code__ is code for function, code in self.called)

    def fits(self, y: Any) -> bool:
        """Whether a result has the inferred kind; if not, the run is recorded instead."""
        if self.result.kind == "real":
            return isinstance(y, (int, float, np.integer))
        return self.result.kind != "array" or type(y) is np.ndarray

    def pull(self, saved: Any, dy: Any, y: Any) -> tuple[Any, ...]:
        if self.result.kind == "tuple":
            dy = zeros_for_none(dy, y)
        return self.backward(saved, dy)  # type: ignore[misc]


Key = tuple[Any, ...]
_compiled: dict[Key, Compiled | str] = {}
_unstructured: dict[Any, str] = {}  # code that has no structured form for any argument types, with the reason
_variants: dict[tuple[Any, bool], int] = {}
_outdated: dict[Any, int] = {}  # how often the code was recompiled because a global that it reads was rebound
_of_many_shapes: set[tuple[Any, bool]] = set()  # code that is specialised on numbers of axes, not shapes, by mode
MOST_VARIANTS = 16
_in_progress: dict[Key, Compiled] = {}
_together: list[Compiled] = []  # the function being compiled, and the callees compiled with it


def compiled_for(
    function: FunctionType,
    args: tuple[Any, ...],
    active: tuple[bool, ...] | None = None,
    is_forward: bool = False,
) -> Any:
    """Return the compiled form of a call, or None if it has to be recorded.

    ``args`` holds all arguments in the order of the parameters, then the contents of the closure.  ``active`` says
    which of them are differentiated; None stands for all numbers and arrays.  ``is_forward`` selects the mode.
    """
    code = function.__code__
    if code in _unstructured:
        return None
    shaped = (code, is_forward) not in _of_many_shapes
    parts: list[Any] = [code, id(function.__globals__), active, is_forward]
    for x in args:
        kind = type(x)
        if kind is float or kind is int or kind is np.float64:
            parts.append(float)
        elif kind is np.ndarray and x.dtype == np.float64:
            parts.append(x.shape if shaped else x.ndim)
        elif kind in NUMBERS:
            parts.append(type_of(x))
        elif kind in STATIC:
            parts.append((kind, x))
        else:
            return None
    key = tuple(parts)
    found = _compiled.get(key)
    if type(found) is Compiled and found.is_current():
        return found
    if type(found) is str:
        return None
    with one_at_a_time:
        return _compile_for(function, args, active, is_forward, key, shaped)


def _compile_for(
    function: FunctionType,
    args: tuple[Any, ...],
    active: tuple[bool, ...] | None,
    is_forward: bool,
    key: Key,
    shaped: bool,
) -> Compiled | None:
    code = function.__code__
    pass_by(function)
    found = _compiled.get(key)
    if type(found) is Compiled and found.is_current():
        return found  # another thread was faster
    if found is not None:
        _outdated[code] = _outdated.get(code, 0) + 1
        if _outdated[code] > MOST_VARIANTS:
            _unstructured[code] = "a global that keeps changing"
            return None
    try:
        lowered = lower(function, {i: x for i, x in enumerate(args) if type(x) in STATIC})
        if found is None:
            count = _variants[code, is_forward] = _variants.get((code, is_forward), 0) + 1
            if count > MOST_VARIANTS and shaped:
                _of_many_shapes.add((code, is_forward))
                return compiled_for(function, args, active, is_forward)
    except (Unstructured, NoSource) as reason:
        if any(type(x) in STATIC for x in args):
            _compiled[key] = str(reason)  # perhaps only for this static value
        else:
            _unstructured[code] = str(reason)
        return None
    types = tuple(type_of(x) if shaped else _without_shape(type_of(x)) for x in args)
    mask = tuple(t.kind in ("real", "array", "number") for t in types) if active is None else active
    try:
        found = _compiled[key] = _compile(function, types, mask, is_forward, key, lowered)
    except (Unstructured, NoSource) as reason:
        _compiled[key] = str(reason)
        return None
    return found


@forgets
def _forget(code: CodeType, scope: int) -> None:
    drop(_compiled, code, scope)
    for about in (_unstructured, _outdated):
        about.pop(code, None)
    for is_forward in (False, True):
        _variants.pop((code, is_forward), None)
        _of_many_shapes.discard((code, is_forward))


def is_structured(function: FunctionType) -> bool:
    """Whether a function may have a compiled form: False only after an attempt has failed for good."""
    return function.__code__ not in _unstructured


def _without_shape(kind: Type) -> Type:
    return Type("array", kind.ndim) if kind.kind == "array" else kind


def forget() -> None:
    """Drop all compiled functions, because a function was given a custom adjoint."""
    _compiled.clear()


def _compile(
    function: FunctionType,
    types: tuple[Type, ...],
    mask: tuple[bool, ...],
    is_forward: bool,
    key: Key,
    made: Any = None,
    static: dict[int, Any] | None = None,
) -> Compiled:
    lowered, guards = made or lower(function, static)
    if len(types) != len(lowered.parameters):
        raise Unstructured("arguments by default")
    compiled = Compiled(lowered.name, type_of(1.0), mask, guards)
    compiled.called = _functions(guards)
    callees: dict[Operation, FunctionType] = {}

    def infer_callee(callee: FunctionType, op: Operation) -> Compiled:
        if op.keywords or callee.__closure__:
            raise Unstructured(f"a call of {callee.__qualname__} with keywords, or that is a closure,")
        callees[op] = callee
        return _compile_callee(callee, op, None)

    def _compile_callee(callee: FunctionType, op: Operation, active: tuple[bool, ...] | None) -> Compiled:
        static = {i: v.constant for i, v in enumerate(op.operands) if v.is_constant and type(v.constant) in STATIC}
        argument_types = tuple(_type(v) for v in op.operands)
        if any(t is OBJECT and i not in static for i, t in enumerate(argument_types)):
            raise Unstructured(f"an object as argument of {callee.__qualname__}")
        if active is None:
            active = tuple(t.kind in ("real", "array", "number") for t in argument_types)
        inner_key = callee.__code__, id(callee.__globals__), *argument_types, active, is_forward, *static.items()
        if inner_key in _in_progress:
            _in_progress[inner_key].is_recursive = True
            return _in_progress[inner_key]
        found = _compiled.get(inner_key)
        if type(found) is str:
            raise Unstructured(found)
        if type(found) is not Compiled or not found.is_current():
            found = _compile(callee, argument_types, active, is_forward, inner_key, static=static)
            _compiled[inner_key] = found
        compiled.guards += found.guards
        compiled.called += found.called
        return found

    _in_progress[key] = compiled
    _together.append(compiled)
    try:
        result = Inference(lowered, infer_callee).run(types)
        if compiled.is_recursive and result != compiled.result:
            raise Unstructured("a recursion whose result is not a real number")
        compiled.result = result
        if compiled.result.kind not in ("real", "array", "number", "tuple") or _has_objects(compiled.result):
            raise Unstructured(f"a result that is {compiled.result}")
        active = [p for p, a in zip(lowered.parameters, mask) if a]

        def compiled_callee(op: Operation, op_mask: tuple[bool, ...]) -> Compiled:
            return _compile_callee(callees[op], op, op_mask)

        transform = forward if is_forward else reverse
        made_of = transform(lowered, active, compiled_callee)
        printed = [build(verify(f)) for f in (made_of if isinstance(made_of, tuple) else (made_of,))]
    finally:
        del _in_progress[key]
        if not _in_progress:
            # Functions that call each other are current only while all globals that any of them read are unchanged.
            guards = list({(id(g[0]), g[1]): g for c in _together for g in c.guards}.values())
            for made_now in _together:
                made_now.guards = guards
                made_now.called = _functions(guards)
            _together.clear()
    for name, form in zip(("push",) if is_forward else ("forward", "backward"), printed):
        setattr(compiled, name, form[0])
    compiled.text = tuple(form[1] for form in printed)
    for _, _, links, namespace in printed:
        for name, link in links.items():
            _link(link, namespace, name)
    for namespace, name, attribute in compiled.waiting:
        namespace[name] = getattr(compiled, attribute)
    return compiled


def _functions(guards: list[tuple[Any, str, Any]]) -> list[tuple[FunctionType, Any]]:
    return [(found, found.__code__) for _, _, found in guards if isinstance(found, FunctionType)]


def _link(link: Link, namespace: dict[str, Any], name: str) -> None:
    sweep = getattr(link.compiled, link.attribute)
    if sweep is None:
        link.compiled.waiting.append((namespace, name, link.attribute))
    else:
        namespace[name] = sweep


def _type(value: Any) -> Type:
    """Return the type of an argument of a callee, which is compiled for integers of any value."""
    kind = type_of(value.constant) if value.is_constant else value.type
    return REAL if kind.kind == "real" else kind


def _has_objects(kind: Type) -> bool:
    return any(e.kind not in ("real", "array", "number") for e in kind.elements)
