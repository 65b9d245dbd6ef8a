"""Rewrites the expressions of a function so that operations call the tape.

``a * b`` becomes ``_mul(_tape, a, b)``, ``x.y`` becomes ``_getattr(_tape, x, "y")``, and ``f(x)`` calls the recorded
form of ``f``.  Comparisons, truth tests and iteration become calls of the engine where a class may define them.
``fusible`` finds expressions that can be recorded as one operation.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ...source.definitions import owner_class
from ...source.operator_names import BINARY, UNARY
from ...source.private_names import PrivateNames
from ...source.trees import copied, nodes
from ..recorded.known import classes, methods
from ..structured.fusible import fuse
from .builtin_calls import ASKED, classes_of_operand, runs_no_code
from .conditions import Conditions, Node, is_simple, located

# These functions look at the frame that calls them.
FRAME_BOUND = {"locals", "vars", "dir", "globals"}


def _names(code: CodeType) -> Iterator[str]:
    """Yield all names in compiled code and in the code nested in it; private names are mangled there."""
    yield from (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


# Methods of built-in containers and strings that neither iterate over an argument nor call back.
MOVING = {"append", "appendleft", "pop", "popleft", "insert", "get", "setdefault", "items", "keys", "values", "clear"}
MOVING |= {"add", "discard", "copy", "popitem", "lower", "upper", "strip", "split", "startswith", "endswith"}


HASHING = {"pop", "insert", "get", "setdefault", "add", "discard"}
"""Methods in ``MOVING`` that hash or compare their first argument, or use it as an index."""

DATA = {list, dict, set}
"""Classes of global variables whose value does not influence the rewriting, so it needs no guard."""


class Expressions(Conditions):
    def __init__(self, function: FunctionType, prefix: str) -> None:
        self.function = function
        self.prefix = prefix
        self.owner = owner_class(function)
        code = function.__code__
        self.local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.names = {*_names(code)}
        self.first = code.co_varnames[0] if code.co_argcount else None
        self.temporaries = 0
        self.held: list[str] = []  # temporaries of the statement that hold any objects, to be released after it
        self.in_comprehension = False  # where assignment expressions are not allowed everywhere
        self.in_class = False  # whether assignments create attributes of a class
        self.fusing = True
        self.counters: set[str] = set()  # variables assigned only by loops over a range
        self.assumed: dict[
            tuple[int, str], tuple[dict[str, Any], str, Any]
        ] = {}  # guards: the globals on which the rewritten code depends
        self.cells: dict[str, Any] = {}  # objects that the rewritten function uses, besides the engine's functions

    def runtime(self, name: str, *args: Node, at: Node) -> ast.Call:
        tape = ast.Name(self.prefix + "tape", ast.Load())
        return located(ast.Call(ast.Name(self.prefix + name, ast.Load()), [tape, *args], []), at)

    def mangle(self, name: str) -> str:
        private = name.startswith("__") and not name.endswith("__") and "." not in name
        # Generated code may claim to belong to a class although it was compiled outside, where names are not mangled.
        if self.owner and private and name not in self.names:
            return f"_{self.owner.lstrip('_')}{name}"
        return name

    def visit_Name(self, node: ast.Name) -> Node:
        node.id = self.mangle(node.id)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Node:
        fused = self.fused(node, self.visit)
        if fused is not None:
            return fused
        return self.runtime(BINARY[type(node.op)], self.visit(node.left), self.visit(node.right), at=node)

    def fused(self, node: Node, apart: Callable[[Node], Node], in_place: bool = False) -> Node | None:
        """Return ``node`` as one fused operation, or None; ``apart`` writes the fallback, one call per operation."""
        if not self.fusing or self.in_comprehension:
            return None

        def unfused(other: Node) -> Node:
            self.fusing = False
            try:
                return apart(other)
            finally:
                self.fusing = True

        new = fuse(self, node, unfused, in_place)
        return new if new is None else located(new, node)

    def site(self, *description: Any) -> str:
        name = f"site{len(self.cells)}"
        self.cells[name] = description
        return name

    @property
    def keeps(self) -> bool:
        """Whether a temporary may hold the value of an expression, so that it can be loaded again."""
        return not (self.in_comprehension or self.in_class)

    def twice(self, node: Node) -> tuple[Node, Node]:
        """Return an expression and a second load of its value, from a temporary unless it is a name or a constant."""
        return (node, copied(node)) if is_simple(node) else self.kept_apart(node)

    def of_classes(self, node: Node, classes: str, plain: Callable[[Node], Node], recorded: str) -> Node:
        """Return ``plain(node)`` if the class of the value is in ``classes``, else the engine's ``recorded(tape, node)``."""
        if not (self.keeps or is_simple(node)):
            return self.runtime(recorded, node, at=node)
        first, again = self.twice(node)
        test = ast.Compare(ast.Call(self.runtime_name("type"), [first], []), [ast.In()], [self.runtime_name(classes)])
        return located(ast.IfExp(test, plain(again), self.runtime(recorded, copied(again), at=node)), node)

    def iterated(self, node: Node, recorded: str = "iterate") -> Node:
        """Return the iterable that a loop or a call reads in place of ``node``."""
        return self.of_classes(node, "iterables", lambda x: x, recorded)

    def has_plain(self, container: Node, name: str) -> Node:
        """Return a test whether loading an attribute of a variable, or of a plain part of one, runs no code."""
        loaded = self.load(copied(container))
        if isinstance(self.constant(container), type):
            return self.is_in(loaded, "own", name)
        return self.is_in(ast.Call(self.runtime_name("type"), [loaded], []), "load", name)

    def is_an_int(self, variable: ast.Name) -> Node:
        kind = ast.Call(self.runtime_name("type"), [self.load(copied(variable))], [])
        return ast.Compare(kind, [ast.Is()], [self.runtime_name("int")])

    def is_in(self, node: Node, kind: str, name: str) -> Node:
        self.cells[f"{kind}_{name}"] = classes(kind, name)
        return ast.Compare(node, [ast.In()], [ast.Name(f"{self.prefix}{kind}_{name}", ast.Load())])

    def is_one_of(self, node: Node, classes: str) -> Node:
        """Return a test whether the class of a value is in one of the engine's sets; a name is mangled."""
        kind = ast.Call(self.runtime_name("type"), [self.load(copied(node)) if is_simple(node) else node], [])
        return ast.Compare(kind, [ast.In()], [self.runtime_name(classes)])

    def load(self, node: Node) -> Node:
        """Return a name, or an attribute or an item of a name, as a plain load with mangled names."""
        for n in nodes(node):
            if isinstance(n, ast.Name):
                n.id = self.mangle(n.id)
            elif isinstance(n, ast.Attribute):
                n.attr = self.mangle(n.attr)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Node:
        if isinstance(node.op, ast.Not):
            node.operand = self.condition(node.operand)
            return node
        if isinstance(node.operand, ast.Constant):
            is_number = isinstance(node.op, ast.USub) and type(node.operand.value) in (int, float)
            return located(ast.Constant(-node.operand.value), node) if is_number else node  # type: ignore[operator]
        fused = self.fused(node, self.visit) if isinstance(node.op, ast.USub) else None
        if fused is not None:
            return fused
        return self.runtime(UNARY[type(node.op)], self.visit(node.operand), at=node)

    def visit_Attribute(self, node: ast.Attribute) -> Node:
        if isinstance(self.constant(node.value), ModuleType):
            return node
        of_class = isinstance(self.constant(node.value), type)
        node.attr = self.mangle(node.attr)
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return node
        if not (self.keeps or is_simple(node.value)):
            return self.runtime("getattr", node.value, ast.Constant(node.attr), at=node)
        first, again = self.twice(node.value)
        test = (
            self.is_in(first, "own", node.attr)
            if of_class
            else self.is_in(ast.Call(self.runtime_name("type"), [first], []), "load", node.attr)
        )
        plain = located(ast.Attribute(again, node.attr, ast.Load()), node)
        recorded = self.runtime("getattr", copied(again), ast.Constant(node.attr), at=node)
        return located(ast.IfExp(test, plain, recorded), node)

    def visit_Subscript(self, node: ast.Subscript) -> Node:
        many = isinstance(node.slice, ast.Tuple)  # a container in Python has no such index
        node.value, index = self.visit(node.value), self.index(node.slice)
        if not isinstance(node.ctx, ast.Load):
            node.slice = index
            return node
        if many or not (self.keeps or is_simple(node.value) and is_simple(index)):
            return self.runtime("getitem", node.value, index, at=node)
        if is_simple(index):
            first, again = self.twice(node.value)
        else:  # the index may rebind the container's name
            first, again = self.kept_apart(node.value)
        place, place_again = self.twice(index)
        plain = located(ast.Subscript(again, place_again, ast.Load()), node)
        recorded = self.runtime("getitem", copied(again), copied(place_again), at=node)
        return located(ast.IfExp(self.plainly_indexed(first, "sequences", place), plain, recorded), node)

    def kept_apart(self, node: Node) -> tuple[Node, Node]:
        """Do what ``twice`` does, with a temporary even for a name, which may be rebound before the second load."""
        name = self.temporary()
        self.held.append(name)
        return located(ast.NamedExpr(ast.Name(name, ast.Store()), node), node), ast.Name(name, ast.Load())

    def plainly_indexed(self, container: Node, kinds: str, index: Node, indices: str = "compared") -> Node:
        """Return a test whether a container is built in and indexing it calls no ``__hash__`` or ``__index__``."""
        test = self.is_one_of(container, kinds)
        if isinstance(index, ast.Constant) or isinstance(index, ast.Name) and index.id in self.counters:
            return test
        of_index = self.is_one_of(index, indices)
        if is_simple(index):
            return ast.BoolOp(ast.And(), [test, of_index])
        return ast.BinOp(test, ast.BitAnd(), of_index)  # the index has to be evaluated

    def index(self, node: Node) -> Node:
        """Return a subscript's index as an expression: ``a:b`` becomes ``slice(a, b, None)``."""
        if isinstance(node, ast.Slice):
            parts = [ast.Constant(None) if p is None else self.place(p) for p in (node.lower, node.upper, node.step)]
            return located(ast.Call(ast.Name(self.prefix + "slice", ast.Load()), parts, []), node)
        if isinstance(node, ast.Tuple):
            node.elts = [self.index(e) for e in node.elts]
            return node
        return self.visit(node)

    def place(self, node: Node) -> Node:
        """Rewrite a bound of a slice, which may be an object with an ``__index__``."""
        new = self.visit(node)
        if isinstance(new, ast.Constant) or isinstance(node, ast.Name) and node.id in self.counters:
            return new
        return self.unless_plain([new], "compared", lambda x: x, lambda x: self.runtime("place", x, at=node), node)

    def is_asked(self, node: Node) -> bool:
        return isinstance(node, ast.Call) and any(self.constant(node.func) is asked for asked in ASKED)

    def visit_Call(self, node: ast.Call) -> Node:
        fused = self.fused(node, self.visit)
        if fused is not None:
            return fused
        function = node.func
        if isinstance(function, ast.Name) and function.id not in self.local:
            if function.id in FRAME_BOUND and not (function.id == "dir" and node.args):
                return self.generic_visit(node)
            if function.id in ("eval", "exec") and self.constant(function) is getattr(builtins, function.id):
                scopes: list[Node] = [ast.Call(ast.Name(name, ast.Load()), [], []) for name in ("globals", "locals")]
                if len(node.args) > 1:  # the caller passes the scopes
                    scopes = [ast.Constant(None), ast.Constant(None)]
                return self.runtime("text", function, *scopes, *map(self.visit, node.args), at=node)
            if function.id == "super" and not node.args:
                names: list[Node] = [ast.Name("__class__", ast.Load()), ast.Name(str(self.first), ast.Load())]
                return located(ast.Call(function, names, []), node)
            target = self.constant(function)
            if runs_no_code(target, node):
                return self.generic_visit(node)
            known = classes_of_operand(target, node)
            if known is not None and (self.keeps or is_simple(node.args[0])):
                first, again = self.twice(self.visit(node.args[0]))
                recorded = self.known_call(function, function, [copied(again)])
                plain = located(ast.Call(copied(function), [again], []), node)
                return located(ast.IfExp(self.is_one_of(first, known), plain, recorded), node)
        arguments = [self.argument(a) for a in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        for keyword in keywords:
            if keyword.arg is None:
                keyword.value = self.runtime("mapping", keyword.value, at=keyword.value)
        if isinstance(function, ast.Attribute) and not isinstance(self.constant(function.value), ModuleType):
            new = self.method_call(function, arguments, node)
        elif isinstance(function, ast.Name) or isinstance(getattr(function, "value", None), ast.Name):
            callee = self.load(copied(function))
            new = self.known_call(callee, callee, arguments)
        else:
            new = self.runtime("call", self.visit(function), *arguments, at=node)
        new.keywords = keywords
        return located(new, node)

    def known_call(self, first: Node, again: Node, arguments: list[Node]) -> ast.Call:
        """Rewrite ``f(x)`` to known[f](tape, x) if f is a function, and to caller(f)(tape, x) for other callables."""
        kind = ast.Call(self.runtime_name("type"), [first], [])
        test = ast.Compare(kind, [ast.In()], [self.runtime_name("hashable")])
        found = ast.Subscript(self.runtime_name("known"), copied(again), ast.Load())
        other = ast.Call(self.runtime_name("caller"), [copied(again)], [])
        return ast.Call(ast.IfExp(test, found, other), [self.tape(), *arguments], [])

    def method_call(self, function: ast.Attribute, arguments: list[Node], at: Node) -> ast.Call:
        """Rewrite ``x.f(y)`` to known[method_f[type(x)]](tape, x, y), guarded: no attribute of x may hide the method."""
        name = self.mangle(function.attr)
        if name in MOVING and (self.keeps or isinstance(function.value, ast.Name)):
            # x.append(y) of a built-in container only moves references
            first, container = self.twice(self.visit(function.value))
            test = self.is_one_of(first, "containers")
            if name in HASHING and arguments and not isinstance(arguments[0], ast.Constant):
                if isinstance(arguments[0], ast.Name):
                    test = ast.BoolOp(ast.And(), [test, self.is_one_of(arguments[0], "compared")])
                else:
                    test = ast.BinOp(test, ast.BitAnd(), ast.Constant(False))
            found = ast.Attribute(container, name, ast.Load())
            other = ast.Call(self.runtime_name("bound"), [self.tape(), copied(container), ast.Constant(name)], [])
            return ast.Call(ast.IfExp(test, found, other), arguments, [])
        if isinstance(self.constant(function.value), type) and not self.in_comprehension:
            callee = ast.Name(self.temporary(), ast.Load())
            loaded = ast.NamedExpr(ast.Name(callee.id, ast.Store()), self.visit(function))
            return self.known_call(loaded, callee, arguments)
        container = self.visit(function.value)
        if isinstance(container, ast.Name):
            again = copied(container)
        elif self.in_comprehension:
            return self.runtime("method", container, ast.Constant(name), *arguments, at=at)
        else:
            again = ast.Name(self.temporary(), ast.Load())
            container = ast.NamedExpr(ast.Name(again.id, ast.Store()), container)
        self.cells[f"method_{name}"] = methods(name)
        table = ast.Name(f"{self.prefix}method_{name}", ast.Load())
        kind = ast.Name(self.temporary(), ast.Load())
        kinds = ast.NamedExpr(ast.Name(kind.id, ast.Store()), ast.Call(self.runtime_name("type"), [container], []))
        if self.in_comprehension:
            kinds = ast.Call(self.runtime_name("type"), [container], [])
            kind = copied(kinds)  # type: ignore[assignment]
        instance = ast.Attribute(copied(again), "__dict__", ast.Load())
        unhidden = [
            ast.Compare(copied(kind), [ast.In()], [self.runtime_name("slotted")]),
            ast.Compare(ast.Constant(name), [ast.NotIn()], [instance]),
        ]
        test = ast.BoolOp(ast.And(), [ast.Compare(kinds, [ast.In()], [table]), ast.BoolOp(ast.Or(), unhidden)])
        found = ast.Subscript(self.runtime_name("known"), ast.Subscript(table, kind, ast.Load()), ast.Load())
        other = ast.Call(self.runtime_name("method_caller"), [ast.Constant(name)], [])
        return ast.Call(ast.IfExp(test, found, other), [self.tape(), again, *arguments], [])

    def runtime_name(self, name: str) -> ast.Name:
        return ast.Name(self.prefix + name, ast.Load())

    def tape(self) -> ast.Name:
        return self.runtime_name("tape")

    def argument(self, node: Node) -> Node:
        if isinstance(node, ast.Starred):
            node.value = self.iterated(self.visit(node.value), "listed")
            return node
        return self.visit(node)

    def visit_Starred(self, node: ast.Starred) -> Node:
        return self.argument(node) if isinstance(node.ctx, ast.Load) else self.generic_visit(node)

    def visit_ListComp(self, node: Any) -> Node:
        outer, self.in_comprehension = self.in_comprehension, True
        node = self.generic_visit(node)
        self.in_comprehension = outer
        return node

    visit_GeneratorExp = visit_ListComp

    def visit_SetComp(self, node: Any) -> Node:
        node = self.visit_ListComp(node)
        entries = located(ast.ListComp(node.elt, node.generators), node)
        return node if isinstance(node.elt, ast.Constant) else self.runtime("set_of", entries, at=node)

    def visit_DictComp(self, node: Any) -> Node:
        node = self.visit_ListComp(node)
        if isinstance(node.key, ast.Constant):
            return node
        items = located(ast.ListComp(ast.Tuple([node.key, node.value], ast.Load()), node.generators), node)
        return self.runtime("dict_of", items, at=node)

    def visit_comprehension(self, node: ast.comprehension) -> Node:
        node.iter = self.iterated(self.visit(node.iter))
        node.ifs = [self.condition(test) for test in node.ifs]
        node.target = self.visit(node.target)
        if isinstance(node.target, (ast.Tuple, ast.List)):
            # A tuple target may unpack an array: record the read of each entry.
            name = self.temporary()
            node.iter = _unpacked(self, node.iter, name)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Node:
        node.value = self.runtime("iterate", self.visit(node.value), at=node)
        return node

    def name_privately(self, function: Node) -> None:
        """Mangle private names in a function nested in a method, as it is compiled outside the class here."""
        if self.owner:
            PrivateNames(self.mangle).visit(function)

    def visit_Lambda(self, node: ast.Lambda) -> Node:
        self.name_privately(node)
        self.defaults(node.args)
        return node

    def defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.visit(d) for d in arguments.defaults]
        arguments.kw_defaults = [d if d is None else self.visit(d) for d in arguments.kw_defaults]

    def visit_Dict(self, node: ast.Dict) -> Node:
        at = node
        node = self.generic_visit(node)  # type: ignore[assignment]
        for i, key in enumerate(node.keys):
            if key is None:
                node.values[i] = self.runtime("mapping", node.values[i], at=node.values[i])
        if all(key is None or isinstance(key, ast.Constant) for key in node.keys):
            return node
        items: list[Node] = [
            ast.Tuple([value] if key is None else [key, value], ast.Load())
            for key, value in zip(node.keys, node.values)
        ]
        return self.runtime("dict_of", located(ast.List(items, ast.Load()), at), at=at)

    def visit_Set(self, node: ast.Set) -> Node:
        node = self.generic_visit(node)  # type: ignore[assignment]
        if all(isinstance(e, ast.Constant) for e in node.elts):
            return node
        return self.runtime("set_of", located(ast.List(node.elts, ast.Load()), node), at=node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Node:
        new = self.visit(node.value)
        if not isinstance(new, ast.Constant):
            new = self.unless_plain(
                [new], "compared", lambda x: x, lambda x: self.runtime("shown", x, at=node), node.value
            )
        node.value = new
        if node.format_spec is not None:
            node.format_spec = self.visit(node.format_spec)
        return node

    # Constants known before the function runs

    def temporary(self) -> str:
        self.temporaries += 1
        name = f"{self.prefix}t{self.temporaries}"
        self.local.add(name)
        return name

    def constant(self, node: Node) -> Any:
        """Return the object to which a global name or a module's attribute is bound, or None."""
        if isinstance(node, ast.Name) and node.id not in self.local:
            space = self.function.__globals__
            found = self.assume(space, node.id)
            return self.assume(vars(builtins), node.id) if found is None and node.id not in space else found
        if isinstance(node, ast.Attribute):
            parent = self.constant(node.value)
            return self.assume(vars(parent), node.attr) if isinstance(parent, ModuleType) else None
        return None

    def assume(self, space: dict[str, Any], name: str) -> Any:
        """Return what a name is bound to, and guard it: the function is rewritten once the name is rebound."""
        found = space.get(name)
        if type(found) not in DATA:  # read when the function runs, so rebinding the name is harmless
            self.assumed[id(space), name] = space, name, found
        return found


def _unpacked(visitor: Expressions, iterable: Node, name: str) -> Node:
    element = visitor.iterated(located(ast.Name(name, ast.Load()), iterable), "unpack")
    generator = ast.comprehension(ast.Name(name, ast.Store()), iterable, [], 0)
    return located(ast.GeneratorExp(element, [generator]), iterable)
