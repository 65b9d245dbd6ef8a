"""Ranges whose bounds are known only at run time have the values, methods and errors of Python's."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

RANGES = {
    "start and stop": lambda n: range(n - 3, 2 * n),
    "every third": lambda n: range(1, 4 * n, 3),
    "falling": lambda n: range(2 * n, n - 2, -2),
}
USES = {
    "length": len,
    "truth": bool,
    "last": lambda r: r[-1],
    "the fourth": lambda r: r[3],
    "beyond": lambda r: r[9],
    "before": lambda r: r[-8],
    "bounds": lambda r: (r.start, r.stop, r.step),
    "contains": lambda r: (4 in r, 5 in r, -1 in r),
    "not in": lambda r: 6 not in r,
    "index": lambda r: r.index(4),
    "count": lambda r: r.count(6),
    "equal": lambda r: (r == range(1, 8), r == range(0, 0), r == range(1, 16, 3), r != range(8, 2, -2), r == [1]),
    "sum": sum,
    "sum from the end": lambda r: sum(i * k for i, k in enumerate(reversed(r))),
    "of a slice": lambda r: sum(r[1:]) + 100 * len(r[::2]),
    "slices": lambda r: (r[:-1], r[::-1], r[-2:], r[1:9:2], r[8:1:-3]),
    "itself": lambda r: r,
    "kind": lambda r: isinstance(r, range) and type(r) is range and not isinstance(r, list),
    "text": lambda r: f"{len(r)}" is not None and str(r) is not None,
    "any": lambda r: any(k == 4 for k in r),
    "zipped": lambda r: sum(a * b for a, b in zip(r, r[::-1])),
}


@pytest.mark.parametrize("form", RANGES)
def test_a_range_is_used_as_in_python(form, target):
    for use in USES if target == "native" else ("last", "beyond", "slices", "equal", "sum"):

        def program(x, use=USES[use]):
            return use(RANGES[form](int(x[0])))

        compiled = mo.jit(program, target=target)
        for n in (0.0, 1.0, 4.0):
            try:
                expected = program(np.array([n]))
            except (IndexError, ValueError) as error:
                with pytest.raises(type(error)):
                    compiled(np.array([n]))
                continue
            found = compiled(np.array([n]))
            assert found == expected and type(found) is type(expected), (use, n)


def weighted(x, m):
    n = int(m[0])
    chosen = range(n, 3 * n, 2)
    total = 0.0 * x[0]
    if chosen:
        total = total + x[chosen[-1] % 3] ** 2
    for k in chosen[1:]:
        total = total + x[k % 3] * k
    return total


@pytest.mark.parametrize("n", [0, 1, 4])
def test_derivatives_along_a_range(check, n):
    check(weighted, np.array([0.5, -1.5, 2.0]), np.array([float(n)]), argnums=(0,))
