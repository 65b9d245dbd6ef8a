"""Forward mode by the transposed pullbacks of records gives the tangents that the formulas of their kinds give."""

import numpy as np
import pytest

import morula as mo
from morula.core.eager.arrays import apply, plain_calls
from morula.core.eager.forward.pushes import PUSHES
from morula.core.eager.libraries import builtin_functions
from morula.core.eager.recorded import access

KINDS = (
    apply.pull_back,
    apply.pull_back_binary,
    plain_calls.pull_elementwise,
    plain_calls.pull_entries,
    builtin_functions.to_each_term,
    builtin_functions.to_each_float,
    access.getitem_back,
    access.entry_back,
)
X = np.array([0.7, 1.2, 0.4])


def of_arrays(x):
    y = np.sin(x) * x / (1.0 + x[::-1] ** 2)
    return np.outer(y, x) @ np.exp(-x) + y[1]


def of_lists(x):
    a, b = float(x[0]), x[1]
    entries = [a * b, np.cos(a), 2, b]
    return np.array(entries) * sum([a, b, a * a]) + max(a, b)


def of_fields(x):
    t = np.zeros(3, dtype=[("p", float), ("m", float, (2,)), ("k", int)])
    t["p"] = x
    t["m"][:, 1] = x * x
    row = t[1]
    row["p"] *= t["m"][2][1]
    return t["p"][1] * t["p"] + t["m"][:, 1][2]


def of_views(x):
    grid = np.outer(x, x)
    last = grid.T[-1]
    last[0] += grid[1][1]
    return last[1] * grid.ravel()[:4].reshape(2, 2)


def of_buffers(x):
    view = memoryview(x * 2.0)
    return np.asarray(view)[1] * np.asarray(view)[::2] + np.frombuffer(view)[0]


@pytest.mark.parametrize("f", [of_arrays, of_lists, of_fields, of_views, of_buffers])
def test_transposed_pullbacks_give_the_tangents_of_the_formulas(f, monkeypatch):
    v = np.array([0.3, -1.1, 0.8])
    y, dy = mo.jvp(f, (X,), (v,))
    jacobian = mo.jacobian(f, mode="reverse")(X)
    np.testing.assert_allclose(dy, jacobian @ v, rtol=1e-13)
    for kind in KINDS:
        monkeypatch.delitem(PUSHES, kind)
    again, slope = mo.jvp(f, (X,), (v,))
    np.testing.assert_allclose(again, y, rtol=0)
    np.testing.assert_allclose(slope, dy, rtol=1e-13)
