"""Walks over structures of numbers and arrays: leaves and their paths, map, comparison, one vector and back.

A structure (a *tree*) consists of lists, tuples, named tuples, dicts, deques, ``functools.partial``, and objects:
ordinary classes, dataclasses (also frozen ones) and classes with ``__slots__``, private slots included.

- A *leaf* is a float, a complex number, or an array or NumPy number of one of these dtypes.
- Everything else is a *constant*: ints, bools, strings, None, functions, sets, and arrays of ints, bools or objects.
  A rebuilt structure holds the same constants.
- Leaves come in the order of the structure: entries of sequences by index, of dicts in insertion order, attributes in
  the order in which the object stores them.
- An array or object that occurs in several places is one variable: it is visited once, at its first place, and its
  replacement is put in all of them.  A number is a value: each place has its own.
- Rebuilding makes new containers and objects of the same classes, without calling ``__init__`` or ``__setattr__``.

The functions work in differentiated code.  Under ``mo.jit`` the walk runs during tracing; only calls on leaves are in the program.

>>> model = {"w": [np.ones(2), 3.0], "n": 4}
>>> leaves_with_paths(model)
[("['w'][0]", array([1., 1.])), ("['w'][1]", 3.0)]
>>> vector, unflatten = flatten(model)
>>> unflatten(2 * vector)
{'w': [array([2., 2.]), 6.0], 'n': 4}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadInput
from .holders import Attribute, Kind, Objects, Recursion, SparseMatrices, blank, kind_of, unrolled
from .sparse_patterns import check_same, pattern_of

__all__ = ["flatten", "leaves", "leaves_with_paths", "map_leaves", "rebuild", "require_same_structure", "with_leaves"]


def __dir__() -> list[str]:
    return sorted(__all__)


Path = tuple[tuple[str, Any], ...]
"""The steps from the root to a place in a tree, each ("item", key) or ("attribute", name)."""


def is_parameter(value: Any) -> bool:
    """Whether ``value`` is a float, a complex number, or an array of one of these.

    >>> is_parameter(1.0), is_parameter(np.zeros(2)), is_parameter(1), is_parameter(np.arange(2))
    (True, True, False, False)
    """
    return isinstance(value, (float, complex)) or (
        isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc"
    )


def map_leaves(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return ``tree`` with every leaf x replaced by ``f(x, *ys)``, where ys are the entries of ``others`` at its place.

    A leaf is a float, a complex number or an array of them; integers are settings.

    Args:
        f: takes a leaf of ``tree`` and one value for each of ``others``.
        tree: nested dicts, lists, tuples and objects; it is not changed.
        others: structures like ``tree``; None, anywhere, stands for a whole subtree of None (as in a gradient).

    Returns:
        A new structure of the same types.  Objects are made without calling ``__init__``.

    Raises:
        BadInput: one of ``others`` has another structure.

    >>> map_leaves(lambda x, g: x - 0.5 * g, {"rate": 1.0, "name": "a"}, {"rate": 0.5, "name": None})
    {'rate': 0.75, 'name': 'a'}
    """
    return rebuild(tree, lambda _, x, *ys: f(x, *ys), *others)


def leaves(tree: Any, *others: Any) -> list[Any]:
    """Return the leaves of ``tree`` in order.

    Args:
        tree: any structure.
        others: structures like ``tree``; None stands for a whole subtree of None.

    Returns:
        A list of leaves; with ``others``, of tuples of a leaf and the entries of ``others`` at its place.

    Raises:
        BadInput: one of ``others`` has another structure.

    >>> leaves({"w": [1.0, 2.0], "n": 3})
    [1.0, 2.0]
    """
    found: list[Any] = []
    rebuild(tree, lambda _, x, *ys: found.append((x, *ys) if ys else x), *others)
    return found


def leaves_with_paths(tree: Any, name: str = "") -> list[tuple[str, Any]]:
    """Return the leaves of ``tree`` in order, each with its path as a user would write it.

    Args:
        tree: any structure.
        name: the name of ``tree`` at the start of each path; by default, paths begin with the first step.

    Returns:
        Pairs of a path, such as ``params['w'][0].bias``, and a leaf.  A shared array is listed once, at its first place.

    >>> leaves_with_paths({"w": [1.0, 2.0], "n": 3}, "params")
    [("params['w'][0]", 1.0), ("params['w'][1]", 2.0)]
    """
    found: list[tuple[str, Any]] = []
    rebuild(tree, lambda path, x: found.append((spelled(path, name), x)))
    return found


