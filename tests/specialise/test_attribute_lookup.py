"""Attributes are those of the user's objects: ``__getattr__`` runs where Python runs it, and no name is the compiler's."""

from __future__ import annotations

import ast
import copy
import inspect
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import pytest

import morula as mo
import morula.core.specialise


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __getattr__(self, name):
        raise AssertionError(f"asked for {name}")

    def __call__(self, z):
        return self.x * z

    def __len__(self):
        return 3

    def __iter__(self):
        return iter((self.x, self.y))

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __eq__(self, other):
        return self.x is other.x


class WithDict(Slotted):
    __slots__ = ("__dict__",)


class Swizzled:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __getattr__(self, name):  # if x is not set, it calls itself without end
        try:
            return tuple([(self.x, self.y)["xy".index(letter)] for letter in name])
        except ValueError:
            raise AttributeError(name) from None

    def __add__(self, other):
        return Swizzled(self.x + other.x, self.y + other.y)

    def __copy__(self):
        return self.__class__(self.x, self.y)


class Sourced:
    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        if name == "unit":
            return self._data["unit"]
        for source in (self._data, self.more):
            if name in source:
                return source[name]
        raise AttributeError(name)

    @property
    def more(self):
        return {"scale": self._data["x"] * 2.0}


@pytest.mark.parametrize("kind", [Slotted, WithDict])
def test_it_is_not_asked_for_names_that_the_program_does_not_read(kind, target):
    outside = kind(3.0, 4.0)

    def used(x):
        made = kind(x, 2.0)
        held = [made, {"k": made}]
        y = made(x) + held[1]["k"].x + outside(x) + len(made) * made[0] + sum(made)
        if x > 1:
            made.x = made.x * x
        for _ in range(2):
            made.y = made.y + made.x
        y = y + sum(map(made, [1.0, x])) + (made is outside) + (made == made) + np.sum(np.array([*made]))
        return y + made.y + (made if x > 5 else outside).x

    def given(p, x):
        p.x = p.x * x
        return p(x) + p.y, p

    assert mo.jit(mo.grad(used), target=target)(1.5) == mo.grad(used)(1.5)
    y, p = mo.jit(given, target=target)(kind(1.0, 2.0), 1.5)
    assert (y, p.x, p.y) == (4.25, 1.5, 2.0)
    g = mo.grad(mo.jit(lambda p, x: given(p, x)[0], target=target))(kind(1.0, 2.0), 1.5)
    assert (g.x, g.y) == (2.25, 1.0)


def test_it_is_asked_for_names_that_the_program_reads(target):
    def swizzled(x):
        v = Swizzled(x, 2.0 * x)
        w = (v + Swizzled(1.0, x)).__copy__()
        return w.x * v.y + w.yx[0] * w.xy[1]

    def sourced(x):
        d = Sourced({"x": x * x, "unit": 3.0})
        return d.x * d.unit + d.scale * x

    assert mo.jit(mo.grad(swizzled), target=target)(1.5) == mo.grad(swizzled)(1.5) == 4 * 1.5 + 2 + 18 * 1.5
    assert mo.jit(mo.grad(sourced), target=target)(1.5) == mo.grad(sourced)(1.5) == 6 * 1.5 + 6 * 1.5**2


