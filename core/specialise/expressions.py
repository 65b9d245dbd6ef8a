"""Expressions: each syntax node evaluates to a Python object or a traced value."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from ..faults import kind_of
from ..ir.derived import Derived, is_known
from ..ir.traced_text import Text
from ..passes.simplify import are_cheap
from ..values.array_classes import is_inherited, is_subclass_array
from ..values.items import item_of
from . import text_methods
from .choices import distributed, distributed_over, narrowed
from .comprehensions import TooManyOperations, grown, limited, warn_long
from .contents import opened
from .formatting import formatted
from .identity import identical
from .instances import is_instance, special
from .keys import use_as_key
from .membership import contained
from .rows import rows_of
from .scopes import UNBOUND, Choice, Conflict, Late, Scope, local_names
from .suspended import Generator
from .traced import Array, NeedsConcrete, Scalar, Traced
from .unopened import LooksInto, Part

BINARY: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
IN_PLACE: dict[type, Any] = {
    kind: getattr(operator, "i" + function.__name__.rstrip("_")) for kind, function in BINARY.items()
}
UNARY: dict[type, Any] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
COMPARE: dict[type, Any] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Expressions:
    """The part of the interpreter that evaluates expressions."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def expression(self, node: Any) -> Any:
        return self.trace.method_of(node)(node)

    # Names

    def load(self, name: str) -> Any:
        scope: Scope | None = self.trace.scope
        if name.startswith("."):  # a name that no program can use
            self.trace.scope.local |= {name}
        root = scope
        while scope is not None:
            if name in scope.local:
                if name in scope.vars:
                    return self.settled(scope.vars, name)
                kind = UnboundLocalError if scope is self.trace.scope else NameError
                raise kind(f"cannot access local variable '{name}' where it is not associated with a value")
            root, scope = scope, scope.parent
        assert root is not None
        assigned = self.trace.outside.variables.value(self.trace, root.cells.get(name, root.globals), name)
        if assigned is not UNBOUND:
            return assigned
        if name in root.cells:
            cell = root.cells[name]
            try:
                found = cell.cell_contents
            except ValueError:
                raise NameError(
                    f"cannot access free variable '{name}' where it is not associated with a value"
                ) from None
            return self.trace.outside.read(self.trace, cell, None, found)
        if name in root.globals:
            return self.trace.outside.read(self.trace, root.globals, name, root.globals[name])
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise NameError(f"name '{name}' is not defined")

    def settled(
        self,
        holder: dict[Any, Any],
        key: Any,
        error: type[Exception] = UnboundLocalError,
        text: str = "",
        owner: Any = None,
    ) -> Any:
        """Return what a place holds if that is one thing; ``error`` is raised at run time if it is unassigned.

        ``owner``: the object whose ``__dict__`` the holder is. Its changes are saved as those of the object, not a second time.
        """
        x = item_of(holder, key)
        if isinstance(x, Conflict):
            raise BadInput(x.text)
        if type(x) is Choice:
            return narrowed(self.trace, x)
        if (
            isinstance(x, Late)
            and x.unread is not None
            and self.trace.builder.integers.truth(self.trace.value(x.absent)) is not False
        ):
            if not x.unread.slot.wants_flag(x.x):
                raise BadInput(x.unread.text)
            return narrowed(self.trace, x.x)  # the loop is interpreted once more
        if isinstance(x, Late):
            if error is KeyError:
                text = f"a {kind_of(key)}" if is_instance(key) else str(key)
            text = text or f"cannot access local variable '{key}' where it is not associated with a value"
            if x.before:
                error, text = BadInput, f"{x.before}; the loop ran no iteration\n  {self.trace.where()}"
            self.trace.builder.raise_if(self.trace.value(x.absent), error, text)
            if owner is None:
                self.trace.touch(holder)
            else:
                self.trace.touch_attributes(owner)
            holder[key] = x.x
            return narrowed(self.trace, x.x)
        return x

    def store(self, name: str, x: Any) -> None:
        scope: Scope | None = self.trace.scope
        if name.startswith("."):  # a name that no program can use
            self.trace.scope.local |= {name}
        root = scope
        while scope is not None and (name not in scope.local):
            root, scope = scope, scope.parent
        if scope is None:
            assert root is not None
            self.trace.outside.variables.assign(self.trace, root.cells.get(name, root.globals), name, x)
            return
        self.trace.touch(scope.vars)
        scope.vars[name] = x

    def eval_Name(self, node: ast.Name) -> Any:
        return self.load(node.id)

    def eval_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def eval_NamedExpr(self, node: ast.NamedExpr) -> Any:
        x = self.expression(node.value)
        self.store(node.target.id, x)
        return x

    def eval_Lambda(self, node: ast.Lambda) -> Any:
        return self.trace.statements.closure(node)

    # Operators

    def eval_BinOp(self, node: ast.BinOp) -> Any:
        return self.trace.call(BINARY[type(node.op)], self.expression(node.left), self.expression(node.right))

    def eval_UnaryOp(self, node: ast.UnaryOp) -> Any:
        x = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            test = self.truth(x)
            return not test if isinstance(test, bool) else self.trace.call(operator.not_, test)
        return self.trace.call(UNARY[type(node.op)], x)

    def eval_Compare(self, node: ast.Compare) -> Any:
        left = self.expression(node.left)
        right = self.expression(node.comparators[0])
        result = self.compare(node.ops[0], left, right)
        return self.chained(result, right, node.ops[1:], node.comparators[1:])

    def chained(self, result: Any, left: Any, ops: list[ast.cmpop], comparators: list[ast.expr]) -> Any:
        """Evaluate the rest of a chained comparison; nothing after a false comparison is evaluated."""
        if not ops:
            return result
        test = self.truth(result)
        if test is False:
            return result

        def rest() -> Any:
            right = self.expression(comparators[0])
            return self.chained(self.compare(ops[0], left, right), right, ops[1:], comparators[1:])

        if test is True:
            return rest()
        region = self.trace.run_region(lambda _: rest())
        goes_on = region.raised is None and not region.ended
        if goes_on and not region.after and are_cheap(region.block.operations):
            self.trace.builder.out += region.block.operations
            return self.both(test, region.result)
        return self.trace.branch(self.trace.value(test), rest, lambda: test)

    def both(self, a: Any, b: Any) -> Any:
        a, b = self.truth(a), self.truth(b)
        if isinstance(a, bool):
            return b if a else False
        if isinstance(b, bool):
            return a if b else False
        return self.trace.call(operator.and_, a, b)

    def either(self, a: Any, b: Any) -> Any:
        a, b = self.truth(a), self.truth(b)
        if isinstance(a, bool):
            return True if a else b
        if isinstance(b, bool):
            return True if b else a
        return self.trace.call(operator.or_, a, b)

    def compare(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        if type(a) is Choice or type(b) is Choice:
            return distributed_over(self.trace, [a, b], lambda found: self.compare(op, *found))
        if isinstance(op, (ast.Is, ast.IsNot)):
            for x, other in ((a, b), (b, a)):
                if type(x) is Part and other is not None:
                    raise LooksInto(x)
            same = identical(self.trace, a, b)
            return same if isinstance(op, ast.Is) else self.trace.call(operator.not_, same)
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self.contains(b, a)
            return found if isinstance(op, ast.In) else self.trace.call(operator.not_, found)
        return self.trace.call(COMPARE[type(op)], a, b)

    def contains(self, container: Any, x: Any) -> Any:
        return contained(self.trace, container, x)

    def note_key(self, container: dict[Any, Any], key: Any, held: Any) -> None:
        """Guard that an outside dict has, or does not have, a key."""
        if self.trace.outside.is_outside(container):
            if held is UNBOUND:
                self.trace.outside.miss(self.trace, container, key)
            else:
                self.trace.outside.find(self.trace, container, key)

    def alike(self, x: Any, y: Any) -> Any:
        return x is y or self.trace.call(bool, self.trace.call(operator.eq, x, y))

    def truth(self, x: Any) -> Any:
        """Return the truth of an object: a bool, or a traced bool."""
        if type(x) is Part:
            raise LooksInto(x)
        if type(x) is Choice:
            return distributed(self.trace, x, self.truth)
        if type(x) is Derived:
            method = special(x, "__bool__") or special(x, "__len__")
            return self.truth(x.plain if method is None else self.trace.call(method))
        if isinstance(x, Text):
            return text_methods.truth(self.trace, x)
        if isinstance(x, Scalar):
            return x if x.type.dtype.kind == "b" else self.trace.call(operator.ne, x, x.type.dtype.type(0).item())
        if isinstance(x, Array):
            if np.prod(x.type.bounds) != 1 or not x.type.is_static:
                raise ValueError(
                    "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
                )
            return self.truth(self.trace.call(operator.getitem, x, (0,) * x.type.ndim))
        rows = rows_of(x)
        if rows is not None:
            return self.truth(rows.length)
        if is_subclass_array(x) and is_inherited(type(x), "__bool__"):
            return self.truth(self.trace.arrays.plain(x))
        self.trace.outside.read_whole(x)
        if isinstance(x, (dict, set, frozenset)):
            self.trace.refuse_unknown_entries(x, order=False)
        kind = type(x)
        if kind.__module__ not in ("builtins", "numpy") and not isinstance(x, (list, dict, tuple)):
            for name in ("__bool__", "__len__"):
                method = getattr(kind, name, None)
                if hasattr(method, "__code__"):
                    return self.truth(self.trace.call(method, x))
        return bool(x)

    def eval_BoolOp(self, node: ast.BoolOp) -> Any:
        return self.bool_operator(isinstance(node.op, ast.And), node.values)

    def bool_operator(self, is_and: bool, values: list[ast.expr]) -> Any:
        x = self.expression(values[0])
        if len(values) == 1:
            return x
        test = self.truth(x)
        if isinstance(test, bool):
            return self.bool_operator(is_and, values[1:]) if test is is_and else x
        region = self.trace.run_region(lambda _: self.bool_operator(is_and, values[1:]))
        y = region.result
        if (
            not region.after
            and region.raised is None
            and not region.ended
            and isinstance(y, Scalar)
            and y.type.dtype.kind == "b"
            and x is test
            and are_cheap(region.block.operations)
        ):
            self.trace.builder.out += region.block.operations
            return self.trace.call(operator.and_ if is_and else operator.or_, test, y)
        rest = lambda: self.bool_operator(is_and, values[1:])  # noqa: E731
        return self.trace.branch(self.trace.value(test), rest if is_and else lambda: x, (lambda: x) if is_and else rest)

    def eval_IfExp(self, node: ast.IfExp) -> Any:
        test = self.truth(self.expression(node.test))
        if isinstance(test, bool):
            return self.expression(node.body if test else node.orelse)
        sides: list[Any] = []

        def side(x: ast.expr) -> Any:
            sides.append(self.expression(x))
            return sides[-1]

        found = self.trace.branch(self.trace.value(test), lambda: side(node.body), lambda: side(node.orelse))
        if isinstance(found, Conflict):
            if len(sides) == 2 and all(isinstance(x, str) and not is_known(x) for x in sides):
                return Text.chosen(test, [sides[1], sides[0]])
            raise BadInput(found.text)
        return found

    # Containers

    def elements(self, nodes: list[ast.expr]) -> list[Any]:
        found = []
        for n in nodes:
            if isinstance(n, ast.Starred):
                found += list(self.trace.iterate(self.expression(n.value)))
            else:
                found.append(self.expression(n))
        return found

    def eval_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.elements(node.elts))

    def eval_List(self, node: ast.List) -> Any:
        return self.trace.new(self.elements(node.elts))

    def eval_Set(self, node: ast.Set) -> Any:
        return self.trace.new({self.key(x, True) for x in self.elements(node.elts)})

    def eval_Dict(self, node: ast.Dict) -> Any:
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                other = self.expression(value)
                if not hasattr(other, "keys"):
                    raise TypeError(f"'{kind_of(other)}' object is not a mapping")
                self.trace.refuse_unknown_entries(other)
                made.update(opened(self.trace, other))
            else:
                k = self.key(self.expression(key))
                made[k] = self.expression(value)
        return self.trace.new(made)

    def eval_Subscript(self, node: ast.Subscript) -> Any:
        return self.trace.call(operator.getitem, self.expression(node.value), self.expression(node.slice))

    def eval_Slice(self, node: ast.Slice) -> Any:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if p is None else self.expression(p) for p in parts))

    def eval_Attribute(self, node: ast.Attribute) -> Any:
        name = node.attr
        return self.trace.attribute(self.expression(node.value), name)

    def eval_JoinedStr(self, node: ast.JoinedStr) -> Any:
        return distributed_over(self.trace, [self.expression(v) for v in node.values], Text.joined)

    def eval_FormattedValue(self, node: ast.FormattedValue) -> Any:
        x = self.expression(node.value)
        style = self.expression(node.format_spec) if node.format_spec is not None else ""
        conversion = chr(node.conversion) if node.conversion > 0 else ""
        return distributed(self.trace, x, lambda o: formatted(self.trace, o, style, conversion))

    # Comprehensions

    def eval_ListComp(self, node: ast.ListComp) -> Any:
        return self.listed(node, self.expression(node.generators[0].iter))

    def listed(self, node: ast.ListComp | ast.GeneratorExp, items: Any) -> Any:
        """Return the list of a comprehension over ``items``."""

        def unrolled() -> Any:
            found: list[Any] = []
            self.comprehend(node, items, lambda: found.append(self.expression(node.elt)), limited)
            return self.trace.new(found)

        start = len(self.trace.builder.out)
        try:
            if not self.trace.may_grow:
                found = unrolled()
            else:
                region = self.trace.run_region(lambda _: unrolled())
                self.trace.commit(region)
                found = region.result
        except (NeedsConcrete, TooManyOperations):
            # a length, or whether an item belongs to the list, is not known
            if not self.trace.allows("may_grow"):
                raise
            found = grown(self.trace, node, items)
        warn_long(self.trace, len(self.trace.builder.out) - start)
        return found

    def eval_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        scope = Scope(local_names(node), self.trace.scope, None, self.trace.scope.name)
        self.trace.new(scope.vars)
        return self.trace.new(
            Generator(self.trace, node, scope, self.trace.scope, self.expression(node.generators[0].iter))
        )

    def within(self, scope: Scope, run: Callable[[], Any]) -> Any:
        self.trace.scopes.append(scope)
        try:
            return run()
        finally:
            self.trace.scopes.pop()

    def eval_SetComp(self, node: ast.SetComp) -> Any:
        found: set[Any] = set()
        items = self.expression(node.generators[0].iter)
        self.comprehend(node, items, lambda: found.add(self.key(self.expression(node.elt), True)))
        return self.trace.new(found)

    def eval_DictComp(self, node: ast.DictComp) -> Any:
        found: dict[Any, Any] = {}

        def add() -> None:
            key = self.key(self.expression(node.key))
            found[key] = self.expression(node.value)

        self.comprehend(node, self.expression(node.generators[0].iter), add)
        return self.trace.new(found)

    def key(self, x: Any, is_element: bool = False) -> Any:
        """Return a key of a dict or an element of a set, which may be a number that is not known while compiling."""
        if isinstance(x, Traced) and not is_element:
            raise NeedsConcrete(self.trace.value(x), "a key of a dict")
        use_as_key(self.trace, x)
        return x

    def comprehend(self, node: Any, first: Any, add: Callable[[], None], each: Any = None) -> None:
        """Unroll the iterations of a comprehension; ``each(trace, x)`` gives the items of ``x``."""
        scope = Scope(local_names(node), self.trace.scope, None, self.trace.scope.name)
        scope.is_comprehension = True
        self.trace.new(scope.vars)
        self.trace.scopes.append(scope)
        try:
            self.generate(node.generators, 0, first, add, each or (lambda trace, x: trace.iterate(x)))
        finally:
            self.trace.scopes.pop()

    def generate(
        self, generators: list[ast.comprehension], depth: int, iterable: Any, add: Callable[[], None], each: Any
    ) -> None:
        if depth == len(generators):
            add()
            return
        here = generators[depth]
        for x in each(self.trace, iterable if depth == 0 else self.expression(here.iter)):
            self.trace.statements.assign(here.target, x)
            tests = [self.truth(self.expression(test)) for test in here.ifs]
            traced = next((t for t in tests if not isinstance(t, bool)), None)
            if traced is not None:
                raise NeedsConcrete(
                    self.trace.value(traced), "the condition of a comprehension; use np.where or a mask"
                )
            if all(tests):
                self.generate(generators, depth + 1, None, add, each)
