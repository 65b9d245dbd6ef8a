"""Scopes: which one a name belongs to, and the functions that the traced program defines."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from types import CodeType, FunctionType, MappingProxyType, MethodType
from typing import Any, NoReturn

from ..errors import BadInput
from ..ir.traced_text import Text
from ..source.definitions import owner_class, syntax_tree
from ..source.liveness import Loops, read_by
from ..source.private_names import mangled
from ..source.trees import nodes
from .traced import current

Definition = ast.FunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scope:
    """The variables of one call of a function, or of a comprehension in it."""

    def __init__(self, local: frozenset[str], parent: Scope | None, function: FunctionType | None, name: str) -> None:
        self.vars: dict[str, Any] = {}
        self.local = local
        self.callee: FunctionType | Closure | None = function  # None: a comprehension
        self.is_comprehension = False
        self.consumer: Any = None  # what runs in place of each ``yield``: see ``fused_loops``
        self.parent = parent
        self.name = name
        self.own_name = name  # in tracebacks
        # A comprehension has its function's name.
        self.qualname = (
            name if parent is None else parent.qualname if parent.name == name else f"{parent.qualname}.<locals>.{name}"
        )
        self.caller: int = 0 if parent is None else parent.caller  # the line of the call
        if function is not None:
            self.globals = function.__globals__
            self.code = function.__code__
            self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
            self.filename = function.__code__.co_filename
            self.own_name = function.__code__.co_name
        elif parent is not None:
            self.code, self.filename = parent.code, parent.filename
            self.globals, self.cells = parent.globals, parent.cells


class Closure:
    """A function that the traced program has made by ``def`` or ``lambda``.

    Like a function it has a ``__dict__`` that holds what the program puts there, and nothing else.  ``named`` holds the attributes of a
    function whose names a class has too.
    """

    __slots__ = ("__dict__", "__weakref__", "defaults", "keyword_defaults", "named", "node", "scope")

    def __init__(self, node: Definition, scope: Scope, defaults: list[Any], keyword_defaults: dict[str, Any]) -> None:
        self.node = node
        self.scope = scope
        self.defaults = defaults
        self.keyword_defaults = keyword_defaults
        name = getattr(node, "name", "<lambda>")
        self.named = {
            "__name__": name,
            "__qualname__": f"{scope.qualname}.<locals>.{name}",
            "__module__": scope.globals.get("__name__"),
            "__doc__": None if isinstance(node, ast.Lambda) else ast.get_docstring(node, clean=False),
        }

    @property
    def __name__(self) -> str:
        return self.named["__name__"]

    @property
    def __code__(self) -> CodeType:
        first = min([self.node.lineno, *(d.lineno for d in getattr(self.node, "decorator_list", ()))])
        waiting = [self.scope.code]
        while waiting:
            code = waiting.pop()
            if (code.co_name, code.co_firstlineno) == (self.__name__, first):
                return code
            waiting += [c for c in code.co_consts if isinstance(c, CodeType)]
        raise BadInput(f"the code of {self.__name__}, which compiled code has defined, is not available")

    @property
    def __globals__(self) -> dict[str, Any]:
        return self.scope.globals

    @property
    def __defaults__(self) -> tuple[Any, ...] | None:
        return tuple(self.defaults) or None

    @property
    def __kwdefaults__(self) -> Any:
        return MappingProxyType(self.keyword_defaults) if self.keyword_defaults else None

    @property
    def __signature__(self) -> inspect.Signature:
        a, kind = self.node.args, inspect.Parameter
        positional = [(p, kind.POSITIONAL_ONLY) for p in a.posonlyargs] + [
            (p, kind.POSITIONAL_OR_KEYWORD) for p in a.args
        ]
        defaults = [kind.empty] * (len(positional) - len(self.defaults)) + list(self.defaults)
        found = [kind(p.arg, k, default=x) for (p, k), x in zip(positional, defaults)]
        found += [kind(a.vararg.arg, kind.VAR_POSITIONAL)] if a.vararg else []
        by_name = self.keyword_defaults
        found += [kind(p.arg, kind.KEYWORD_ONLY, default=by_name.get(p.arg, kind.empty)) for p in a.kwonlyargs]
        found += [kind(a.kwarg.arg, kind.VAR_KEYWORD)] if a.kwarg else []
        return inspect.Signature(found)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return current().call(self, *args, **kwargs)

    def __morula_trace__(self, trace: Any, *args: Any, **kwargs: Any) -> Any:
        return trace.calls.call_closure(self, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


Closure.__name__ = "function"  # type: ignore[assignment]  # for Python's messages


class Conflict:
    """The content of a variable with no single meaning, e.g. after branches that disagree; using it is an error."""

    def __init__(self, text: str, error: type[Exception] | None = None) -> None:
        self.text = text
        self.error = error

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise BadInput(self.text)

    __bool__ = __len__ = __iter__ = __getitem__ = __setitem__ = __contains__ = __call__ = __index__ = __float__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = (
        refuse
    )
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = __str__ = __format__ = __matmul__ = __rmatmul__ = refuse  # type: ignore[assignment]
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __or__ = __xor__ = __int__ = __array__ = refuse  # type: ignore[assignment]


class Unread(Conflict):
    """The content, at the start of an iteration, of a variable that only earlier iterations have assigned.

    ``slot`` is the place in the loop.
    """

    def __init__(self, text: str, slot: Any) -> None:
        super().__init__(text)
        self.slot = slot


UNASSIGNED = "a variable is used that is not assigned on every path; assign it before the condition or loop"


class Choice:
    """One of several values; the traced number ``which`` is its position among the ``options`` (see ``choices``)."""

    __slots__ = ("options", "which")
    __hash__ = object.__hash__

    def __init__(self, which: Any, options: Iterable[Any]) -> None:
        self.which = which
        self.options = tuple(options)

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise BadInput(
            "the kind of a value (None, a number, a string, ...) depends on a condition that is not known while compiling, but one kind "
            "is needed here; test it first (if x is None: ...)"
        )

    __bool__ = __len__ = __iter__ = __getitem__ = __setitem__ = __contains__ = __call__ = __index__ = __float__ = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __str__ = __format__ = __int__ = __array__ = refuse  # type: ignore[assignment]


REFUSALS = {Choice.refuse, Conflict.refuse, Text.refuse}
"""The operators of these stand-ins, which are called as they are."""


class Late:
    """A variable that may be unassigned: reading it raises at run time if ``absent`` holds.

    ``unread``: its content at the start of an iteration, if an earlier one may have assigned it. ``before``: why its value before a
    loop, which it keeps if the loop does not run, cannot be used instead.
    """

    def __init__(self, x: Any, absent: Any, unread: Unread | None = None, before: str = "") -> None:
        self.x = x
        self.absent = absent
        self.unread = unread
        self.before = before


class Unbound:
    """The content of a variable that is not assigned."""


UNBOUND = Unbound()

_definitions: dict[CodeType, Definition] = {}
_locals: dict[ast.AST, frozenset[str]] = {}
_read_after: dict[ast.AST, dict[int, frozenset[str]]] = {}  # for each loop in a function, by id
_RUN_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)
_READING_ALL = frozenset("locals vars dir eval exec sys inspect".split())


def definition_of(function: FunctionType) -> Definition:
    """Return the syntax tree of a function; do not change it.

    Raises:
        NoSource: the source cannot be read.
    """
    code = function.__code__
    if code not in _definitions:
        tree = syntax_tree(function)
        owner = owner_class(function)
        if owner is not None:
            tree = mangled(owner, tree)
        _definitions[code] = tree  # type: ignore[assignment]
    return _definitions[code]


def names_read_after(scope: Scope, loop: Any) -> frozenset[str] | None:
    """Return the variables that may be read after a loop of a function's call; None if that is not known."""
    callee = scope.callee
    if callee is None or scope.is_comprehension:
        return None
    node = callee.node if isinstance(callee, Closure) else definition_of(callee)
    if node not in _read_after:
        _read_after[node] = (
            {} if isinstance(node, ast.Lambda) or read_by(node) & _READING_ALL else Loops(node.body, ()).live
        )
        later = read_by(*(n for n in nodes(node) if n is not node and isinstance(n, _RUN_LATER)))
        _read_after[node] = {key: names | later for key, names in _read_after[node].items()}
    return _read_after[node].get(id(loop))


