"""`check`: one assertion that a program is differentiated as Python runs it.

The reference is numerical and knows nothing of the engine: central differences at halving steps, extrapolated to step
zero (Richardson 1911; Ridders, Adv. Eng. Software 4 (1982) 75).  It is accurate to about 1e-11 for programs that are
smooth within 0.02 of the point.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import morula as mo

Path = tuple[Any, ...]
OPAQUE = (FunctionType, ModuleType, type, str, bytes)


def children(tree: Any) -> list[tuple[Any, Any]]:
    """The named parts of a container, an array or an object."""
    if isinstance(tree, np.ndarray):
        return [(i, tree[i]) for i in np.ndindex(tree.shape)] if tree.dtype.kind in "fc" else []
    if isinstance(tree, dict):
        return list(tree.items())
    if isinstance(tree, (list, tuple)):
        return list(enumerate(tree))
    if isinstance(tree, OPAQUE) or isinstance(tree, (int, float, complex, np.generic)) or tree is None:
        return []
    if not isinstance(tree, object) or callable(tree) and not hasattr(tree, "__dict__"):
        return []
    slots = [name for cls in type(tree).__mro__ for name in getattr(cls, "__slots__", ())]
    names = [*getattr(tree, "__dict__", {}), *(name for name in slots if hasattr(tree, name))]
    return [(name, getattr(tree, name)) for name in names]


def leaves(tree: Any, path: Path = ()) -> Iterator[Path]:
    """The paths to the inexact numbers in a tree."""
    if isinstance(tree, (float, complex, np.inexact)):
        yield path
    for key, child in children(tree):
        yield from leaves(child, (*path, key))


def at(tree: Any, path: Path) -> Any:
    for key in path:
        if isinstance(tree, (list, tuple, dict, np.ndarray)):
            tree = tree[key]
        else:
            tree = getattr(tree, key)
    return tree


def nudged(tree: Any, path: Path, step: complex) -> Any:
    """A copy of the tree with one leaf moved by `step`."""
    if not path:
        return type(tree)(tree + step)
    key, rest = path[0], path[1:]
    child = nudged(at(tree, (key,)), rest, step)
    if isinstance(tree, tuple):
        parts = [child if i == key else part for i, part in enumerate(tree)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    result = copy.copy(tree)
    if isinstance(tree, (list, dict, np.ndarray)):
        result[key] = child
    else:
        object.__setattr__(result, key, child)
    return result


def derivative(g: Callable[[float], float], step: float = 0.02, levels: int = 5) -> float:
    """The derivative of g at 0, by Richardson extrapolation of central differences."""
    row: list[float] = []
    for level in range(levels):
        h = step / 2**level
        new = [(g(h) - g(-h)) / (2 * h)]
        for order, old in enumerate(row, start=1):
            new.append(new[-1] + (new[-1] - old) / (4**order - 1))
        row = new
    return row[-1]


def numerical(f: Callable[..., Any], args: tuple[Any, ...], path: Path) -> Any:
    """dL/dx at one leaf, and dL/dx + i dL/dy at a complex one; the leaf's type decides."""

    def along(direction: complex) -> float:
        return derivative(lambda t: float(f(*copy.deepcopy(nudged(args, path, t * direction)))))

    if isinstance(at(args, path), (complex, np.complexfloating)):
        return along(1) + 1j * along(1j)
    return along(1)


def same(a: Any, b: Any) -> bool:
    """Equality of two trees down to types, dtypes, shapes and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if children(a) and not isinstance(a, (float, complex)):
        return same(dict(children(a)), dict(children(b)))
    if dataclasses.is_dataclass(a) or type(a).__eq__ is not object.__eq__:
        return bool(a == b) or (a != a and b != b)
    return True


def check_program(f: Callable[..., Any], *args: Any, rtol: float = 1e-8, atol: float = 1e-9) -> tuple[Any, ...]:
    """Assert that f's value, its effects on its arguments and its gradient are right; return the gradient."""
    plain_args = copy.deepcopy(args)
    plain = f(*plain_args)

    run_args = copy.deepcopy(args)
    y, back = mo.vjp(f, *run_args)
    assert same(y, plain), f"the value is {y!r}, Python's is {plain!r}"
    assert same(run_args, plain_args), f"the arguments became {run_args!r}, Python leaves {plain_args!r}"
    one = type(plain)(1)
    gradient = back(one)
    assert same(run_args, plain_args), f"going back changed the arguments to {run_args!r} from {plain_args!r}"
    assert type(gradient) is tuple and len(gradient) == len(args)
    assert same(back(one), gradient), "going back a second time gave another gradient"
    assert same(mo.gradient(f, *copy.deepcopy(args)), gradient), "gradient and vjp disagree"

    for i, arg in enumerate(args):
        for path in leaves(arg, (i,)):
            got, expected = at(gradient, path), numerical(f, args, path)
            assert np.isclose(got, expected, rtol=rtol, atol=atol), (
                f"argument {i}{list(path[1:])}: got {got!r}, numerically {expected!r}"
            )
    return gradient


@pytest.fixture
def check() -> Callable[..., tuple[Any, ...]]:
    return check_program
