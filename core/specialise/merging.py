"""Merging two branches: the results of an ``if`` operation, and Python objects that contain them."""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

from ..errors import ENGINE
from ..faults import kind_of
from ..ir.builder import text_of_shape
from ..ir.derived import Derived, class_of, derived_of, is_known
from ..ir.dynamic import Block, Operation, Value
from ..ir.traced_text import Text
from ..ir.typed import STACK, Dim
from ..values.attributes import has_dict
from ..values.holders import blank
from ..values.items import are_in_one_order, count_of, items_of
from .choices import can_choose, is_complex, is_number, narrowed, options_of, places, renumbered, which_of
from .forms import NUMBERS, containers, numbers_in, of_entries, of_items, same_constant, same_text
from .growing_lists import form_of, is_plain, made_of, tie
from .identity import choose
from .instances import held_by_instance, hold, is_instance
from .joined_types import convert, join, known_outside, leading, length_of, padded
from .rows import Rows, has_rows, rows_of
from .scopes import UNBOUND, Choice, Conflict, Late, Unread
from .state import After, content, value_after
from .traced import Array, ArrayOfObjects, Scalar, Storage, Traced


class Merger:
    """Makes one object of the two that a place holds after two branches."""

    def __init__(
        self, trace: Any, condition: Value, blocks: list[Block], afters: list[After], regions: list[Any]
    ) -> None:
        self.trace = trace
        self.condition = condition
        self.blocks = blocks
        self.afters = afters
        self.regions = regions
        self.results: list[Value] = []
        self.afterwards: list[Operation] = []  # read the results
        self.known: dict[tuple[int, int], Any] = {}
        self.memory: dict[tuple[int, int], Storage] = {}  # by side and storage: the merged storage
        self.places: dict[
            tuple[int, int], Any
        ] = {}  # by side and new storage: how it is merged first (see ``aliases``)
        self.objects: dict[tuple[int, int], Any] = {}  # by side and container or object: the merged one
        self.blanks: dict[tuple[int, int], Any] = {}  # the placeholder for it on the other side
        self.kept: list[Any] = []  # keeps alive the objects that the tables know by id

    def finish(self) -> None:
        """Append the ``if`` operation; to be called once, after all merging and before the merged values are used."""
        builder = self.trace.builder
        has_effect = any(op.may_raise or op.blocks for block in self.blocks for op in block.operations)
        if self.results or has_effect:
            made = Operation("if", None, [self.condition], blocks=self.blocks, results=self.results, line=builder.line)
            builder.append(made)
        builder.out += self.afterwards

    def leaf(self, a: Value, b: Value, name: str = "") -> Value | None:
        if a.type is STACK or b.type is STACK:
            return None
        kind = join(a.type, b.type)
        if kind is None:
            return None
        for x, block in zip((a, b), self.blocks):
            with self.trace.builder.writing(block.operations):
                block.results.append(convert(self.trace.builder, x, kind))
        self.results.append(Value(name, kind))
        return self.results[-1]

    def merge(self, a: Any, b: Any, name: str = "") -> Any:
        """Return the merged object: ``a`` if the condition holds, else ``b``."""
        is_constant = a is True and b is False
        a = True if isinstance(a, Scalar) and a.ir is self.condition else a
        b = False if isinstance(b, Scalar) and b.ir is self.condition else b
        if same_constant(a, b) and (a is b or not isinstance(a, tuple) or not count_of(a)):
            return a
        if a is True and b is False and self.condition.type.dtype.kind == "b":
            return Scalar(self.trace.builder.python_bool(self.condition) if is_constant else self.condition)
        if a is False and b is True:  # a test of the negation tells what the condition does
            with self.trace.builder.writing(self.afterwards):
                return self.trace.call(operator.not_, Scalar(self.condition))
        a, b = (self.chosen_on(x, side) for side, x in enumerate((a, b)))
        key = id(a), id(b)
        if key not in self.known:
            self.kept += [a, b]
            self.known[key] = self._merge(a, b, name)
        return self.known[key]

    def _merge(self, a: Any, b: Any, name: str) -> Any:
        if isinstance(a, Unread) and isinstance(b, Unread):
            return a
        for x in (a, b):
            if isinstance(x, Conflict) and not isinstance(x, Unread):
                return x
        if isinstance(a, Unread) or isinstance(b, Unread):
            return self.late(
                *(UNBOUND if isinstance(x, Unread) else x for x in (a, b)),
                name,
                a if isinstance(a, Unread) else b,
            )
        if isinstance(a, Late) or isinstance(b, Late) or a is UNBOUND or b is UNBOUND:
            return self.late(a, b, name)
        if type(a) is Choice or type(b) is Choice:
            return self.choice(a, b, name)
        if any(type(x) is Derived or is_known(x) for x in (a, b)):
            return self.derived(a, b, name)
        are_numbers = is_number(a) and is_number(b)
        if are_numbers and is_complex(a) is not is_complex(b) and self.trace.allows("may_choose"):
            if not all(isinstance(x, NUMBERS) or x.type.is_static for x in (a, b)):
                return self.conflict(a, b, name)
            which = self.trace.tests_of_choices.get(self.condition)
            return Choice(self.merge(0, 1) if which is None else which, [self.one_side(a, 0), self.one_side(b, 1)])
        if isinstance(a, (Scalar, *NUMBERS)) and isinstance(b, (Scalar, *NUMBERS)):
            found = self.leaf(self.number(a, 0), self.number(b, 1), name)
            return Scalar(found) if found is not None else self.conflict(a, b, name)
        if isinstance(a, Array) and isinstance(b, Array):
            return self.arrays(a, b, name)
        if isinstance(a, Text) and isinstance(b, (Text, str)) or isinstance(a, str) and isinstance(b, Text):
            return self.texts(a, b, name)
        if any(isinstance(x, Array) and not x.type.shape for x in (a, b)):
            return self.numbers_of_arrays(a, b, name)
        if type(a) is type(b):
            if isinstance(a, tuple) and self.are_rows(a, b):
                rows = self.rows(a, b, name)
                return self.conflict(a, b, name) if rows is None else of_items(a, [rows])
            if isinstance(a, tuple) and count_of(a) == count_of(b):
                if has_dict(a) and vars(a).keys() != vars(b).keys():
                    return self.conflict(a, b, name)
                made = of_items(a, [self.merge(x, y, name) for x, y in zip(items_of(a), items_of(b))])
                if has_dict(a):
                    vars(made).update({k: self.merge(x, vars(b)[k], k) for k, x in vars(a).items()})
                choose(self, made, a, b)
                return made
            x, y = self.held(a, 0), self.held(b, 1)
            if isinstance(a, (list, deque)) and self.are_rows(x, y):
                rows = self.rows(x, y, name)
                return self.conflict(a, b, name) if rows is None else self.tied(of_items(a, [rows]), a, b, name)
            if isinstance(a, (list, deque)) and len(x) == len(y):
                return self.tied(of_items(a, [self.merge(p, q, name) for p, q in zip(x, y)]), a, b, name)
            if isinstance(a, dict) and x.keys() == y.keys():
                made = of_entries(a, {k: self.merge(x[k], y[k], name) for k in x})
                if not are_in_one_order(x, y) or any(id(e) in self.trace.disordered for e in (a, b)):
                    self.trace.uneven()
                    self.trace.disordered[id(made)] = made
                return self.tied(made, a, b, name)
            if is_instance(a) and not isinstance(a, (list, dict, set, deque)) and x.keys() == y.keys():
                made = blank(type(a))
                hold(made, {k: self.merge(x[k], y[k], k) for k in x})
                if not are_in_one_order(x, y) or any(id(e) in self.trace.disordered for e in (a, b)):
                    self.trace.uneven()
                    self.trace.disordered[id(made)] = made
                return self.tied(made, a, b, name)
        return self.conflict(a, b, name)

    def are_rows(self, a: Any, b: Any) -> bool:
        """Whether the contents of two lists or tuples can be merged only into a list of traced length."""
        return count_of(a) != count_of(b) or has_rows(a) or has_rows(b)

    def rows(self, a: Any, b: Any, name: str) -> Rows | None:
        """Merge the contents of two lists or tuples of different lengths; None if their items have no common form."""
        sides = (list(a), list(b))
        known = next((x[0] for x in sides if has_rows(x) and isinstance(x[0].length, Conflict)), None)
        if known is not None:
            return known
        if not all(is_plain(x) for side in sides for x in side) or not self.trace.allows("may_grow"):
            return None
        if any(self.is_changed(x, side) for side in (0, 1) for x in sides[side]):
            return None
        form = self.within(0, lambda: form_of(self.trace, sides))
        if form is None:
            return None
        fixed = any(rows.is_fixed for rows in map(rows_of, sides) if rows is not None)
        made = [
            self.within(
                side,
                lambda side=side: made_of(self.trace, sides[side], form, fixed, lambda x: self.number_of(x, side)),
            )
            for side in (0, 1)
        ]
        for x in (*a, *b):
            tie(self.trace, x)
        found = self.merge(*(rows.length for rows in made), name)
        columns = [self.leaf(p.ir, q.ir, name) for p, q in zip(*(rows.columns for rows in made))]
        if isinstance(found, Scalar):
            self.trace.builder.integers.atom(found.ir, (), (), (0, form.capacity))
        return made[0].of(found, [Scalar(c) for c in columns])  # type: ignore[arg-type]

    def is_changed(self, x: Any, side: int) -> bool:
        """Whether a branch has changed an older container or object in an item, whose content is then not at hand."""
        return any(id(c) in self.afters[side] for c in containers(x, []))

    def number_of(self, x: Any, side: int) -> Value:
        return value_after(x, self.afters[side]) if isinstance(x, Array) else self.trace.value(x)

    def held(self, x: Any, side: int) -> Any:
        """Return a container's or object's content after a branch: a list, or a dict of its entries or attributes."""
        if id(x) in self.afters[side]:
            return self.afters[side][id(x)][1]
        if isinstance(x, (list, dict, set, deque)):
            return content(x)
        return held_by_instance(x) if is_instance(x) else x

    def within(self, side: int, run: Any) -> Any:
        """Run something that records at the end of a branch."""
        with self.trace.builder.writing(self.blocks[side].operations):
            return run()

    def tied(self, made: Any, a: Any, b: Any, name: str) -> Any:
        """Tie a container or object that may be either of two; one that is older than the branches has other names."""
        choose(self, made, a, b)
        older = [x for x, region in zip((a, b), self.regions) if self.trace.made_in(x) is not region]
        for side, x in enumerate((a, b)):
            other = self.objects.setdefault((side, id(x)), made)
            older += [other] if other is not made else []  # on this path, the two are the same object
        if older:
            self.trace.uneven()
        text = (
            f"{name or 'an object'} may be one of two objects, depending on a condition that is not known while compiling, so none of "
            "them can be changed; copy it first"
        )
        known = [self.trace.tied[id(x)][1] for x in (a, b) if id(x) in self.trace.tied]
        for x in (made, *older) if older else (made,) if known else ():
            self.trace.tied[id(x)] = x, text if older else known[0]
        return self.trace.new(made)

    def number(self, x: Any, side: int) -> Value:
        with self.trace.builder.writing(self.blocks[side].operations):
            return self.trace.value(x)

    def texts(self, a: Any, b: Any, name: str) -> Any:
        """Merge two texts: their numbers if they differ in nothing else, else what follows the parts that they share."""
        if isinstance(a, Text) and isinstance(b, Text) and same_text(a, b):
            made = self.text(a, a, b)
            return self.conflict(a, b, name) if made is None else made
        first, second = (x.parts() if isinstance(x, Text) else [x] for x in (a, b))
        pairs = enumerate(zip(first, second))
        shared = next((i for i, (x, y) in pairs if not self.is_one_text(x, y)), min(len(first), len(second)))
        rest = [Text.joined(["", *parts[shared:]]) for parts in (first, second)]
        sides = [self.zeros(rest[1], 1, 0), self.zeros(rest[0], 0, 1)]
        found = [
            x if isinstance(x, str) else self.text(x, *pair)
            for x, pair in zip(rest, ((rest[0], sides[1]), (sides[0], rest[1])))
        ]
        if any(x is None for x in found):
            return self.conflict(a, b, name)
        return Text.joined([*first[:shared], Text.chosen(self.merge(0, 1), found)])

    def text(self, form: Text, a: Text, b: Text) -> Text | None:
        """Merge the numbers of two texts that differ in nothing else."""
        found = [self.leaf(self.number(x, 0), self.number(y, 1)) for x, y in zip(a.values, b.values)]
        return None if None in found else Text(form.template, [Scalar(x) for x in found if x is not None])

    def is_one_text(self, a: Any, b: Any) -> bool:
        """Whether parts of two texts are the same: made of the same values of before the branches."""
        if isinstance(a, str) or isinstance(b, str) or repr(a.template) != repr(b.template):
            return False
        return all(self.trace.value(x) is self.trace.value(y) for x, y in zip(a.values, b.values))

    def derived(self, a: Any, b: Any, name: str) -> Any:
        """Merge two objects of one class derived from a number or text, of which one may be known."""
        known = [x for x in (a, b) if is_known(x) and not self.trace.outside.is_outside(x)]
        kinds = {class_of(x) if type(x) is Derived or is_known(x) else None for x in (a, b)}
        is_told = not any(numbers_in(derived_of(x).held) for x in known)
        if (
            len(kinds) > 1
            or len(known) == 2
            and isinstance(a, str)
            and is_told
            or any(is_known(x) and not any(x is e for e in known) for x in (a, b))
        ):
            return self.conflict(a, b, name)
        self.trace.derived.exist = True
        a, b = (self.trace.derived.known(x) if is_known(x) else x for x in (a, b))
        found = self.merge(a.plain, b.plain, name)
        return found if isinstance(found, Conflict) else Derived(a.cls, found, self.merge(a.held, b.held, name))

    def numbers_of_arrays(self, a: Any, b: Any, name: str) -> Any:
        """Merge a number and a 0-dimensional array into a number."""
        if not all(isinstance(x, (Scalar, Array, *NUMBERS)) for x in (a, b)):
            return self.conflict(a, b, name)
        found = self.leaf(
            *(self.read(x, i) if isinstance(x, Array) else self.number(x, i) for i, x in enumerate((a, b))), name
        )
        return self.conflict(a, b, name) if found is None else Scalar(found)

    def arrays(self, a: Array, b: Array, name: str) -> Any:
        if a.is_fixed or b.is_fixed:
            return self.conflict(a, b, name)
        if a.storage is b.storage and a.view is b.view:
            return self.chosen(Array(a.storage, a.view, a.type), a, b)
        values = self.read(a, 0), self.read(b, 1)
        found = self.leaf(*values, name)
        if found is None:
            found = self.of_bounded_lengths(*values, name)
        if found is None:
            return self.conflict(a, b, name)
        made = self.chosen(Array(Storage(found)), a, b)
        older = [x.storage for x, region in zip((a, b), self.regions) if self.trace.made_in(x.storage) is not region]
        for side, x in enumerate((a, b)):
            other = self.memory.setdefault((side, id(x.storage)), made.storage)
            older += [other] if other is not made.storage else []
        if older:
            self.trace.uneven()
        aliases = self.trace.aliases
        is_shared = bool(older) or any(aliases.is_one_of_several(x.storage) for x in (a, b))
        if not is_shared:
            for side, x in enumerate((a, b)):
                self.places[side, id(x.storage)] = made.storage, x.view, True
        elif not aliases.link(self, made, a, b):
            text = (
                f"{name or 'an array'} may be one of two arrays, depending on a condition that is not known while compiling, so none "
                "of them can be written to; copy it first"
            )
            for storage in (made.storage, *older):
                storage.tied = text
        made.storage.tied = made.storage.tied or next(filter(None, (aliases.text(x.storage) for x in (a, b))), "")
        return made

    def of_bounded_lengths(self, a: Value, b: Value, name: str) -> Value | None:
        """Merge arrays of different lengths into one whose lengths are known only at run time; None if their ranks differ."""
        if a.type.ndim != b.type.ndim or not a.type.ndim or not self.trace.allows("may_grow"):
            return None
        builder = self.trace.builder
        bounds = tuple(map(max, a.type.bounds, b.type.bounds))
        whole = self.leaf(*(self.within(i, lambda x=x: padded(builder, x, bounds)) for i, x in enumerate((a, b))), name)
        if whole is None:
            return None
        shape: list[int | Dim] = []
        for n, m, bound in zip(a.type.shape, b.type.shape, bounds):
            if n == m and isinstance(n, int):
                shape.append(n)
                continue
            length = self.leaf(*(self.within(i, lambda x=x: length_of(builder, x)) for i, x in enumerate((n, m))))
            assert length is not None
            builder.integers.atom(length, (), (), (0, bound))
            shape.append(Dim(length, bound))
        with builder.writing(self.afterwards):
            return leading(builder, whole, tuple(shape))

    def chosen(self, made: Array, a: Array, b: Array) -> Array:
        """Note which two arrays a merged array may be."""
        choose(self, made, a, b)
        numbers = self.trace.numbers
        numbers.may_be(made, [a, b])
        if numbers.is_kept:
            numbers.set(made, self.merge(numbers.of(a), numbers.of(b)))
        return made

    def read(self, x: Array, side: int) -> Value:
        """Return the elements of an array as a branch left them."""
        with self.trace.builder.writing(self.blocks[side].operations):
            return value_after(x, self.afters[side])

    def late(self, a: Any, b: Any, name: str, unread: Any = None) -> Any:
        if a is b:
            return a
        known = [unread, *(x.unread for x in (a, b) if isinstance(x, Late))]
        unread = next((x for x in known if x is not None), None)
        absent = [True if x is UNBOUND else x.absent if isinstance(x, Late) else False for x in (a, b)]
        held = [UNBOUND if x is UNBOUND else x.x if isinstance(x, Late) else x for x in (a, b)]
        if any(x is UNBOUND for x in held):
            side = 0 if held[0] is UNBOUND else 1
            held[side] = self.zeros(held[1 - side], 1 - side, side)
        is_absent = self.merge(*absent)
        found = self.merge(*held, name)
        before = next((x.before for x in (a, b) if isinstance(x, Late) and x.before), "")
        return found if is_absent is False or isinstance(found, Conflict) else Late(found, is_absent, unread, before)

    def one_side(self, x: Any, side: int) -> Any:
        """Merge ``x`` of one side with zeros: the other side's value is never used."""
        other = self.zeros(x, side, 1 - side)
        return self.merge(*((x, other) if side == 0 else (other, x)))

    def zeros(self, x: Any, side: int, to: int) -> Any:
        """Return zeros of the form of x for the branch that has no such object: one object for each x."""
        if isinstance(x, Traced) or (side, id(x)) not in self.blanks:
            self.blanks[side, id(x)] = self.new_zeros(x, side, to)
            self.kept.append(x)
        return self.blanks[side, id(x)]

    def zeros_of(self, kind: Any, side: int, to: int) -> Value:
        with self.trace.builder.writing(self.blocks[to].operations):
            return self.trace.builder.zeros(known_outside(self.blocks[side], kind.shape), kind.dtype)

    def new_zeros(self, x: Any, side: int, to: int) -> Any:
        trace = self.trace
        if type(x) is Choice:
            return Choice(0, [self.zeros(o, side, to) for o in x.options])
        if isinstance(x, Late):  # an attribute that is absent where the object is
            return UNBOUND
        if isinstance(x, Scalar):
            return x.type.dtype.type(0) if not x.type.weak else x.type.dtype.type(0).item()
        if isinstance(x, Array):
            array = Array(Storage(self.zeros_of(x.type, side, to)))
            trace.note_made(array.storage, self.regions[to])
            return array
        if type(x) is Rows:
            return x.of(0, [Scalar(self.zeros_of(c.type, side, to)) for c in x.columns])
        if type(x) is Text:
            with trace.builder.writing(self.blocks[to].operations):
                return Text(x.template, [self.zero(trace.value(e).type) for e in x.values])
        if is_known(x):
            return x
        if type(x) is Derived:
            return Derived(x.cls, self.zeros(x.plain, side, to), self.zeros(x.held, side, to))
        held = self.held(x, side)
        if isinstance(x, (list, tuple)):
            parts = [self.zeros(e, side, to) for e in held]
            made = of_items(x, parts)
        elif type(x) is deque:
            made = of_items(x, [self.zeros(e, side, to) for e in held])
        elif type(x) is dict:
            made = {k: self.zeros(e, side, to) for k, e in held.items()}
        elif (
            is_instance(x)
            and not isinstance(x, (set, BaseException))
            and (isinstance(x, ArrayOfObjects) or not type(x).__module__.startswith(ENGINE))
            and self.trace.made_in(x) is self.regions[side]
        ):
            made = blank(type(x))
            self.trace.note_made(made, self.regions[to])
            hold(made, {k: self.zeros(e, side, to) for k, e in held.items()})
        else:
            return x
        self.trace.note_made(made, self.regions[to])
        return made

    def zero(self, kind: Any) -> Scalar:
        """Return the zero, or the array of zeros, in a text."""
        builder = self.trace.builder
        return Scalar(builder.zeros(kind.shape, kind.dtype) if kind.shape else builder.constant(kind.number(0)))

    def chosen_on(self, x: Any, side: int) -> Any:
        """Return the one option that a choice can be on a side, if the condition tells it."""
        if type(x) is not Choice:
            return x
        with self.trace.builder.integers.assuming(self.condition, side == 0):
            return narrowed(self.trace, x)

    def choice(self, a: Any, b: Any, name: str) -> Any:
        """Merge values of different kinds into a choice."""
        options = list(options_of(a))
        table = places(options, options_of(b))
        of_a, of_b = dict(enumerate(options_of(a))), dict(zip(table, options_of(b)))
        merged = []
        for i in range(len(options)):
            if i in of_a and i in of_b:
                merged.append(self.merge(of_a[i], of_b[i], name))
            else:
                merged.append(self.one_side(of_a[i], 0) if i in of_a else self.one_side(of_b[i], 1))
        which = self.merge(which_of(a), self.within(1, lambda: renumbered(self.trace, which_of(b), table)), name)
        return Choice(which, merged) if len(merged) > 1 else merged[0]

    def conflict(self, a: Any, b: Any, name: str) -> Any:
        self.trace.uneven()
        if can_choose(a, b) and self.trace.allows("may_choose"):
            return self.choice(a, b, name)
        return Conflict(difference(a, b, name))


