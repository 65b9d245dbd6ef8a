"""NumPy's functions that call a user's function, and its iterators over arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo

random = np.random.default_rng(3)
V = random.uniform(0.5, 1.5, 5)
W = V[:3] + 2
A = random.uniform(-1, 1, (3, 4))
T = random.uniform(-1, 1, (2, 3, 4))


@np.vectorize
def product(x, y):
    return x * y + 1


@np.vectorize(otypes=[float], excluded=["k"])
def scaled(x, k):
    return x * k[0]


def local(x, y):
    @np.vectorize
    def f(t):
        return t * t * y

    return f(x)


def padder(vector, width, axis, kwargs):
    vector[: width[0]] = vector[width[0]] * 2
    vector[-width[1] :] = kwargs.get("z", 3.0)


CALLBACKS = {
    "vectorize": (lambda x, k: np.vectorize(lambda a, b: a * a * b)(x, k), A, 0.3),
    "vectorize with branches": (lambda x: np.vectorize(lambda a: a * a if a > 0 else -a)(x), A),
    "vectorize otypes": (lambda x: np.vectorize(lambda a: a * a, otypes=[float])(x), A),
    "vectorize two results": (lambda x: np.vectorize(lambda a: (a * a, 2 * a), otypes="dd")(x), A),
    "vectorize signature": (lambda x, y: np.vectorize(np.dot, signature="(n),(n)->()")(x, y), A, V[:4]),
    "vectorize two signatures": (lambda x: np.vectorize(lambda r: (r * 2, r.sum()), signature="(n)->(n),()")(x), A),
    "vectorize excluded": (lambda p, x: np.vectorize(np.polyval, excluded={0})(p, x), W, V),
    "vectorize excluded by name": (lambda p, x: np.vectorize(lambda p, x: p[0] * x, excluded=["p"])(p=p, x=x), W, V),
    "vectorize keywords": (lambda p, x: np.vectorize(lambda p, x: p * x)(p, x=x), 0.3, V),
    "vectorize cache": (lambda x: np.vectorize(lambda a: a * a, cache=True)(x), V),
    "vectorize a builtin": (lambda x: np.vectorize(math.sin)(x), V),
    "vectorize as decorator": (lambda x, y: product(x, y) + scaled(x, k=W), V, 0.3),
    "vectorize within": (local, V, 0.3),
    "frompyfunc": (lambda x: np.frompyfunc(lambda a, b: a * b, 2, 1)(x, 2.0).astype(float), V),
    "frompyfunc of numbers": (lambda x: np.frompyfunc(math.hypot, 2, 1)(x, 2.0), 1.5),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda line: line * line.sum(), 0, x), A),
    "apply_along_axis arguments": (lambda x, k: np.apply_along_axis(np.polyval, 1, x, k), A, 0.3),
    "apply_along_axis matrices": (lambda x: np.apply_along_axis(np.diag, -1, x), A),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x * x, [0, 2]), T),
    "fromfunction": (lambda k: np.fromfunction(lambda i, j: i * k + j**2 * k * k, (2, 3)), 0.4),
    "piecewise": (
        lambda x, k: np.piecewise(x, [x < 0.8, x > 1], [lambda t, a: t**2 * a, lambda t, a: a, 2.0], k),
        V,
        0.7,
    ),
    "piecewise of a number": (lambda x: np.piecewise(x, [x < 0.8], [lambda t: t * t, lambda t: t * 3]), 0.7),
    "pad": (lambda x: np.pad(x, 2, padder), V),
    "pad keywords": (lambda x, k: np.pad(x, 1, padder, z=k), A, 0.4),
    "pad by a value": (lambda x, k: np.pad(x, 2, constant_values=(k, k * k)), V, 0.4),
    "pad by a ramp": (lambda x, k: np.pad(x, 2, "linear_ramp", end_values=k), V, 0.4),
}


@pytest.mark.parametrize(("program", "args"), [(f, args) for f, *args in CALLBACKS.values()], ids=CALLBACKS)
def test_functions_that_call_back(program, args):
    mo.testing.check_gradients(program, *args)


def test_a_vectorized_function_is_recorded_anew_by_each_run():
    f = np.vectorize(lambda a: a * a, otypes=[float])
    gradient = mo.grad(lambda x: f(x).sum())
    assert gradient(V).tolist() == gradient(V).tolist() == (2 * V).tolist()
    mo.testing.check_gradients(lambda x: f(x), V)


def total(x):
    s = 0.0
    for e in np.nditer(x):
        s = s + e * e
    return s


def in_place(x):
    y = x * 1
    with np.nditer(y, op_flags=["readwrite"]) as entries:
        for e in entries:
            e[...] = 2 * e * e
    return y


def by_position(x):
    entries, s = np.nditer(x, flags=["multi_index"]), 0.0
    while not entries.finished:
        s = s + x[entries.multi_index] * entries[0] * entries.multi_index[0]
        entries.iternext()
    return s


def together(x, y):
    z = np.zeros_like(x)
    with np.nditer([x, y, z], op_flags=[["readonly"], ["readonly"], ["writeonly"]]) as entries:
        for a, b, c in entries:
            c[...] = a * b
    return z


def allocated(x):
    entries = np.nditer([x, None])
    with entries:
        for a, b in entries:
            b[...] = a * a
        return entries.operands[1]


def by_columns(x):
    return sum(np.sum(c * c * c[0]) for c in np.nditer(x, flags=["external_loop"], order="F"))


ITERATIONS = {
    "nditer": (total, A),
    "nditer, writing": (in_place, A),
    "nditer, index": (by_position, A),
    "nditer, several": (together, A, V[:4]),
    "nditer, allocating": (allocated, A),
    "nditer, columns": (by_columns, A),
    "ndenumerate": (lambda x: sum(i[0] * i[1] * e * e for i, e in np.ndenumerate(x)), A),
    "ndindex": (lambda x: sum(x[i] ** 2 * i[1] for i in np.ndindex(x.shape)), A),
    "flat": (lambda x: sum(e**2 for e in x.flat), A),
    "broadcast": (lambda x, y: np.array([a * b for a, b in np.broadcast(x, y)]), V, A[:, :1]),
    "fromiter": (lambda x: np.fromiter((e * e for e in x), float), V),
    "fromiter, counted": (lambda x: np.fromiter((e * e for e in x), dtype=np.float64, count=3), V),
}


@pytest.mark.parametrize(("program", "args"), [(f, args) for f, *args in ITERATIONS.values()], ids=ITERATIONS)
def test_iterators(program, args):
    mo.testing.check_gradients(program, *args)


def doubled_in_a_buffer(x):
    y = x * 1
    with np.nditer(y, ["buffered", "external_loop"], [["readwrite"]]) as chunks:
        for chunk in chunks:
            chunk[...] = 2 * chunk
    return y.sum()


def summed_in_a_buffer(x):
    return sum(
        np.sum(e) for e in np.nditer(x[::2], ["buffered", "external_loop"], op_dtypes=["f4"], casting="same_kind")
    )


@pytest.mark.parametrize("program", [doubled_in_a_buffer, summed_in_a_buffer])
def test_entries_in_a_buffer_are_refused(program):
    with pytest.raises(mo.NoDerivative, match="nditer"):
        mo.grad(program)(V)


def test_nested_iterators_are_refused():
    def program(x):
        rows, entries = np.nested_iters(x, [[0], [1]])
        return sum(e for _ in rows for e in entries)

    with pytest.raises(mo.NoDerivative, match="nested_iters"):
        mo.grad(program)(A)


def test_passive_operands_are_left_to_numpy():
    assert mo.grad(lambda x: x * sum(int(e) for e in np.nditer(np.arange(4))))(2.0) == 6.0


def shuffled(x):
    generator, old = np.random.default_rng(0), np.random.RandomState(1)
    y = x * 2
    generator.shuffle(y)
    z = generator.permuted(x, out=np.empty(5))
    return y**2, generator.permutation(x) * z, generator.choice(x, 3) * old.choice(x, 3), old.permutation(x) * x


def test_what_a_generator_moves():
    mo.testing.check_gradients(shuffled, V)
    mo.testing.check_gradients(lambda x: np.random.default_rng(0).permutation(x, axis=1) ** 2, A)


def test_the_method_resize_is_refused():
    def program(x):
        y = x * 1
        y.resize((2, 4), refcheck=False)
        return y.sum()

    with pytest.raises(mo.NoDerivative, match="np.resize"):
        mo.grad(program)(V)
