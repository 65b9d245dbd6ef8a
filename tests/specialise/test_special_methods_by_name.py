"""A special method of an array called by name does what its operator does."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

PROGRAMS = [
    lambda a, x: (a.__setitem__(1, x), a.sum()),
    lambda a, x: a.__getitem__(slice(1, None)) * x,
    lambda a, x: (a.__iadd__(x), a * 1),
    lambda a, x: (a.__imul__(x).sum(), a * 1),
    lambda a, x: a.__rsub__(x) + a.__rtruediv__(x) * a.__pow__(2),
    lambda a, x: a.__matmul__(a) + a.__neg__() * a.__len__(),
    lambda a, x: (a.__lt__(x), a.__eq__(a).all(), float(a[0])),
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_a_special_method_by_name(f, target):
    plain, given = np.array([0.5, -1.0, 2.0]), np.array([0.5, -1.0, 2.0])
    expected, found = f(plain, 1.5), mo.jit(f, target=target)(given, 1.5)
    for y, z in zip(*(r if isinstance(r, tuple) else (r,) for r in (expected, found)), strict=True):
        np.testing.assert_allclose(0 if z is None else z, 0 if y is None else y)
    np.testing.assert_allclose(given, plain)
