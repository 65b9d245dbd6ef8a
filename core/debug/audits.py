"""``audit``: where a run of a program drops a derivative, or where the derivative is ambiguous."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..eager.forward.transposed import ones
from ..eager.libraries.builtin_functions import to_each_tie
from ..eager.observed.auditor import EQUAL, ORDERED, Auditor, Event, Watched
from ..eager.observed.observer import Lines, Place, rule_of, values_in
from ..eager.recorded.pullback import run_on, seed
from ..eager.recorded.snapshots import as_it_is
from ..eager.recorded.structure import is_structure_of_numbers, plain
from ..eager.recorded.tape import Record, Tape, sweep
from ..errors import NoDerivative
from ..faults import prune
from ..source.definitions import describe
from ..source.requirements import check_function
from ..values import tree
from ..values.memory import owner
from ..values.numbers import call_on
from ..values.reachable import reached
from ..values.silence import silently

__all__ = ["Audit", "Finding", "audit"]

KINDS = {
    "unused argument": "the result does not depend on it, so its gradient is zero",
    "equality": "an equality test held on a value that depends on the arguments: the derivative is that of the path for exactly this value",
    "steering": "these values depend on the arguments and only decide which path runs: no derivative passes from them to the result",
    "rounding": "derivative zero, on a value that depends on the arguments",
    "text": "text made of values that depend on the arguments; what is read from it is a constant",
    "bytes": "bytes made of values that depend on the arguments; a derivative through them is refused",
    "tie": "a kink: the derivative is one of several that are possible",
    "masked": "a zero cotangent met a factor Inf or NaN, and counts as zero",
    "no derivative": "a cotangent reached a call without a derivative",
}
"""The kinds of findings, most important first, with their meaning."""


@dataclass(frozen=True)
class Finding:
    """One kind of event at one line; ``count`` says how often it happened there."""

    kind: str
    text: str
    place: Place | None
    count: int = 1

    @property
    def source(self) -> str:
        """The source text of the line, of the library's line if it happened in one."""
        if self.place is None:
            return ""
        file, line = self.place.within[:2] if self.place.within else self.place[:2]
        return linecache.getline(file, line).strip()

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        if self.place is None:
            return f"{self.text}{times}"
        return f"{self.place}: {self.text}{times}\n      {self.source}"


@dataclass
class Audit(Sequence[Finding]):
    """The findings of an audit, most important first: a sequence, whose repr is a report."""

    name: str
    value: Any
    findings: list[Finding] = field(default_factory=list)

    def of(self, kind: str) -> list[Finding]:
        """Return the findings of one kind."""
        return [f for f in self.findings if f.kind == kind]

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, i: Any) -> Any:
        return self.findings[i]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __repr__(self) -> str:
        if not self.findings:
            return f"audit of {self.name}: nothing found"
        lines = [f"audit of {self.name}: {len(self.findings)} finding{'s' * (len(self.findings) > 1)}"]
        for kind, meaning in KINDS.items():
            found = self.of(kind)
            if found:
                lines += ["", f"{kind}: {meaning}", *(f"  - {f}" for f in found)]
        return "\n".join(lines)


