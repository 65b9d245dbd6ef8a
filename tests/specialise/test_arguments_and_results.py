"""Effects on arguments and the memory of results are Python's, in one table.

``result_tester`` lists what is compared.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from path_tester import PATHS
from specialise.result_tester import Box, compare, compiled

import morula as mo
from morula.core.testing.differences import numerical_vjp

# Arguments


def matrix():
    return np.arange(1.0, 7.0).reshape(2, 3)


def misaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    made = raw[1:].view(x.dtype).reshape(x.shape)
    made[...] = x
    assert not made.flags.aligned
    return made


def read_only(x):
    x.flags.writeable = False
    return x


LAYOUTS = {
    "in order": matrix,
    "by columns": lambda: np.asfortranarray(matrix()),
    "transposed": lambda: np.arange(1.0, 7.0).reshape(3, 2).T,
    "reversed": lambda: matrix()[::-1, ::-1],
    "with gaps": lambda: np.arange(24.0).reshape(4, 6)[::2, ::2],
    "rows of a wider one": lambda: np.arange(1.0, 11.0).reshape(2, 5)[:, 1:4],
    "misaligned": lambda: misaligned(matrix()),
    "read-only": lambda: read_only(matrix()),
    "repeated": lambda: np.broadcast_to(np.arange(1.0, 4.0), (2, 3)),
    "empty": lambda: np.zeros((0, 3)),
    "of integers": lambda: np.arange(1, 7, dtype=np.int32).reshape(2, 3),
    "complex": lambda: matrix() + 1j,
}


def cases(layouts):
    """Each layout in native code, and the first of them on XLA: how arrays stand in memory is seen before a target runs."""
    return [(layout, t) for t in PATHS if t != "eager" for layout in (layouts if t == "native" else layouts[:2])]


VIEWS = {
    "itself": lambda m, i: m,
    "...": lambda m, i: m[...],
    ":": lambda m, i: m[:],
    "slice": lambda m, i: m[1:],
    "row": lambda m, i: m[i],
    "last row": lambda m, i: m[-1],
    "column": lambda m, i: m[:, i],
    "element as an array": lambda m, i: m[i, 1, ...],
    "element": lambda m, i: m[i, 1],
    "reversed": lambda m, i: m[::-1],
    "steps": lambda m, i: m[:, ::-2],
    "slice at a number": lambda m, i: m[:, i : i + 2],
    "slice from a number": lambda m, i: m[i:],
    "slice to a number": lambda m, i: m[:i, ::-1],
    "new axis": lambda m, i: m[:, None, 1:],
    "T": lambda m, i: m.T,
    "transpose": lambda m, i: np.transpose(m, (1, 0)),
    "swapaxes": lambda m, i: m.swapaxes(0, 1),
    "moveaxis": lambda m, i: np.moveaxis(m, 0, 1),
    "same axes": lambda m, i: m.transpose(0, 1),
    "reshape": lambda m, i: m.reshape(3, -1) if m.size else m.reshape(3, 0),
    "reshape to one dimension": lambda m, i: m.reshape(-1),
    "reshape to the same": lambda m, i: m.reshape(m.shape),
    "reshape by columns": lambda m, i: m.reshape(-1, order="F"),
    "ravel": lambda m, i: m.ravel(),
    "ravel by columns": lambda m, i: np.ravel(m, order="F"),
    "flatten": lambda m, i: m.flatten(),
    "view": lambda m, i: m.view(),
    "squeeze": lambda m, i: m.squeeze(),
    "squeeze of one": lambda m, i: m[:, :1].squeeze(1),
    "diagonal": lambda m, i: np.diagonal(m),
    "another diagonal": lambda m, i: m.diagonal(1),
    "diag": lambda m, i: np.diag(m),
    "broadcast_to": lambda m, i: np.broadcast_to(m, (2, *m.shape)),
    "expand_dims": lambda m, i: np.expand_dims(m, 1),
    "atleast_2d": lambda m, i: np.atleast_2d(m),
    "atleast_3d": lambda m, i: np.atleast_3d(m),
    "split": lambda m, i: np.split(m, [1], 1),
    "flip": lambda m, i: np.flip(m),
    "rot90": lambda m, i: np.rot90(m),
    "einsum": lambda m, i: np.einsum("ij->ji", m),
    "einsum of a diagonal": lambda m, i: np.einsum("ii->i", m[:, : len(m)]),
    "real": lambda m, i: m.real,
    "imag": lambda m, i: m.imag,
    "conj": lambda m, i: m.conj(),
    "view of a view": lambda m, i: m.T[1:, ::-1].T[i:],
    "view of a reshape": lambda m, i: m.T.reshape(-1)[1:],
    "asarray": lambda m, i: np.asarray(m),
    "ascontiguousarray": lambda m, i: np.ascontiguousarray(m),
    "asfortranarray": lambda m, i: np.asfortranarray(m),
    "astype without copy": lambda m, i: m.astype(m.dtype, copy=False),
    "array": lambda m, i: np.array(m),
    "copy": lambda m, i: m.copy(),
    "index array": lambda m, i: m[:, [0, 1]],
    "mask": lambda m, i: m[:, np.array([True, False, True])],
    "rows": lambda m, i: list(m),
    "in containers": lambda m, i: {"a": [m, (m[1:], m)], "b": Box(rows=[m[1:], m])},
    "arithmetic": lambda m, i: m + m,
}


_OF_ROWS = {"row", "last row", "column", "element as an array", "element"}


@cache
def all_views(names):
    """A program that gives several views at once."""
    chosen = {name: VIEWS[name] for name in names}
    return lambda m, i: {name: view(m, i) for name, view in chosen.items()}


@pytest.mark.parametrize(("layout", "target"), cases([*LAYOUTS]))
def test_views_of_an_argument(layout, target):
    names = tuple(n for n in VIEWS if layout != "empty" or n not in _OF_ROWS)
    compare(all_views(names), lambda: (LAYOUTS[layout](),), target, 1)


@pytest.mark.parametrize("view", VIEWS)
def test_one_view(view):
    """A result that shares memory with nothing else of the result; layouts one after another through one function."""
    for layout in ("in order", "by columns", "reversed", "in order"):
        compare(VIEWS[view], lambda: (LAYOUTS[layout](),), "native", 1)  # noqa: B023


@pytest.mark.parametrize("layout", ["in order", "complex"])
def test_views_of_a_new_array(layout, target):
    names = tuple(n for n in VIEWS if n != "arithmetic")
    views = all_views(names)
    compare(_of_new(views), lambda: (LAYOUTS[layout](),), target, 1)


@cache
def _of_new(views):
    return lambda m, i: views(m * 2, i)


def views_of_zero_dimensions(z):
    parts = z[...], z.reshape(1), z[None], z.T, z.ravel(), z.view(), np.asarray(z), np.ascontiguousarray(z)
    return z, parts, z.copy(), np.array(z), z * 2, np.zeros(()), z[()]


def test_an_array_of_no_dimensions(target):
    compare(views_of_zero_dimensions, lambda: (np.array(3.0),), target)


# Writes


def write(m, which, i, x):
    """One of many writes, or none."""
    if which == 0:
        m[0] = x
    elif which == 1:
        m[i, 1] += x
    elif which == 2:
        m[:, i] *= x
    elif which == 3:
        m += x
    elif which == 4:
        m.T[0] = x
    elif which == 5:
        m.reshape(-1)[1] = x
    elif which == 6:
        m[m > 2.0] = x
    elif which == 7:
        m[[0, 1], [1, 0]] = x
    elif which == 8:
        np.add(m, x, out=m)
    elif which == 9:
        np.multiply(m[0], x, out=m[0])
    elif which == 10:
        m.fill(x)
    elif which == 11:
        m.sort(axis=0)
    elif which == 12:
        np.copyto(m, x)
    elif which == 13:
        for j in range(i + 2):
            m[0, j] *= x
    elif which == 14:
        m[0], m[1] = m[1].copy(), m[0].copy()
    elif which == 15:
        m[:, 1:] = m[:, :-1]
    elif which == 16:
        _write_in_a_call(m[::-1], x)
    elif which == 17:
        np.cumsum(m, axis=1, out=m)
    elif which == 18:
        m[i:] = m[i:] * x
    elif which == 19:
        np.fill_diagonal(m, x)
    elif which == 20:
        m[5, 0] = x
    elif which == 21:
        m[:, 0] = np.ones(3)
    return m, m.sum()


def _write_in_a_call(m, x):
    m[0, 0] = x
    m[1] -= x


WAYS = range(-1, 22)


WRITTEN = ["in order", "read-only", "by columns", "reversed", "with gaps", "misaligned", "repeated"]


@pytest.mark.parametrize(("layout", "target"), cases(WRITTEN))
def test_writes(layout, target):
    for which in WAYS:
        compare(write, lambda: (LAYOUTS[layout](),), target, which, 1, 9.0)


HOLDERS = {
    "list": (lambda m: [m, 1.0], lambda h: h[0]),
    "tuple": (lambda m: (m, m), lambda h: h[1]),
    "dict": (lambda m: {"m": m}, lambda h: h["m"]),
    "object": (lambda m: Box(m=m), lambda h: h.m),
    "nested": (lambda m: {"a": [Box(held=(m, [m]))]}, lambda h: h["a"][0].held[1][0]),
}


@cache
def write_held(get):
    def f(holder, on, x):
        m = get(holder)
        if on:
            m[0] = x
            m += x
        return m, m[1:], holder

    return f


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.parametrize("layout", ["in order", "read-only"])
def test_writes_in_containers(name, layout, target):
    make, get = HOLDERS[name]
    for on in (False, True):
        compare(write_held(get), lambda: (make(LAYOUTS[layout]()),), target, on, 9.0)


# Arguments that overlap


def overlap(first, second):
    def make():
        x = np.arange(8.0)
        return first(x), second(x)

    return make


OVERLAPS = {  # and whether compiled code refuses to write to one of the two
    "apart": (overlap(lambda x: x[:4], lambda x: x[4:]), False),
    "interleaved": (overlap(lambda x: x[::2], lambda x: x[1::2]), False),
    "columns": (overlap(lambda x: x.reshape(4, 2)[:, 0], lambda x: x.reshape(4, 2)[:, 1]), False),
    "the same array": (overlap(lambda x: x, lambda x: x), False),
    "partly the same": (overlap(lambda x: x[:4], lambda x: x[1:]), True),
    "reversed": (overlap(lambda x: x, lambda x: x[::-1]), True),
    "an element": (overlap(lambda x: x, lambda x: x[0:1].reshape(())), True),
    "repeated": (overlap(lambda x: x, lambda x: as_strided(x, (4,), (0,))), True),
    "empty": (overlap(lambda x: x, lambda x: x[:0]), False),
}


def of_two(a, b, which):
    if which == 1:
        a[0] = 5.0
    elif which == 2:
        a[1] = b.sum()
        b[...] = 3.0
    elif which == 3:
        b *= 2.0
    return a, b, a[1:], a.sum() + b.sum()


def only_read(a, b, which):
    return a[1:], b, a.sum() + b.sum() * which


@pytest.mark.parametrize("name", OVERLAPS)
def test_arguments_that_overlap(name, target):
    make, is_refused = OVERLAPS[name]
    compare(only_read, make, target, 2)
    for which in (0, 1, 2, 3):
        if is_refused:
            given, plain = make(), make()
            with pytest.raises(mo.BadInput, match="pass a copy"):
                mo.jit(of_two, target=target)(*given, which)
            assert [x.tolist() for x in given] == [x.tolist() for x in plain]
        else:
            compare(of_two, make, target, which)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: np.arange(3.0).astype(">f8"), "dtype >f8, which is not in native byte order: pass x.astype"),
        (lambda: np.ones(2, np.float16), r"no arrays of dtype float16: pass .*\n  in the argument \w+ of .*\.py:\d+\)"),
        (lambda: np.array([(1.0, 2)], [("a", float), ("b", int)]).view(np.recarray), "no arrays of dtype"),
        (lambda: np.array([1.0, None]), "no arrays of dtype object"),
    ],
    ids=["byte-swapped", "half", "records", "objects"],
)
def test_arrays_that_are_refused(make, message, target):
    for given in (make(), [make()], {"a": Box(m=make())}):
        with pytest.raises(mo.BadInput, match=message):
            mo.jit(lambda x: x, target=target)(given)


def written_then_raised(a, b, which):
    a[0] = 5.0
    try:
        b[0] = 6.0
    except ValueError as error:
        if which > 0:
            raise
        return str(error) == "assignment destination is read-only", a
    return False, a


def test_a_read_only_argument_may_be_caught(target):
    compare(written_then_raised, lambda: (np.arange(3.0), read_only(np.arange(3.0))), target, -1.0)
    compare(written_then_raised, lambda: (np.arange(3.0), np.arange(3.0)), target, 1.0)
    a, b = np.arange(3.0), read_only(np.arange(3.0))
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        mo.jit(written_then_raised, target=target)(a, b, 1.0)
    assert a.tolist() == [0.0, 1.0, 2.0]  # a compiled program that raises has changed nothing


# Gradients


def returns_views(a, c):
    x = a[1:] if c > 0 else a[1:] * 2.0
    return x, a[::-1], a


def loss(f, a, c):
    x, y, z = f(a, c)
    y[0] = y[1] * x[0]
    x[1] *= 3.0
    return (x * x).sum() + (y * z).sum()


@pytest.mark.parametrize("c", [1.0, -1.0])
def test_gradients_through_results_that_are_views(c, target):
    a = np.array([1.0, 2.0, 3.0, 4.0])
    f = returns_views
    expected = numerical_vjp(lambda a: loss(f, a.copy(), c), 1.0, a)[0][0]
    inside = mo.grad(lambda a: loss(compiled(f, target), a, c))
    around = mo.jit(mo.grad(lambda a: loss(f, a, c)), target=target)
    for gradient in (inside, around):
        assert np.allclose(gradient(a.copy()), expected, rtol=1e-6)
