"""A program's results: the Python objects around its numbers and arrays, and the changes of its arguments."""

from __future__ import annotations

import functools
import gc
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import BadInput
from ..faults import kind_of
from ..ir.derived import Derived, derived_of, is_known, real
from ..ir.dynamic import Value
from ..ir.traced_text import Text, filled
from ..values.array_classes import ARRAY, as_class, is_array_class, put
from ..values.attributes import attributes, has_dict, set_entry
from ..values.holders import blank, layout_of_class
from ..values.items import are_in_one_order, entries_of, is_same_key, items_of
from ..values.layout import STATIC, held_by
from ..values.numbers import PASSIVE
from .after_run import AfterRun, make
from .forms import containers, of_entries
from .identity import candidates
from .instances import held_by_instance, is_instance
from .items_after_run import maker
from .iterators import Iterator as Unfinished
from .object_arrays import Entries, ObjectArray
from .python_functions import python_function
from .range_in_python import Range
from .result_arrays import ResultArrays
from .rows import Rows, rows_of
from .scopes import UNBOUND, Choice, Closure, Conflict, Late
from .traced import Array, Trace, Traced
from .updates import Itself, Plan, Shared, assignment, refilled, update_of


class Results:
    """Collects the ``values`` that a program returns, and plans how Python objects are built from them."""

    def __init__(self, trace: Any, parameters: Sequence[Value], made: dict[int, Any]) -> None:
        self.trace = trace
        self.values: list[Value] = []
        self.place = {p: i for i, p in enumerate(parameters)}
        self.arrays = ResultArrays(trace, self.give)
        self.given = {id(x): number for number, x in made.items()}
        self.made = made
        self.before = {number: (dict(_parts(x)), _attributes_beside_items(x)) for number, x in made.items()}
        self.knows_objects = False
        self.is_irregular = False  # whether it contains a list of traced length, or contains itself
        self.gives_numbers = False  # whether the result contains a number of the arguments
        self.outside: dict[int, Any] = {}  # the outside holders that the program changes
        self.constants: set[int] = set()  # the objects that are results as they are
        self.changes: list[tuple[Any, Any, Any]] = []  # each with its contents before and after
        self.shared: dict[int, Shared] = {}  # lists, dicts and objects in two places of the result

    def plan(self, x: Any) -> Plan:
        """Return how ``x`` is made after a call."""
        if type(x) is Choice:
            return self.plan_of_choice(x)
        if isinstance(x, (Conflict, Late)) or x is UNBOUND:
            self.trace.value(x)
        if isinstance(x, Traced):
            return self.leaf(x)
        if id(x) in self.outside:
            self.constants.add(id(x))
            return lambda results, leaves, objects: x
        if id(x) in self.trace.outside.own:
            own = self.trace.outside.own[id(x)]
            return lambda results, leaves, objects: own
        if id(x) in self.given:
            number = self.given[id(x)]
            self.knows_objects = True
            return lambda results, leaves, objects: objects[number]
        if type(x) is AfterRun:
            self.shared.setdefault(id(x), Shared())
        shared = self.shared.get(id(x))
        if shared is None:
            return self.plan_of_holder(x)
        if shared.is_planning:
            shared.like, self.is_irregular = x, True
        elif shared.plan is None:
            shared.is_planning = True
            shared.plan = self.plan_of_holder(x)
            shared.is_planning = False
        return shared

    def plan_of_result(self, y: Any) -> Plan:
        """Return how the result is made; an object in two places of it is made once."""
        trace: Any = self.trace
        seen: dict[int, Any] = {}
        waiting = [y, *(after for _, _, after in self.changes), *(x for _, x in trace.outside.variables.changed())]
        while waiting:
            x = waiting.pop()
            if isinstance(x, Traced) or id(x) in self.outside:
                continue
            if type(x) is Choice:
                x = x.options
            elif type(x) is Derived:
                x = tuple(x.held.values())
            if isinstance(x, (list, dict)) or is_instance(x):
                if id(x) in seen:
                    self.shared.setdefault(id(x), Shared())
                    continue
                seen[id(x)] = x
            elif not isinstance(x, tuple):
                continue
            waiting += _parts(x).values()
            if isinstance(x, (list, tuple, dict)):
                waiting += (e for _, e in attributes(x))
            waiting += filter(_is_object, items_of(x)) if isinstance(x, dict) else ()
        self.refuse_names_on_a_path(seen)
        return self.plan(y)

    def refuse_names_on_a_path(self, returned: dict[int, Any]) -> None:
        """Refuse a result in which two objects are the same, or an argument, on one path only."""
        trace: Any = self.trace
        places: dict[int, int] = {}  # by candidate: the first object that may be it
        for x in {**trace.given_objects, **returned}.values() if trace.candidates else ():
            for key in candidates(trace, x) or ():
                if places.setdefault(key, id(x)) != id(x):
                    raise BadInput(
                        f"compiled code returns a {kind_of(x)} that is the same object as an argument, or as another part of the "
                        "result, on one path only; return a copy of it (copy.copy)"
                    )

    def plan_of_holder(self, x: Any) -> Plan:
        if type(x) is AfterRun:
            return lambda results, leaves, objects: make(x)
        if isinstance(x, (Entries, ObjectArray)):
            return self.plan_of_objects(x)
        if rows_of(x) is not None:
            kind, items = type(x), self.plan_of_rows(x[0])
            return lambda results, leaves, objects: kind(items(results, leaves, objects))
        if isinstance(x, (list, tuple)) and type(x) not in (list, tuple):
            return self.plan_of_sequence(x)
        if isinstance(x, (list, tuple)):
            parts = [self.plan(e) for e in items_of(x)]
            kind: Any = type(x)
            return lambda results, leaves, objects: kind([p(results, leaves, objects) for p in parts])
        if isinstance(x, dict):
            self.trace.refuse_unknown_entries(x)  # type: ignore[attr-defined]
        if type(x) is dict:
            entries = {k: self.plan(e) for k, e in entries_of(x)}
            keys = self.plans_of_keys(entries)
            if keys is None:
                return lambda results, leaves, objects: {k: p(results, leaves, objects) for k, p in entries.items()}
            both = list(zip(keys, entries.values()))
            return lambda results, leaves, objects: {
                k(results, leaves, objects): p(results, leaves, objects) for k, p in both
            }
        if isinstance(x, dict):
            return self.plan_of_dict(x)
        if isinstance(x, deque):
            parts, longest = [self.plan(e) for e in items_of(x)], x.maxlen
            return lambda results, leaves, objects: deque((p(results, leaves, objects) for p in parts), longest)
        if isinstance(x, (set, frozenset)):
            parts = [self.plan(e) for e in items_of(x)]
            collection = type(x)
            return lambda results, leaves, objects: collection([p(results, leaves, objects) for p in parts])
        if isinstance(x, (slice, Range)):
            bounds = [self.plan(e) for e in (x.start, x.stop, x.step)]
            of_bounds: Any = slice if isinstance(x, slice) else range
            return lambda results, leaves, objects: of_bounds(*(p(results, leaves, objects) for p in bounds))
        if isinstance(x, BaseException) and _holds_traced(x.args, set()):
            raise BadInput("compiled code returns an exception that holds numbers; return the numbers themselves")
        if isinstance(x, Text):
            return self.plan_of_text(x)
        if is_known(x) and _holds_traced(held_by_instance(x), set()):
            x = derived_of(x)
        if type(x) is Derived:
            cls, number, held = x.cls, self.plan(x.plain), self.plan(x.held)
            return lambda results, leaves, objects: real(
                cls, number(results, leaves, objects), held(results, leaves, objects)
            )
        if isinstance(x, Closure):
            x = python_function(x)
        is_made = id(x) in self.trace.made and layout_of_class(type(x)) is object  # type: ignore[attr-defined]
        if is_instance(x) and (is_made or _holds_traced(x, set())):
            return self.instance(x)
        if isinstance(x, Unfinished):
            raise BadInput("compiled code returns an iterator; return a list of its items")
        if isinstance(x, (Iterator, MethodType, BuiltinFunctionType, functools.partial)) and _holds_traced(
            getattr(x, "__self__", x), set()
        ):
            raise BadInput(
                f"compiled code returns a {kind_of(x)}, which holds numbers or functions of the program; return these themselves"
            )
        if type(x) not in STATIC and _refers_to_traced(x, 3):
            raise BadInput(
                f"compiled code returns a {kind_of(x)}, which holds numbers or functions of the program; return these themselves"
            )
        self.constants.add(id(x))
        return lambda results, leaves, objects: x

    def plan_of_objects(self, x: Entries | ObjectArray) -> Plan:
        """Return how an array of objects, or the memory of such arrays, is made."""
        if isinstance(x, Entries):
            parts = [self.plan(e) for e in items_of(x)]

            def fill(results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> Any:
                made = np.empty(len(parts), object)
                for i, part in enumerate(parts):
                    made[i] = part(results, leaves, objects)
                return made

            return fill
        memory, offset, shape, strides = self.plan(x._entries), *x.strided()

        def view(results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> Any:
            return np.lib.stride_tricks.as_strided(memory(results, leaves, objects)[offset:], shape, strides)

        return view

    def plan_of_text(self, x: Text) -> Plan:
        values = [self.trace.value(e) for e in x.values]
        places = [(self.give(v), v.type.weak) for v in values]

        def build(results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> Any:
            return filled(x.template, [results[i].item() if weak else results[i] for i, weak in places])

        return build

    def plan_of_rows(self, x: Rows) -> Plan:
        """Return how a list of the items of a list of traced length is made."""
        trace: Any = self.trace
        if trace.copies_arguments and (any(kind.shape for kind in x.kinds) or containers(x.item, [])):
            raise BadInput(
                "compiled code returns a list whose length is known only at run time, and that may hold arrays or objects of the "
                "arguments themselves; put copies of them into the list"
            )
        self.is_irregular = True
        length = self.plan(x.length)
        places = [self.give(column.ir) for column in x.columns]
        make = maker(x)

        def build(results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> list[Any]:
            return make(length(results, leaves, objects), [results[i] for i in places])

        return build

    def plan_of_choice(self, x: Choice) -> Plan:
        which, options = self.plan(x.which), [self.plan(o) for o in x.options]
        return lambda results, leaves, objects: options[which(results, leaves, objects)](results, leaves, objects)

    def plan_of_sequence(self, x: Any) -> Plan:
        """Return how a list or tuple of a subclass is made: without running methods of the class."""
        parts, kind = [self.plan(e) for e in items_of(x)], type(x)
        named = [(name, self.plan(e)) for name, e in attributes(x)]

        def build(results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> Any:
            items = [p(results, leaves, objects) for p in parts]
            made: Any = tuple.__new__(kind, items) if issubclass(kind, tuple) else blank(kind)
            if isinstance(made, list):
                list.extend(made, items)
            for name, plan in named:
                set_entry(made, name, plan(results, leaves, objects))
            return made

        return build

    def plans_of_keys(self, keys: Iterable[Any]) -> list[Plan] | None:
        """Return how the keys of a dict are made; None if they are constants."""
        return [self.plan(k) for k in keys] if any(map(_is_object, keys)) else None

    def plan_of_dict(self, x: Any) -> Plan:
        """Return how a dict of a subclass is made."""
        entries = {k: self.plan(e) for k, e in entries_of(x)}
        keys = self.plans_of_keys(entries)
        form = of_entries(x, {})
        if isinstance(x, defaultdict):
            form.default_factory = python_function(x.default_factory)
        named = {k: self.plan(e) for k, e in vars(x).items()} if has_dict(x) else {}

        def build(results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> Any:
            names = entries if keys is None else [k(results, leaves, objects) for k in keys]
            made = of_entries(form, {k: p(results, leaves, objects) for k, p in zip(names, entries.values())})
            for name, plan in named.items():
                set_entry(made, name, plan(results, leaves, objects))
            return made

        return build

    def leaf(self, x: Traced) -> Plan:
        if isinstance(x, Array):
            return self.arrays.plan(x)
        value = self.trace.value(x)
        if value in self.place and not self.arrays.is_array(self.place[value]):
            place = self.place[value]
            self.gives_numbers = True
            return lambda results, leaves, objects: leaves[place]
        i = self.give(value)
        if value.type.weak:
            return lambda results, leaves, objects: results[i].item()
        return lambda results, leaves, objects: results[i]

    def give(self, value: Value) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def instance(self, x: Any) -> Plan:
        named = {k: self.plan(e) for k, e in _parts(x).items()}
        kind = type(x)

        def build(results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> Any:
            made = blank(kind)
            for name, plan in named.items():
                set_entry(made, name, plan(results, leaves, objects))
            return made

        def build_array(results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> Any:
            parts = {name: plan(results, leaves, objects) for name, plan in named.items()}
            made = as_class(np.asarray(parts.pop(ARRAY)), kind)
            for name, part in parts.items():
                put(made, name, part)
            return made

        return build_array if is_array_class(kind) else build

    def note_changes(self, changes: list[tuple[Any, Any, Any]]) -> None:
        """Note the outside holders that the program changes: they keep their identity in the results."""
        self.changes = changes
        self.outside = {id(x): x for x, _, _ in changes}

    def updates(self) -> list[tuple[Any, Callable[..., None]]]:
        """Return what changes each list, dict or object likewise: of an argument by its number, of outside by itself."""
        found: list[tuple[Any, Callable[..., None]]] = []
        trace: Any = self.trace
        for variable, x in trace.outside.variables.changed():
            if isinstance(x, Late):
                raise BadInput(
                    f"whether '{variable.key}', a variable outside of the function, is assigned depends on a condition that is not known while "
                    "compiling; assign it before the call"
                )
            found.append((Itself(variable), assignment(self.plan(x))))
        for x, before, after in self.changes:
            if isinstance(before, list):
                if rows_of(after) is not None:
                    found.append((Itself(x), refilled(self.plan_of_rows(after[0]))))
                    continue
                before, after = dict(enumerate(before)), dict(enumerate(after))
            late = next((k for k, e in after.items() if isinstance(e, Late)), None)
            if late is not None and isinstance(x, (list, dict)):
                raise BadInput(
                    f"whether a {kind_of(x)} from outside has {late!r} depends on a condition that is not known while compiling; set it on "
                    "both paths"
                )
            if id(x) in trace.disordered:
                trace.refuse_unknown_entries(x)
            update = self.update(type(x), x, before, after)
            if update is not None:
                found.append((Itself(x), update))
        for number, x in self.made.items():
            (before, attributes_before), after = self.before[number], _parts(x)
            update = self.update(object, x, attributes_before, _attributes_beside_items(x))
            if update is not None:
                self.knows_objects = True
                found.append((number, update))
            if before == {} == after:
                continue
            if rows_of(x) is not None:
                self.knows_objects = True
                found.append((number, refilled(self.plan_of_rows(x[0]))))
                continue
            late = next((k for k, e in after.items() if isinstance(e, Late)), None)
            is_reordered = len(before) != len(after) or not are_in_one_order(before, after)
            if isinstance(x, dict) and (late is not None or is_reordered or id(x) in trace.disordered):
                trace.refuse_unknown_entries(x)
            update = self.update(type(x), x, before, after, isinstance(x, dict) and is_reordered)
            if update is not None:
                self.knows_objects = True
                found.append((number, update))
        return found

    def update(
        self, kind: type, x: Any, before: dict[Any, Any], after: dict[Any, Any], is_reordered: bool = False
    ) -> Callable[..., None] | None:
        """Return what makes the program's changes in a list or dict, or in the attributes of an object; None if there are none."""
        changed = {k: self.plan_of_part(e) for k, e in after.items() if k not in before or before[k] is not e}
        gone = [k for k in before if k not in after]
        if not (changed or gone or is_reordered):
            return None
        if not issubclass(kind, dict):
            return update_of(kind, changed, gone, [], {})
        keys = {k: self.plan(k) for k in changed if k not in before and _is_object(k)}
        return update_of(kind, changed, gone, self.order(x, before), keys)

    def plan_of_part(self, x: Any) -> Plan:
        """Return what a place of a holder gets: ``UNBOUND`` removes what is there."""
        if not isinstance(x, Late):
            return self.plan(x)
        is_absent, found = self.plan(x.absent), self.plan(x.x)
        return lambda results, leaves, objects: (
            UNBOUND if is_absent(results, leaves, objects) else found(results, leaves, objects)
        )

    def order(self, x: dict[Any, Any], before: dict[Any, Any]) -> list[Any]:
        """Return the keys of a dict that must be inserted again, in sequence, to restore its order."""
        keys = list(items_of(x))
        kept = [k for k in before if dict.__contains__(x, k)]
        start = next((i for i, (a, b) in enumerate(zip(keys, kept)) if not is_same_key(a, b)), len(kept))
        return keys[start:] if start < len(kept) else []


def _parts(x: Any) -> dict[Any, Any]:
    """Return the contents of an argument's holder, by index, key or attribute."""
    if isinstance(x, (list, tuple)):
        return dict(enumerate(items_of(x)))
    if isinstance(x, dict):
        return dict(entries_of(x))
    held = held_by(x)
    return {} if held is None or not isinstance(held[0], tuple) else dict(zip(held[0][1:], held[1]))


def _attributes_beside_items(x: Any) -> dict[str, Any]:
    """Return the attributes of a list, tuple or dict of a derived class."""
    return dict(attributes(x)) if isinstance(x, (list, tuple, dict)) else {}


def _is_object(key: Any) -> bool:
    """Whether a key is, or contains, an object of a class in Python."""
    return any(map(_is_object, items_of(key))) if isinstance(key, (tuple, frozenset)) else is_instance(key)


def _holds_traced(x: Any, seen: set[int]) -> bool:
    if isinstance(x, (Traced, Text, Choice, Closure, Derived, Rows)) or type(x) is AfterRun:
        return True
    if id(x) in seen:
        return False
    seen.add(id(x))
    if isinstance(x, (list, tuple, deque)):
        return any(_holds_traced(e, seen) for e in items_of(x))
    if isinstance(x, dict):
        return any(_holds_traced(e, seen) for entry in entries_of(x) for e in entry)
    if isinstance(x, Iterator):
        return True
    if isinstance(x, functools.partial):
        return _holds_traced([x.func, *x.args, *x.keywords.values()], seen)
    return is_instance(x) and any(_holds_traced(e, seen) for e in held_by_instance(x).values())


def _refers_to_traced(x: Any, depth: int) -> bool:
    """Whether an object of any class refers to a traced value or function, as the garbage collector sees it."""
    if isinstance(x, (Traced, Closure, Derived)):
        return True
    if not depth or isinstance(x, (FunctionType, ModuleType, Trace)) or type(x) in PASSIVE:
        return False
    return any(_refers_to_traced(e, depth - 1) for e in gc.get_referents(x))
