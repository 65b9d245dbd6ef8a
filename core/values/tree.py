"""Structures as trees: the walk over the numbers and arrays in containers and objects, written once.

What containers and objects hold is said by ``holders``.  A *leaf* is a number or an array for which ``is_leaf`` says so;
what is neither a leaf nor holds others is a constant.  Within one tree an array or an object is one variable, in however
many places it stands: it is visited once, at its first place, and what was made of it stands in all of them.  A number is a
value: each place has its own.

The walk runs as it stands in recorded code and while a program is compiled; only what is called on the leaves is recorded or
compiled.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ENGINE, BadInput
from .holders import Attribute, Kind, Objects, Recursion, blank, kind_of, unrolled

Path = tuple[tuple[str, Any], ...]
"""How to get to a place in a tree: ("item", key) or ("attribute", name) for each step."""


def is_parameter(value: Any) -> bool:
    """Whether ``value`` is a float, a complex number, or an array of one of these.

    >>> is_parameter(1.0), is_parameter(np.zeros(2)), is_parameter(1), is_parameter(np.arange(2))
    (True, True, False, False)
    """
    return isinstance(value, (float, complex)) or (
        isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc"
    )


def map_leaves(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """``tree`` with every leaf x replaced by ``f(x, *ys)``, the ys being what ``others`` hold in its place.

    A leaf is a float, a complex number or an array of them; integers are settings.

    Args:
        f: takes a leaf of ``tree`` and one value for each of ``others``.
        tree: nested dicts, lists, tuples and objects; it is not changed.
        others: of the same structure; None, anywhere, stands for a whole subtree of None (as in a gradient).

    Returns:
        A new structure of the same types.  Objects are made without calling ``__init__``.

    Raises:
        BadInput: one of ``others`` has another structure.

    >>> map_leaves(lambda x, g: x - 0.5 * g, {"rate": 1.0, "name": "a"}, {"rate": 0.5, "name": None})
    {'rate': 0.75, 'name': 'a'}
    """
    return rebuild(tree, lambda _, x, *ys: f(x, *ys), *others)


def leaves(tree: Any, *others: Any) -> list[Any]:
    """The leaves of ``tree`` in order; with ``others``, tuples of a leaf and what these hold in its place.

    >>> leaves({"w": [1.0, 2.0], "n": 3})
    [1.0, 2.0]
    """
    found: list[Any] = []
    rebuild(tree, lambda _, x, *ys: found.append((x, *ys) if ys else x), *others)
    return found


def leaves_with_paths(tree: Any) -> list[tuple[str, Any]]:
    """The leaves of ``tree`` in order, each with the way to it from ``tree``, as a user would write it.

    >>> leaves_with_paths({"w": [1.0, 2.0], "n": 3})
    [("['w'][0]", 1.0), ("['w'][1]", 2.0)]
    """
    found: list[tuple[str, Any]] = []
    rebuild(tree, lambda path, x: found.append((spelled(path, ""), x)))
    return found


def flatten(tree: Any) -> tuple[np.ndarray, Callable[[Any], Any]]:
    """The numbers of ``tree`` as one vector of real numbers, and the way back.

    Args:
        tree: as for ``map_leaves``.  A complex number counts as two, its real and its imaginary part.

    Returns:
        ``(vector, unflatten)``: the vector has the widest real dtype among the leaves, float64 if there is none;
        ``unflatten(v)`` is a new structure with the numbers of a vector of that length in the types of ``tree``'s leaves.
        Both are differentiable.

    Raises:
        BadInput: ``unflatten`` is given anything but a vector of that length.

    >>> vector, unflatten = flatten({"w": np.ones((2, 2)), "b": 3.0, "name": "layer"})
    >>> vector.tolist()
    [1.0, 1.0, 1.0, 1.0, 3.0]
    >>> unflatten(2 * vector)["b"]
    6.0
    """
    found = leaves(tree)
    parts = [np.ravel(_reals(np.asarray(x))) for x in found]
    vector = np.concatenate(parts) if parts else np.zeros(0)

    def unflatten(v: Any) -> Any:
        if np.shape(v) != vector.shape:
            raise BadInput(
                f"this structure has {vector.size} numbers: expected a vector of so many, not the shape {np.shape(v)}"
            )
        values, start = [], 0
        for x, part in zip(found, parts):
            values.append(_in_form_of(x, v[start : start + part.size]))
            start += part.size
        return with_leaves(tree, values)

    return vector, unflatten


def _reals(x: Any) -> Any:
    return np.stack([x.real, x.imag], -1) if x.dtype.kind == "c" else x


def _in_form_of(x: Any, part: Any) -> Any:
    """The real numbers ``part`` as a number or an array of the type of the leaf ``x``."""
    if np.iscomplexobj(x):
        part = part[0::2] + 1j * part[1::2]
    if isinstance(x, np.ndarray):
        return np.reshape(part, x.shape).astype(x.dtype)
    return part[0].astype(x.dtype) if isinstance(x, np.generic) else part[0].item()


def with_leaves(tree: Any, values: Sequence[Any]) -> Any:
    """``tree`` with its leaves, in the order of ``leaves``, replaced by ``values``.

    >>> with_leaves({"w": [1.0, 2.0], "n": 3}, [5.0, 6.0])
    {'w': [5.0, 6.0], 'n': 3}
    """
    remaining = iter(values)
    return rebuild(tree, lambda *_: next(remaining))


def _unchanged(path: Path, x: Any) -> Any:
    return x


def rebuild(
    tree: Any,
    leaf: Callable[..., Any],
    *others: Any,
    is_leaf: Callable[[Any], bool] = is_parameter,
    constant: Callable[[Path, Any], Any] = _unchanged,
    is_shared: bool = True,
    may_miss: bool = False,
    names: tuple[str, str] = ("tree", "the other tree"),
) -> Any:
    """A copy of ``tree`` with ``leaf(path, x, *ys)`` in place of its leaves, ``constant(path, x)`` of its constants.

    Args:
        tree, others: as for ``map_leaves``.
        is_leaf: whether a number or an array is a leaf.
        is_shared: whether an array that stands in two places is one leaf.
        may_miss: whether ``others`` may lack entries of dicts; they count as None.
        names: what messages call ``tree`` and ``others``.

    Raises:
        BadInput: one of ``others`` has another structure.
    """
    return unrolled(_Walk(leaf, is_leaf, constant, is_shared, may_miss, names).walk(tree, others, ()))


def spelled(path: Path, name: str) -> str:
    """A place in a tree called ``name``, as a user would write it.

    >>> spelled((("item", "w"), ("attribute", "scale")), "model")
    "model['w'].scale"
    """
    return name + "".join(f".{key}" if kind == "attribute" else f"[{key!r}]" for kind, key in path)


@dataclass
class _Walk:
    leaf: Callable[..., Any]
    is_leaf: Callable[[Any], bool]
    constant: Callable[[Path, Any], Any]
    is_shared: bool
    may_miss: bool
    names: tuple[str, str]
    arrays: Any = np.ndarray  # the classes of arrays
    done: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # what was made, by identity of what it was made of

    def walk(self, x: Any, others: tuple[Any, ...], path: Path) -> Recursion:
        if id(x) in self.done:
            return self.done[id(x)][1]
        if self.call(self.is_leaf, x):
            made = self.call(self.leaf, path, x, *others)
            if self.is_shared and isinstance(x, self.arrays):
                self.done[id(x)] = x, made
            return made
        kind = self.kind(x)
        new = None if kind is None or not kind.is_mutable else _empty(kind, x)
        if kind is None or kind.is_mutable and new is None:
            return self.call(self.constant, path, x)
        if kind.is_mutable:
            self.done[id(x)] = x, new
        entries = self.entries(kind, x)
        inside = [self.parts(kind, x, other, path) for other in others]
        values = []
        for key, value in entries:
            is_attribute = isinstance(kind, Objects) or type(key) is Attribute
            place = *path, ("attribute", str(key)) if is_attribute else ("item", key)
            values.append((yield self.walk(value, tuple([self.part(p, key, place) for p in inside]), place)))
        if not kind.is_mutable:
            return kind.made(x, values)
        kind.fill(new, [key for key, _ in entries], values)
        return self.new(new)

    def parts(self, kind: Kind, x: Any, other: Any, path: Path) -> dict[Any, Any] | None:
        """What ``other`` holds where the tree holds ``x``."""
        if other is None:
            return None
        if self.kind(other) is not kind or isinstance(kind, Objects) and not isinstance(other, type(x)):
            raise BadInput(
                f"{spelled(path, self.names[1])} is a {type(other).__name__}: expected the structure of {self.names[0]}, a "
                f"{type(x).__name__}"
            )
        if isinstance(x, (list, tuple)) and len(x) != len(other):
            raise BadInput(
                f"{spelled(path, self.names[1])} has {len(other)} entries: expected {len(x)}, like {self.names[0]}"
            )
        return dict(self.entries(kind, other))

    def part(self, parts: dict[Any, Any] | None, key: Any, place: Path) -> Any:
        if parts is None:
            return None
        if key not in parts and place[-1][0] == "item" and not self.may_miss:
            raise BadInput(f"there is no {spelled(place, self.names[1])}: expected the structure of {self.names[0]}")
        return parts.get(key)

    # What is done in another way while a program is recorded or compiled

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    def kind(self, x: Any) -> Kind | None:
        return kind_of(type(x))

    def entries(self, kind: Kind, x: Any) -> list[tuple[Any, Any]]:
        return kind.entries(x)

    def new(self, made: Any) -> Any:
        return made


def _empty(kind: Kind, x: Any) -> Any:
    """An empty container or object of the class of ``x``; None if its class cannot be made without arguments."""
    if not isinstance(kind, Objects):
        return kind.blank(x)
    try:
        return blank(type(x))
    except Exception:
        return None


@dataclass
class _Recorded(_Walk):
    tape: Any = None

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args) if function is is_parameter else self.tape.call(function, *args)


@dataclass
class _Compiled(_Walk):
    trace: Any = None

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.trace.call(function, *args)

    def kind(self, x: Any) -> Kind | None:
        kind: Any = type(x)
        of_trace = hasattr(kind, "__morula_trace__") or (kind.__module__ or "").startswith(ENGINE)
        return None if of_trace else kind_of(kind)

    def entries(self, kind: Kind, x: Any) -> list[tuple[Any, Any]]:
        found = kind.entries(x)
        if isinstance(kind, Objects):
            return [(name, self.trace.attribute(x, name)) for name, _ in found]
        if isinstance(x, (list, dict)):
            return [(k, e if type(k) is Attribute else self.trace.call(operator.getitem, x, k)) for k, e in found]
        return found

    def new(self, made: Any) -> Any:
        return self.trace.new(made)


def _options(
    leaf: Any,
    is_leaf: Any = is_parameter,
    constant: Any = _unchanged,
    is_shared: bool = True,
    may_miss: bool = False,
    names: tuple[str, str] = ("tree", "the other tree"),
) -> tuple[Any, ...]:
    return leaf, is_leaf, constant, is_shared, may_miss, names


def rebuild_recorded(tape: Any, tree: Any, leaf: Any, *others: Any, **options: Any) -> Any:
    return unrolled(_Recorded(*_options(leaf, **options), tape=tape).walk(tree, others, ()))


def rebuild_traced(trace: Any, arrays: tuple[type, ...], tree: Any, leaf: Any, *others: Any, **options: Any) -> Any:
    """``rebuild`` in a program that is compiled, where instances of ``arrays`` are arrays."""
    return unrolled(_Compiled(*_options(leaf, **options), arrays=arrays, trace=trace).walk(tree, others, ()))
