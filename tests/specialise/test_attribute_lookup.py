"""``__getattr__`` runs where Python runs it, and nowhere else: never for names that the compiler looks for."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo


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