def test_objects_may_have_any_attribute_that_the_compiler_has(target):
    files = Path(morula.core.specialise.__file__).parent.rglob("*.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr[:2] != "__"}

    class Named:
        def __init__(self, w, v=1):
            self.w, self.v = w, v

        def turned(self):
            made = Named(0)
            made.w, made.v = -self.w, self.v
            return made

        def __call__(self, t):
            return self.w * t

    for name in names - {"w", "v", "turned"}:
        setattr(Named, name, 7)

    def returned_early(a, t):
        made = Named(2)
        if t < 0.0:
            a = a.turned()
        if a.w < 0.1:
            return made
        made.w = a.w
        return made

    def looked_for(items, t):
        found = None
        for e in items:
            if e.w > t:
                found = e
                break
        return found

    def used(x, t):
        a, b = Named(x, t), Named(t, 3)
        y = returned_early(a, t).w * x + (a if x > t else b).w
        for k in range(3):
            a, b = b, a
            b.v = b.v * x + k
        while abs(a.w) < 4.0:
            a = Named(a.w * 2.0, a.v)
        found = looked_for([a, b], t)
        try:
            if x < 0:
                raise ValueError(a)
        except ValueError as error:
            y = y + error.args[0].w
        y = y + a.v * b.v + a(x) + sum(map(b, [x, t])) + a.storage + max([a, b], key=lambda e: e.w).w
        return y if found is None else y + found.w

    compiled, eager = mo.jit(mo.value_and_grad(used, (0, 1)), target=target), mo.value_and_grad(used, (0, 1))
    for point in [(0.7, 0.5), (0.7, -0.5), (-0.3, 0.2), (9.0, 0.1)]:
        assert np.allclose(np.hstack(compiled(*point)), np.hstack(eager(*point)), rtol=1e-13)


@runtime_checkable
class HasNamespace(Protocol):
    shape: tuple[int, ...]

    def __array_namespace__(self): ...


def test_what_numpys_arrays_say_of_themselves(target):
    def used(a):
        names = a.__array_namespace__()
        b = copy.copy(a)
        b[0] = 2.0 * b[0]
        c = b.__copy__()
        c.partition(1)
        d = copy.deepcopy(a).to_device(a.device)
        y = names.sum(b * d) + c[0] + a.__array_priority__
        for e in a.__iter__():
            y = y + e * e
        if isinstance(a, HasNamespace) and not isinstance(a[0], HasNamespace) and hasattr(a, "__array_namespace__"):
            y = y * a[1]
        match a:
            case HasNamespace():
                return y
        return 0.0

    a = np.array([1.0, 3.0, -2.0])
    y, gradient = mo.value_and_grad(used)(a)
    compiled = mo.jit(mo.value_and_grad(used), target=target)(a)
    assert compiled[0] == y == used(a) and np.allclose(compiled[1], gradient, rtol=1e-14)
    with pytest.raises(ValueError, match="Unsupported device"):
        mo.jit(lambda a: a.to_device("gpu"), target=target)(a)


def test_static_lookup_sees_the_attributes_of_arrays_and_numbers():
    def program(x):
        found = [name for name in ("shape", "__dict__", "ndim", "nothing") if found_statically(x, name)]
        found += [name for name in ("real", "__len__", "__doc__") if found_statically(x[0], name)]
        mro = type.__dict__["__mro__"]
        try:
            mro.__get__(x)
        except TypeError as error:
            text = str(error)
        return x[0] * len(found) + len(text), found, np.ndarray.shape.__get__(x)

    x = np.array([1.5, 2.0])
    (value, *rest), (expected, *others) = mo.jit(program)(x), program(x)
    assert value == expected
    assert rest == others


def found_statically(x, name):
    return inspect.getattr_static(x, name, None) is not None


class _Checked:
    """The property ``scale`` stands before the entry of ``__dict__`` in which it keeps its value, and may not be set or removed."""

    def __init__(self, scale):
        self.__dict__["scale"] = scale

    @property
    def scale(self):
        return 10.0 * self.__dict__["scale"]

    def double(self):
        self.__dict__["scale"] = 2.0 * self.__dict__["scale"]


class _CheckedError(ValueError, _Checked):
    __init__ = _Checked.__init__


class _CheckedList(list, _Checked):
    pass


def _read(c, x):
    return c.scale * x


def _changed(c, x):
    c.double()
    return c.scale * x


def _returned(c, x):
    c.double()
    return c, _Checked(c.scale * x)


def _around(c, x):
    return mo.grad(_changed, 1)(c, x) * x


def _raised(c, x):
    if x > 2.0:
        error = _CheckedError(x)
        error.double()
        raise error
    return x


def _caught(c, x):
    try:
        return _raised(c, x)
    except _CheckedError as error:
        return error.scale


def _made(kind):
    c = kind.__new__(kind)
    c.__dict__["scale"] = 1.5
    return c


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("kind", [_Checked, _CheckedList])
@pytest.mark.parametrize("f", [_read, _changed, _returned, _around, _caught])
def test_attributes_stored_under_the_name_of_a_property(f, kind, target):
    def numbers(y):
        return [e.__dict__["scale"] if isinstance(e, _Checked) else e for e in (y if type(y) is tuple else (y,))]

    for x in (3.0, 1.0):
        here, there = _made(kind), _made(kind)
        assert numbers(mo.jit(f, target=target)(here, x)) == numbers(f(there, x))
        assert here.__dict__ == there.__dict__
        if f is not _returned:
            found = mo.jit(mo.grad(f, (0, 1)), target=target)(_made(kind), x)
            expected = mo.grad(f, (0, 1))(_made(kind), x)
            assert numbers(found) == numbers(expected)