def audit(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Audit:
    """Run ``f(*args, **kwargs)`` once, and list where a derivative is dropped or ambiguous.

    A gradient that is right for the path that ran may still not be the one that is meant.  Listed are: an equality test that held
    on a value that depends on the arguments (``if a == 1.0``); values that only decide which path runs, as in a bisection;
    ``int``, ``round`` and the like; text and bytes made of such values; ties at a kink; zero cotangents that met Inf or NaN;
    arguments on which the result does not depend.

    Args:
        f: any function that morula differentiates.
        *args: its arguments, as for a gradient.
        **kwargs: passed on; not differentiated.

    Returns:
        The findings, as a sequence with a readable repr; each has a ``kind``, a ``text``, a ``place`` (file, line, and the
        line of a library in ``within``) and a ``count``.  ``value`` is the value of ``f``.

    Raises:
        BadInput: ``f`` is not callable, or its source cannot be read.

    >>> def scaled(x, a):
    ...     return x if a == 1.0 else x * a
    >>> [finding.kind for finding in audit(scaled, 2.0, 1.0)]
    ['unused argument', 'equality']
    """
    check_function(f)
    try:
        return _audit(f, args, kwargs)
    except Exception as error:
        prune(error)
        raise


def _audit(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Audit:
    auditor = Auditor()
    chosen = [i for i, x in enumerate(args) if is_structure_of_numbers(x)]
    refusals: list[Finding] = []
    with auditor.auditing():
        tape = auditor.run = Tape(auditor.tape)
        y, arguments = run_on(tape, f, args, kwargs, chosen)
        inputs = list(tape.inputs or ())
        graph = Graph(tape, inputs, y)
        snapshot = as_it_is(y, with_attributes=True)
        dy = ones(snapshot)
        if dy is not None:
            table = Watched(functools.partial(call_on, auditor.tape), auditor.tape, is_strong=True)
            table.auditor, table.tape = auditor, tape
            try:
                seed(table, snapshot, dy)
                silently(sweep, tape, table)
            except NoDerivative as error:
                refusals.append(Finding("no derivative", str(error), None))
        value = plain(arguments.restore(y, set()))
    names = [_argument_name(f, i) for i in range(len(args))]
    found = [
        *_unused(graph, args, chosen, names, inputs),
        *_merged([*_of_events(graph, auditor.events), *_ties(graph), *_masked(auditor.masked)]),
        *refusals,
    ]
    order = list(KINDS)
    return Audit(describe(f), value, sorted(found, key=lambda finding: order.index(finding.kind)))


def key_of(x: Any) -> int:
    return id(owner(x)) if isinstance(x, np.ndarray) else id(x)


class Graph:
    """Which records of a run depend on the arguments, and which the result depends on."""

    def __init__(self, tape: Tape, inputs: list[Any], y: Any) -> None:
        assert isinstance(tape.records, Lines)
        self.records, self.places = list(tape.records), list(tape.records.places)
        self.inputs = set(map(key_of, inputs))
        self.active = set(self.inputs)
        self.makers: dict[
            int, list[int]
        ] = {}  # by value: the records that make it of values that depend on the arguments
        self.operands: list[set[int]] = []
        for i, record in enumerate(self.records):
            operands = _operands(record)
            self.operands.append(operands)
            if not operands.isdisjoint(self.active):
                for x in values_in(record[1]):
                    self.active.add(key_of(x))
                    self.makers.setdefault(key_of(x), []).append(i)
        self.useful: set[int] = set()
        reached(y, self.useful)
        for i in range(len(self.records) - 1, -1, -1):
            if any(key_of(x) in self.useful for x in values_in(self.records[i][1])):
                self.useful |= self.operands[i]

    def depends(self, x: Any) -> bool:
        return key_of(x) in self.active

    def only_steers(self, x: Any) -> bool:
        """Whether a value that was computed from the arguments, and all that it was computed from, do not reach the result."""
        if key_of(x) in self.inputs:
            return key_of(x) not in self.useful
        waiting, seen = [key_of(x)], {key_of(x)}
        is_computed = False  # not only read out of an argument
        while waiting:
            key = waiting.pop()
            if key in self.inputs:
                continue
            if key in self.useful:
                return False
            for i in self.makers.get(key, ()):
                is_computed = is_computed or rule_of(self.records[i]) is not None
                new = (self.operands[i] & self.active) - seen
                seen |= new
                waiting += new
        return is_computed


def _operands(record: Record) -> set[int]:
    found = {key_of(x) for x in values_in(record[2:])}
    if not found:
        reached([getattr(x, "operands", x) for x in record[2:]], found)
    return found


def _argument_name(f: Callable[..., Any], i: int) -> str:
    code = getattr(f, "__code__", None)
    return code.co_varnames[i] if code is not None and i < code.co_argcount else f"argument {i}"


def _unused(graph: Graph, args: Any, chosen: list[int], names: list[str], inputs: list[Any]) -> Iterator[Finding]:
    """Yield the arguments on which the result does not depend: whole ones, or their parts."""
    fresh = iter(inputs)
    for i in chosen:
        leaves: list[tuple[str, bool]] = []

        def leaf(path: Any, x: Any, i: int = i, leaves: Any = leaves) -> None:
            used = key_of(next(fresh, None)) in graph.useful
            if not isinstance(x, int):  # a count
                leaves.append((tree.spelled(path, names[i]), used))

        tree.rebuild(args[i], leaf, is_leaf=_is_leaf)
        unused = [name for name, used in leaves if not used]
        if leaves and len(unused) == len(leaves):
            unused = [names[i]]
        yield from (Finding("unused argument", name, None) for name in unused)


def _is_leaf(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (int, float, complex, np.inexact)) and not isinstance(x, bool)


def _of_events(graph: Graph, events: list[Event]) -> Iterator[Finding]:
    for event in events:
        values = [x for x in event.values if graph.depends(x)]
        if not values:
            continue
        if event.kind == "compared":
            if event.holds and event.name in EQUAL:
                yield Finding("equality", f"{_shown(event.values)}, compared as equal", event.place)
            elif any(map(graph.only_steers, values)):
                yield Finding("steering", f"{event.name} of {_shown(values)}", event.place)
            elif event.holds and event.name in ORDERED:
                yield Finding("tie", f"{event.name} of equal numbers, {_shown(event.values)}", event.place)
        elif event.kind == "rounded":
            yield Finding("rounding", f"{event.name} of {_shown(values)}", event.place)
        elif event.kind == "sorted":
            numbers = sorted(float(x) for x in event.values if isinstance(x, float))
            if any(a == b for a, b in zip(numbers, numbers[1:])):
                yield Finding("tie", "sorted, with equal numbers", event.place)
        else:
            yield Finding(event.kind, f"{event.name} of {_shown(values)}", event.place)


def _masked(events: list[Event]) -> Iterator[Finding]:
    for event in events:
        yield Finding("masked", event.name, event.place)


def _shown(values: Sequence[Any]) -> str:
    texts = [f"an array of shape {x.shape}" if isinstance(x, np.ndarray) and x.ndim else f"{x!s:.12}" for x in values]
    return " and ".join(dict.fromkeys(texts))


def _ties(graph: Graph) -> Iterator[Finding]:
    for record, place in zip(graph.records, graph.places):
        if not any(graph.depends(x) and key_of(x) in graph.useful for x in values_in(record[1])):
            continue
        if record[0] is to_each_tie:
            yield Finding("tie", f"{len(record[2])} equal numbers are the largest or smallest", place)
        found = rule_of(record)
        if found is not None:
            rule, y, args, kwargs = found
            name = getattr(rule.function, "__name__", "").strip("_")
            try:
                text = silently(_tie, name, y, args, kwargs)
            except (TypeError, ValueError, IndexError):  # operands of another kind
                text = None
            if text is not None:
                yield Finding("tie", text, place)


def _tie(name: str, y: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str | None:
    """Return what a call of a function met at a kink of its own, or None."""
    if name in ("abs", "absolute", "fabs") and np.any(np.asarray(args[0]) == 0):
        return f"{name} of zero"
    if name in ("hypot", "norm", "vector_norm", "std", "dist") and np.any(np.asarray(y) == 0):
        return f"{name} is zero"
    if name in ("maximum", "minimum", "fmax", "fmin") and np.any(np.asarray(args[0]) == args[1]):
        return f"{name} of equal numbers"
    if name in ("max", "min", "amax", "amin", "ptp", "nanmax", "nanmin") and "where" not in kwargs:
        axis = kwargs.get("axis", args[1] if len(args) > 1 else None)
        x = np.asarray(args[0])
        ends = (np.max, np.min) if name == "ptp" else (np.max if "max" in name else np.min,)
        if any(np.any(np.sum(x == end(x, axis=axis, keepdims=True), axis=axis) > 1) for end in ends):
            return f"{name}, attained by several elements"
    if name == "clip" and any(b is not None and np.any(np.asarray(args[0]) == b) for b in args[1:3]):
        return "clip of a number at a bound"
    if name in ("sort", "partition", "median", "percentile", "quantile") and _has_equal(np.asarray(args[0])):
        return f"{name} of equal numbers"
    return None


def _has_equal(x: np.ndarray) -> bool:
    return np.unique(x).size < x.size


def _merged(findings: Sequence[Finding]) -> list[Finding]:
    """Return one finding for each kind, function and line, with the first text and the count."""
    found: dict[Any, Finding] = {}
    for finding in findings:
        key = finding.kind, finding.place, finding.text.partition(" ")[0] if finding.kind != "equality" else ""
        first = found.get(key)
        count = 1 if first is None else first.count + 1
        found[key] = Finding(finding.kind, finding.text if first is None else first.text, finding.place, count)
    return list(found.values())