def local_names(node: Any) -> frozenset[str]:
    """Return the names that a function or a comprehension binds in its own scope."""
    if node not in _locals:
        if isinstance(node, _COMPREHENSIONS):
            found = {n.id for g in node.generators for n in nodes(g.target) if isinstance(n, ast.Name)}
        else:
            found, elsewhere = _bound(node)
            found -= elsewhere
        _locals[node] = frozenset(found)
    return _locals[node]


def _bound(node: Any) -> tuple[set[str], set[str]]:
    a = node.args
    found = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg)))}
    elsewhere: set[str] = set()
    waiting: list[tuple[Any, bool]] = [(n, False) for n in (node.body if isinstance(node.body, list) else [node.body])]
    while waiting:
        n, inner = waiting.pop()
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(n.name)
            waiting += [(d, inner) for d in n.decorator_list]
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += [(d, inner) for d in (*n.args.defaults, *n.args.kw_defaults) if d is not None]
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(n, ast.NamedExpr):
            found.add(n.target.id)
        elif isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and not inner:
            found.add(n.id)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in n.names}
        elif isinstance(n, ast.ExceptHandler) and n.name:
            found.add(n.name)
        elif isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name:
            found.add(n.name)
        elif isinstance(n, ast.MatchMapping) and n.rest:
            found.add(n.rest)
        elif isinstance(n, (ast.Global, ast.Nonlocal)):
            elsewhere |= set(n.names)
        waiting += [(child, inner or isinstance(n, _COMPREHENSIONS)) for child in ast.iter_child_nodes(n)]
    return found, elsewhere