def flatten(tree: Any, name: str = "tree") -> tuple[np.ndarray, Callable[[Any], Any]]:
    """Return the leaves of ``tree`` as one real vector, and the function that turns such a vector into a structure.

    A complex number counts as two, its real and its imaginary part, so that every vector of the right length is a
    structure.  An array that occurs in two places counts once.  Both directions are differentiable and copy: apart from
    constants, their results share no memory with their arguments.

    Args:
        tree: any structure.
        name: the name of ``tree`` in messages.

    Returns:
        ``(vector, unflatten)``: the vector has the widest real dtype among the leaves, float64 if there is none;
        ``unflatten(v)`` is a new structure with the numbers of ``v`` in the classes, shapes, dtypes and sharing that
        ``tree`` had when it was flattened.

    Raises:
        BadInput: ``tree`` holds an array of Python objects, or a number or array of a derived class, which cannot be
            restored from a vector; ``unflatten`` is given anything but a real vector of that length.

    >>> vector, unflatten = flatten({"w": np.ones((2, 2)), "b": 3.0, "name": "layer"})
    >>> vector.tolist()
    [1.0, 1.0, 1.0, 1.0, 3.0]
    >>> unflatten(2 * vector)["b"]
    6.0
    """
    parts: list[Any] = []
    forms: list[_Form] = []

    def take(path: Path, x: Any) -> Any:
        if not (type(x) in (np.ndarray, float, complex) or isinstance(x, np.generic)):
            raise BadInput(f"{spelled(path, name)} is a {type(x).__name__}: expected a plain number or array")
        array: Any = np.asarray(x)
        reals = np.stack([array.real, array.imag], axis=-1) if array.dtype.kind == "c" else array
        parts.append(np.ravel(reals))
        forms.append(_Form(isinstance(x, np.ndarray), isinstance(x, np.generic), array.shape, array.dtype, reals.size))
        return np.zeros(0) if isinstance(x, np.ndarray) else 0.0

    def keep(path: Path, x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.dtype.kind == "O":
            raise BadInput(f"{spelled(path, name)} is an array of Python objects: expected an array of numbers")
        return x

    template = rebuild(tree, take, constant=keep)
    size = sum(form.size for form in forms)

    def unflatten(v: Any) -> Any:
        v = np.asarray(v)
        if v.shape != (size,):
            raise BadInput(
                f"this structure has {size} numbers: expected a vector of that length, not the shape {v.shape}"
            )
        if v.dtype.kind not in "iuf":
            raise BadInput(f"this structure takes a vector of {size} real numbers, not of dtype {v.dtype}")
        values, start = [], 0
        for form in forms:
            values.append(form.filled(v[start : start + form.size]))
            start += form.size
        return with_leaves(template, values)

    return np.concatenate(parts) if parts else np.zeros(0), unflatten


@dataclass(frozen=True)
class _Form:
    """The class, shape and dtype of a leaf, and the number of reals that it takes."""

    is_array: bool
    is_of_numpy: bool
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int

    def filled(self, reals: Any) -> Any:
        """Return the leaf of this form with the numbers ``reals``."""
        if self.dtype.kind == "c":  # written part by part: 1j times an infinity would have NaN as its real part
            values: Any = np.zeros(self.size // 2, self.dtype)
            values.real, values.imag = reals[0::2], reals[1::2]
        else:
            values = reals.astype(self.dtype)
        if self.is_array:
            return values.reshape(self.shape)
        if self.is_of_numpy:
            return values[0]
        return complex(values[0]) if self.dtype.kind == "c" else float(values[0])


def with_leaves(tree: Any, values: Sequence[Any]) -> Any:
    """Return ``tree`` with its leaves, in the order of ``leaves``, replaced by ``values``.

    Args:
        tree: any structure; it is not changed.
        values: one value for each leaf.

    Returns:
        A new structure of the same classes, with the constants of ``tree``.

    >>> with_leaves({"w": [1.0, 2.0], "n": 3}, [5.0, 6.0])
    {'w': [5.0, 6.0], 'n': 3}
    """
    remaining = iter(values)
    return rebuild(tree, lambda *_: next(remaining))


def unchanged(path: Path, x: Any) -> Any:
    return x


def require_same_structure(tree: Any, other: Any, names: tuple[str, str] = ("tree", "the other tree")) -> None:
    """Check that two structures differ at most in the values of their leaves and constants.

    They must agree in the classes of containers, objects and constants; in lengths, keys and attributes; in whether a
    leaf is an array, its shape and dtype; and in which places share one array or object.  The order of a dict's keys
    does not matter, and a NumPy number counts as a Python number of its dtype.

    Args:
        tree, other: the structures.
        names: their names in the message.

    Raises:
        BadInput: they differ; the message names the first path at which they do.

    >>> require_same_structure({"w": [1.0, 2.0]}, {"w": [3.0, np.zeros(2)]}, ("params", "gradient"))
    Traceback (most recent call last):
    morula.core.errors.BadInput: gradient['w'][1] is an array of shape (2,) and dtype float64, but params['w'][1] is a float
    """

    def compare(path: Path, x: Any, y: Any) -> None:
        if _form(x) != _form(y):
            raise BadInput(
                f"{spelled(path, names[1])} is {described(y)}, but {spelled(path, names[0])} is {described(x)}"
            )

    rebuild(tree, compare, other, constant=compare, names=names, is_exact=True)


def _form(x: Any) -> tuple[Any, ...]:
    """Return the class, shape and dtype of a leaf; the class of a constant."""
    if isinstance(x, np.ndarray):
        return type(x), x.shape, x.dtype
    return (np.asarray(x).dtype,) if is_parameter(x) else (type(x),)


def described(x: Any) -> str:
    """Describe a number, an array or a constant for messages."""
    return f"an array of shape {x.shape} and dtype {x.dtype}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"


def rebuild(
    tree: Any,
    leaf: Callable[..., Any],
    *others: Any,
    is_leaf: Callable[[Any], bool] = is_parameter,
    constant: Callable[..., Any] = unchanged,
    is_shared: bool = True,
    is_lenient: bool = False,
    names: tuple[str, str] = ("tree", "the other tree"),
    is_exact: bool = False,
) -> Any:
    """Return a copy of ``tree`` with ``leaf(path, x, *ys)`` for each leaf, ``constant(path, x)`` for each constant.

    Args:
        tree, others: as for ``map_leaves``.
        leaf: takes the path of a leaf, the leaf, and the entries of ``others`` at its place.
        is_leaf: whether a number or an array is a leaf.
        constant: takes the path of a constant and the constant; by default constants are kept.
        is_shared: whether an array that occurs in two places is one leaf.
        is_lenient: whether ``others`` may lack entries of dicts, which count as None, and have lists in place of tuples
            or tuples in place of lists.
        names: the names of ``tree`` and ``others`` in messages.
        is_exact: whether ``others`` must have the classes, keys and sharing of ``tree`` everywhere, without None for
            subtrees; ``constant`` then also takes the entries of ``others``, as ``leaf`` does.

    Returns:
        A new structure of the same classes.

    Raises:
        BadInput: one of ``others`` has another structure.

    >>> rebuild({"rate": 2.0, "n": 4}, lambda path, x: x / 2, constant=lambda path, x: x + 1)
    {'rate': 1.0, 'n': 5}
    """
    return Walk(leaf, is_leaf, constant, is_shared, is_lenient, names, is_exact).made(tree, others)


def spelled(path: Path, name: str) -> str:
    """Return the path of a place in a tree called ``name``, as a user would write it.

    >>> spelled((("item", "w"), ("attribute", "scale")), "model")
    "model['w'].scale"
    """
    return name + "".join(f".{key}" if kind == "attribute" else f"[{key!r}]" for kind, key in path)


@dataclass
class Walk:
    leaf: Callable[..., Any]
    is_leaf: Callable[[Any], bool]
    constant: Callable[..., Any]
    is_shared: bool
    is_lenient: bool
    names: tuple[str, str]
    is_exact: bool
    arrays: Any = np.ndarray  # the classes of arrays
    entered: tuple[Kind, Any] | None = None  # the kind of the last container visited, and its empty replacement
    done: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # originals and replacements, by the original's id
    partners: dict[int, tuple[Any, Any, Path]] = field(default_factory=dict)  # of an exact walk, by the id of either

    def made(self, tree: Any, others: tuple[Any, ...]) -> Any:
        found = self.visit(tree, others, ())
        return found if self.entered is None else unrolled(self.walk(tree, others, ()))

    def visit(self, x: Any, others: tuple[Any, ...], path: Path) -> Any:
        """Return the replacement of a leaf, a constant or anything seen before; for a new container, set ``entered``."""
        if self.is_exact:
            self.check_sharing(x, others, path)
        if id(x) in self.done:
            return self.done[id(x)][1]
        if self.is_leaf(x):
            made = self.leaf(path, x, *others)
            if self.is_shared and isinstance(x, self.arrays):
                self.done[id(x)] = x, made
            return made
        kind = self.kind(x)
        new = None if kind is None or not kind.is_mutable else _empty(kind, x)
        if kind is None or kind.is_mutable and new is None:
            return self.constant(path, x, *(others if self.is_exact else ()))
        if kind.is_mutable:
            self.done[id(x)] = x, new
        self.entered = kind, new

    def walk(self, x: Any, others: tuple[Any, ...], path: Path) -> Recursion:
        """Walk the container or object that was visited last."""
        (kind, new), self.entered = self.entered, None  # type: ignore[misc]
        entries = self.entries(kind, x)
        inside = [self.parts(kind, x, other, path) for other in others]
        values = []
        for key, value in entries:
            place = *path, _step(kind, key)
            parts = tuple([self.part(p, key, place) for p in inside]) if inside else ()
            if not kind.varies(key):
                values.append(self.constant(place, value, *(parts if self.is_exact else ())))
                continue
            found = self.visit(value, parts, place)
            values.append(found if self.entered is None else (yield self.walk(value, parts, place)))
        if not kind.is_mutable:
            return kind.made(x, values)
        kind.fill(new, [key for key, _ in entries], values)
        return self.new(new)

    def parts(self, kind: Kind, x: Any, other: Any, path: Path) -> dict[Any, Any] | None:
        """Return the entries of ``other``, the counterpart of ``x``, by key."""
        if other is None and not self.is_exact:
            return None
        is_of_class = type(other) is type(x) if self.is_exact else isinstance(other, type(x))
        if (
            other is None
            or not (self.kind(other) is kind or self.is_lenient and {type(x), type(other)} == {list, tuple})
            or (self.is_exact or isinstance(kind, Objects))
            and not is_of_class
        ):
            raise BadInput(
                f"{spelled(path, self.names[1])} is a {type(other).__name__}: expected the structure of {self.names[0]}, a "
                f"{type(x).__name__}"
            )
        if isinstance(x, (list, tuple)) and len(x) != len(other):
            raise BadInput(
                f"{spelled(path, self.names[1])} has {len(other)} entries: expected {len(x)}, like {self.names[0]}"
            )
        parts = dict(self.entries(self.kind(other) or kind, other))
        if isinstance(kind, SparseMatrices):
            names = [spelled(path, name) for name in self.names]
            self.check_pattern(pattern_of(dict(self.entries(kind, x))), pattern_of(parts), (names[0], names[1]))
        if self.is_exact or isinstance(x, dict):
            keys = dict(self.entries(kind, x))
            if not self.is_lenient:
                self.check_keys(kind, keys, parts, path, *self.names)
            self.check_keys(kind, parts, keys, path, *self.names[::-1])
        return parts

    def check_keys(self, kind: Kind, keys: Any, others: Any, path: Path, has: str, lacks: str) -> None:
        for key in keys:
            if key not in others and (self.is_exact or type(key) is not Attribute):
                raise BadInput(f"{spelled((*path, _step(kind, key)), has)} has no counterpart in {lacks}")

    def check_sharing(self, x: Any, others: tuple[Any, ...], path: Path) -> None:
        """Check that ``others`` hold one array or object in two places where the tree does, and only there."""
        for other in others:
            for a, b, name in ((x, other, self.names[0]), (other, x, self.names[1])):
                kind = self.kind(a)
                if not (isinstance(a, self.arrays) and self.is_shared or kind is not None and kind.is_mutable):
                    continue
                _, partner, place = self.partners.setdefault(id(a), (a, b, path))
                if partner is not b:
                    raise BadInput(
                        f"{spelled(place, name)} and {spelled(path, name)} are the same object, but their counterparts are two objects"
                    )

    def part(self, parts: dict[Any, Any] | None, key: Any, place: Path) -> Any:
        if parts is None:
            return None
        if key not in parts and place[-1][0] == "item" and not self.is_lenient:
            raise BadInput(f"there is no {spelled(place, self.names[1])}: expected the structure of {self.names[0]}")
        return parts.get(key)

    # Overridden in ``tree_in_programs``

    def kind(self, x: Any) -> Kind | None:
        return kind_of(type(x))

    def entries(self, kind: Kind, x: Any) -> list[tuple[Any, Any]]:
        return kind.entries(x)

    def new(self, made: Any) -> Any:
        return made

    def check_pattern(self, *args: Any) -> None:
        check_same(*args)


def _step(kind: Kind, key: Any) -> tuple[str, Any]:
    """Return the step of a path to the entry ``key``."""
    is_attribute = isinstance(kind, Objects) or type(key) is Attribute
    return ("attribute", str(key)) if is_attribute else ("item", key)


def _empty(kind: Kind, x: Any) -> Any:
    """Return an empty container or object of the class of ``x``; None if the class cannot be made without arguments."""
    try:
        return blank(type(x)) if isinstance(kind, Objects) else kind.blank(x)
    except Exception:
        return None
