"""NumPy's memory order decides whether ``reshape`` and ``ravel`` give views, and the result of order="K"."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

M = np.arange(6.0).reshape(2, 3)
CUBE = np.arange(24.0).reshape(2, 3, 4)


def _in_place(m):
    x = m.T.copy(order="K")
    x += 1.0
    return x


def _in_branch(m):
    if np.sum(m) < 100.0:
        x = m.T * 2.0
    else:
        x = m.T * 3.0
    return x


def _in_loop(m):
    x = m.T * 1.0
    for _ in range(int(3)):
        x = x * 2.0
    return x


def _in_range(m):
    x = m.T * 1.0
    for i in range(int(40)):
        x = x * 2.0 + i
    return x


def _in_while(m):
    x = m.T * 1.0
    while np.sum(x) < 100.0:
        x = x * 2.0
        x[0] = x[0] + 5.0
    return x


MADE = {
    "ufunc of a transposed array": lambda m: m.T * 2.0,
    "ufunc": lambda m: m * 2.0,
    "ufunc of both orders": lambda m: m + (m.T * 1.0).reshape(m.shape),
    "broadcast": lambda m: m.T + np.arange(1.0 * m.shape[0]),
    "two ufuncs": lambda m: np.abs(m.T * 2.0) + m.T,
    "ufunc of a part": lambda m: m[:, ::2].T * 2.0,
    "axes swapped": lambda m: m.swapaxes(0, 1) * 2.0,
    "axes turned": lambda m: np.moveaxis(m, 0, -1) * 2.0,
    "where": lambda m: np.where(m.T > 2.0, m.T, 0.0),
    "comparison": lambda m: m.T > 2.0,
    "astype": lambda m: m.T.astype(np.float32),
    "astype in order": lambda m: m.T.astype(np.float32, order="C"),
    "method copy": lambda m: m.T.copy(),
    "method copy, kept": lambda m: m.T.copy(order="K"),
    "copy": lambda m: np.copy(m.T),
    "copy by columns": lambda m: np.copy(m, order="F"),
    "empty_like": lambda m: np.empty_like(m.T) != np.nan,
    "zeros_like": lambda m: np.zeros_like(m.T),
    "zeros by columns": lambda m: np.zeros(m.shape, order="F"),
    "array": lambda m: np.array(m.T),
    "array of arrays": lambda m: np.array([m.T, m.T]),
    "asfortranarray": lambda m: np.asfortranarray(m),
    "ascontiguousarray": lambda m: np.ascontiguousarray(m.T),
    "concatenate": lambda m: np.concatenate([m.T, m.T]),
    "stack": lambda m: np.stack([m.T, m.T]),
    "matmul": lambda m: m.T @ np.ones((m.shape[-3 if m.ndim > 2 else 0], 2)),
    "sum": lambda m: np.sum(m.T * 1.0, axis=0, keepdims=True),
    "sort": lambda m: np.sort(m.T),
    "argsort": lambda m: np.argsort(m.T),
    "cumsum": lambda m: np.cumsum(m.T, axis=0),
    "clip": lambda m: np.clip(m.T, 1.0, 3.0),
    "round": lambda m: np.round(m.T),
    "einsum": lambda m: np.einsum("i...->...i", m) * 1.0,
    "einsum of two": lambda m: np.einsum("ij...,ij...->ji...", m, m),
    "take": lambda m: np.take(m.T, np.array([1, 0]), axis=1),
    "rows": lambda m: m.T[np.array([1, 0])],
    "columns": lambda m: m[:, np.array([1, 0])],
    "roll": lambda m: np.roll(m.T, 1, axis=0),
    "outer": lambda m: np.multiply.outer(m[0], m[:, 0]),
    "vectorize": lambda m: np.vectorize(lambda x: 2.0 * x)(m.T),
    "in place": _in_place,
    "of a branch": _in_branch,
    "of a loop": _in_loop,
    "of a long loop": _in_range,
    "of a while": _in_while,
}

DONE = {
    "reshape(-1)": lambda x: x.reshape(-1),
    "reshape": lambda x: x.reshape(2, -1),
    "reshape of the transpose": lambda x: x.T.reshape(-1),
    "reshape by columns": lambda x: np.reshape(x, -1, order="F"),
    "reshape as it stands": lambda x: x.reshape(-1, order="A"),
    "ravel": lambda x: x.ravel(),
    "ravel K": lambda x: np.ravel(x, order="K"),
    "ravel A": lambda x: x.ravel("A"),
    "ravel F": lambda x: np.ravel(x, order="F"),
    "flatten K": lambda x: x.flatten("K"),
    "flatten A": lambda x: x.flatten("A"),
}


def all_done(make):
    def f(m):
        found = []
        for do in DONE.values():
            x = make(m)
            v = do(x)
            found.append(v.copy())
            v[0] = 9.0
            found.append(x.copy(order="C"))
            x[-1] = 7.0
            found.append(v.copy())
        return found

    return f


LAYOUTS = {
    "in order": lambda: M.copy(),
    "by columns": lambda: np.asfortranarray(M),
    "cube, axes turned": lambda: CUBE.transpose(1, 2, 0).copy().transpose(2, 0, 1),
}


def compare(f, make, target):
    found, expected = mo.jit(f, target=target)(make()), f(make())
    names = [f"{name}: {what}" for name in DONE for what in ("elements", "source", "after the source is written")]
    for name, a, b in zip(names, found, expected, strict=True):
        assert a.shape == b.shape and np.array_equal(a, b), (name, a, b)


CASES = [(made, layout, "native") for made in MADE for layout in ("in order", "cube, axes turned")]
CASES += [
    (made, "by columns", "native")
    for made in ("ufunc", "ufunc of both orders", "ufunc of a part", "axes swapped", "columns", "roll")
]
CASES += [(made, "in order", "xla") for made in ("ufunc of a transposed array", "of a loop")]


@pytest.mark.parametrize(("made", "layout", "target"), CASES)
def test_what_is_a_view_of_a_new_array(made, layout, target):
    compare(all_done(MADE[made]), LAYOUTS[layout], target)


@pytest.mark.parametrize("layouts", [("in order", "by columns"), ("by columns", "in order")])
def test_one_function_for_arguments_of_several_orders(layouts):
    """What has been found for one order of an argument does not serve for another."""

    def f(m):
        x = m * 2.0
        v = x.reshape(-1)
        v[0] = 9.0
        return x, np.ravel(m, order="K") * 1.0

    compiled = mo.jit(f)
    for layout in (*layouts, *layouts):
        for a, b in zip(compiled(LAYOUTS[layout]()), f(LAYOUTS[layout]()), strict=True):
            np.testing.assert_array_equal(a, b)


def _either(m, k):
    if k > 0.0:
        x = m * 2.0
    else:
        x = (m.T * 2.0).T
        x = np.copy(x, order="F")
    return x


def _write_view(m, k):
    x = _either(m, k)
    v = x.reshape(-1)
    v[0] = 9.0
    return x


def _write_source(m, k):
    x = _either(m, k)
    v = x.ravel()
    x[0] = 9.0
    return v


def _elements(m, k):
    return np.ravel(_either(m, k), order="K")


def _turning(m, k):
    x = m[:, :2] * 1.0
    while k > 0.0:
        v = x.reshape(-1)
        v[0] = v[0] + 1.0
        x = np.copy(x.T, order="K")
        k = k - 1.0
    return x


def _turned_by_another(m, k):
    x, z = m * 1.0, m * 1.0
    while k > 0.0:
        x = z * 1.0
        z = np.copy(z, order="F")
        k = k - 1.0
    v = x.reshape(-1)
    v[0] = 9.0
    return x


@pytest.mark.parametrize("write", [_write_view, _write_source, _turned_by_another])
def test_writes_where_the_order_is_not_known(write):
    with pytest.raises(mo.BadInput, match=r"(?s)may or may not share memory with its reshape.*np\.ascontiguousarray"):
        mo.jit(write)(M, 1.0)


def test_elements_where_the_order_is_not_known():
    with pytest.raises(
        mo.BadInput, match=r"(?s)order='K' of an array whose order in memory is not known.*order='C' or 'F'"
    ):
        mo.jit(_elements)(M, 1.0)


def test_a_loop_that_changes_the_order():
    with pytest.raises(mo.BadInput, match=r"x has another memory order after an iteration.*np\.ascontiguousarray"):
        mo.jit(_turning)(M, 2.0)


def test_reading_where_the_order_is_not_known():
    f = lambda m, k: _either(m, k).reshape(-1) * 2.0 + _turned_by_another_read(m, k)  # noqa: E731
    for k in (0.0, 1.0, 3.0):
        np.testing.assert_array_equal(mo.jit(f)(M, k), f(M, k))


def _turned_by_another_read(m, k):
    x, z = m * 1.0, m * 1.0
    while k > 0.0:
        x = z * 2.0
        z = np.copy(z, order="F")
        k = k - 1.0
    return x.reshape(-1)


def test_rows_of_a_mask():
    """An array whose length is known only when the program runs."""

    def f(m):
        x = m[m[:, 0] > 0.0] * 2.0
        v = x.reshape(-1)
        v[0] = 9.0
        return x * 1.0

    np.testing.assert_array_equal(mo.jit(f)(M), f(M))


def test_inside_of_a_derivative():
    def loss(m):
        x = m * 2.0
        v = x.reshape(-1)
        v[0] = 9.0
        return np.sum(x * m)

    for m in (M, np.asfortranarray(M)):
        np.testing.assert_array_equal(mo.jit(lambda m: mo.grad(loss)(m))(m), mo.grad(loss)(m))


def test_views_of_the_arguments_of_a_mesh():
    def f(a, b):
        rows, columns = np.ix_(a, b)
        rows[0, 0] = 9.0
        return a * 1.0, columns * 1.0

    for x, y in zip(mo.jit(f)(np.arange(2.0), np.arange(3.0)), f(np.arange(2.0), np.arange(3.0)), strict=True):
        np.testing.assert_array_equal(x, y)

    def g(a, b):
        x, y = np.meshgrid(a, b, copy=False, sparse=True)
        a[0] = 5.0
        return x + y

    with pytest.raises(mo.BadInput, match=r"np\.meshgrid\(copy=False\).*leave out copy=False"):
        mo.jit(g)(np.arange(2.0), np.arange(3.0))
    h = lambda a, b: sum(np.meshgrid(a, b, copy=False))  # noqa: E731
    np.testing.assert_array_equal(mo.jit(h)(M[0], M[1]), h(M[0], M[1]))


def _put(m):
    x = m.T * 2.0
    np.put(x, [1], 5.0)
    return x


def _flat(m):
    x = m.T * 2.0
    x.flat[1] = 5.0
    return x


@pytest.mark.parametrize(("write", "remedy"), [(_put, r"write a\[i, j\] = x"), (_flat, "write to the array")])
def test_writes_by_flat_indices(write, remedy):
    with pytest.raises(mo.BadInput, match=f"is not C-contiguous cannot be compiled; {remedy}"):
        mo.jit(write)(M)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_ascontiguousarray_is_in_order_whatever_it_copies(target):
    """The order of a stack of solutions cannot be found on samples, whose matrices are singular."""

    def f(a, b):
        x = np.zeros((3, 2))
        for _ in range(3):
            if b[0, 0, 0] < 5.0:
                x = x + np.ascontiguousarray(np.linalg.solve(a, b)[..., 0].T)
        return np.reshape(x, -1)

    a, b = np.eye(3) + np.zeros((2, 3, 3)), np.arange(6.0).reshape(2, 3, 1)
    assert mo.jit(f, target=target)(a, b).tolist() == f(a, b).tolist()