def difference(a: Any, b: Any, name: str) -> str:
    """Say that a place holds values of two forms on two paths, and what to do."""
    return f"{name or 'a value'} is {describe(a)} on one path and {describe(b)} on another{remedy(a, b, 'on both')}"


def remedy(a: Any, b: Any, where: str) -> str:
    """Return the advice for a value that has two forms where compiled code needs one."""
    if isinstance(a, Array) and isinstance(b, Array):
        return f"; give it the same shape {where}: allocate the greatest length, and count the entries in use"
    if isinstance(a, (list, tuple, dict, deque)) and type(a) is type(b):
        return f"; give it the same length {where}: make an array of the final length first, and write into it"
    return f"; give it a value of the same kind {where}"


def describe(x: Any) -> str:
    """Describe a value in a few words, for messages."""
    if isinstance(x, Scalar):
        return f"a number ({x.type})"
    if isinstance(x, Array):
        return f"an array of shape {text_of_shape(x.type.shape)} ({x.type.dtype})"
    if x is UNBOUND:
        return "not assigned"
    if x is None or isinstance(x, (str, *NUMBERS)):
        return repr(x)
    if type(x) is Derived:
        return f"a {x.cls.__name__} that is not known while compiling"
    if rows_of(x) is not None:
        return f"a {type(x).__name__} of a length known only at run time"
    if isinstance(x, (list, tuple, dict, deque)):
        return f"a {type(x).__name__} of length {count_of(x)}"
    if hasattr(type(x), "__next__"):
        return "an iterator"
    if hasattr(type(x), "__morula_trace__"):
        return f"the function {x.__name__}" if hasattr(x, "__name__") else "a function"
    return f"a {kind_of(x)}"
