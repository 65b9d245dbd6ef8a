"""Arrays in the structured tier: shapes that are known while compiling, tuples of arrays, functions of matrices.

Each program is compiled, and its gradient is that of the tape, of differences, and of the second run for other shapes.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from fuzz.judge import recording

import morula as mo
from morula.core.eager.recorded.compiled_calls import parameters
from morula.core.eager.structured.functions import compiled_for
from morula.core.testing.differences import ridders

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 4.0 * np.eye(4)
B = RNG.normal(size=(4, 2))
V = RNG.normal(size=4)
TALL = RNG.normal(size=(5, 3))
READINGS = RNG.normal(size=(6, 4))


def sums_by_shape(a):
    n, m = a.shape
    return np.sum(np.ones((m, n)) @ a) * a.size / len(a) + a.ndim * np.trace(a @ a.T)


def shorter(x):
    y = x
    for _ in range(3):
        y = y[1:] * len(y)
    return np.sum(y**2) + y.size * y.shape[0]


def reshaped(a):
    b = a.reshape(2, -1).transpose(1, 0)
    total = np.zeros(b.shape[1])
    for row in b:
        total = total + np.sin(row)
    return total @ total


def made_by_dtype(x):
    return np.sum(np.zeros(len(x), dtype=int) + np.full(4, 2) * x * np.arange(4))


def filtered(a):
    x, p, total = np.zeros(4), np.eye(4), 0.0
    for k in range(len(READINGS)):
        p = a @ p @ a.T / 20.0 + np.eye(4)
        e = READINGS[k] - a @ x
        gain = np.linalg.solve(p + np.eye(4), p).T
        total += e @ np.linalg.solve(p, e)
        x, p = x + gain @ e, p - gain @ p
    return total


def summed_at_the_end(a):
    x = np.ones(4)
    for _ in range(3):
        x = x + np.tanh(a @ x)
    return np.sum(x)


def unused_at_the_end(a):
    x, y = np.ones(4), 0.0
    for _ in range(3):
        y, x = np.sum(x), a @ x
    return y


def log_density(a, v):
    c = np.linalg.cholesky(a @ a.T)
    z = scipy.linalg.solve_triangular(c, v, lower=True)
    return -0.5 * z @ z - np.sum(np.log(np.diag(c)))


def determinants(a):
    t = np.linalg.slogdet(a)
    return t[1] + t.logabsdet * t[-1] + np.linalg.det(a) + np.linalg.slogdet(a @ a).logabsdet


def spectral(a):
    lam, v = np.linalg.eigh(a + a.T)
    return np.sum((v * np.exp(0.1 * lam)) @ v.T * a) + np.sum(lam)


def by_singular_values(a):
    f = np.linalg.svd(a, full_matrices=False)
    return np.sum((f.U * f[1] ** 2) @ f.Vh * a) + np.sum(f.S)


def orthogonal(a, b):
    q, r = np.linalg.qr(a)
    return np.sum(np.linalg.solve(r, q.T @ b) ** 2) + np.sum(np.log(np.abs(np.diagonal(r))))


def on_one_path(a):
    q, r = np.linalg.qr(a)
    if np.sum(r) > 0.0:
        y = np.sum(r**2)
    else:
        y = np.sum(q * r)
    return y


def contracted(a, b):
    return np.einsum("ij,jk,ik->", a, b, b) + np.sum(np.einsum("ij,jk->ki", a, b) ** 3)


def of_modules(xp, linalg):
    def loss(a):
        return xp.sum(linalg.inv(a) ** 2) + xp.sum(linalg.expm(a.T @ a / 50.0))

    return loss


PROGRAMS = {
    "shapes": (sums_by_shape, TALL),
    "shorter": (shorter, RNG.normal(size=7)),
    "reshaped": (reshaped, V),
    "integers": (made_by_dtype, V),
    "filter": (filtered, A),
    "sum of a loop": (summed_at_the_end, A),
    "unused result of a loop": (unused_at_the_end, A),
    "density": (log_density, A, V),
    "determinants": (determinants, A),
    "eigenvalues": (spectral, A),
    "singular values": (by_singular_values, TALL),
    "QR": (orthogonal, TALL, RNG.normal(size=5)),
    "branch": (on_one_path, A),
    "other branch": (on_one_path, -A),
    "einsum": (contracted, A, RNG.normal(size=(4, 4))),
    "modules": (of_modules(np, scipy.linalg), A),
}


def along(f, args, directions):
    return ridders(lambda t: float(f(*(x + t * d for x, d in zip(args, directions)))), 1e-3)[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_array_programs_are_those_of_the_tape_and_of_differences(name):
    f, *args = PROGRAMS[name]
    assert compiled_for(f, parameters(f, args)) is not None
    value, gradients = mo.value_and_grad(f, range(len(args)))(*args)
    assert value == f(*args)
    with recording():
        recorded = mo.gradient(f, *args)
    for g, expected, x in zip(gradients, recorded, args):
        assert type(g) is np.ndarray and g.shape == x.shape and g.dtype == x.dtype and g.flags.writeable
        np.testing.assert_allclose(g, expected, 1e-11, 1e-11)
    directions = [np.cos(np.arange(x.size)).reshape(x.shape) for x in args]
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions))
    assert slope == pytest.approx(along(f, args, directions), rel=1e-7, abs=1e-8)
    _, tangent = mo.jvp(f, tuple(args), tuple(directions))
    assert tangent == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize("f", [filtered, log_density, determinants, spectral])
def test_second_derivatives_go_through_the_compiled_sweeps(f):
    args = (A, V) if f is log_density else (A,)
    w = np.sin(np.arange(16.0)).reshape(4, 4)
    first = lambda a: np.sum(w * mo.grad(f)(a, *args[1:]))  # noqa: E731
    found = mo.grad(first)(A)
    with recording():
        np.testing.assert_allclose(found, mo.grad(first)(A), 1e-9, 1e-9)
    direction = np.cos(np.arange(16.0)).reshape(4, 4)
    assert np.sum(found * direction) == pytest.approx(along(first, (A,), (direction,)), rel=1e-6)


def test_shapes_that_change_compile_for_numbers_of_axes():
    def loss(a):
        x = np.ones(a.shape[0])
        for _ in range(2):
            x = np.linalg.solve(a, x)
        return np.sum(x) + np.linalg.slogdet(a)[1]

    for n in range(1, 22):
        a = RNG.normal(size=(n, n)) + 2.0 * n * np.eye(n)
        found = mo.grad(loss)(a)
        with recording():
            np.testing.assert_allclose(found, mo.grad(loss)(a), 1e-11, 1e-13)


@pytest.mark.parametrize("a", [np.eye(3), np.diag([2.0, 2.0, 1.0])], ids=["unit", "pair"])
def test_equal_eigenvalues_leave_to_the_tape_with_its_limits(a):
    w = np.arange(9.0).reshape(3, 3)

    def loss(a):
        lam, v = np.linalg.eigh(a + a.T)
        return np.sum((v * np.exp(lam)) @ v.T * w)

    def of_svd(a):
        u, s, vh = np.linalg.svd(a)
        return np.sum((u * s**2) @ vh * w)

    direction = np.cos(w)
    assert np.sum(mo.grad(loss)(a) * direction) == pytest.approx(
        np.sum(mo.grad(lambda a: np.sum(scipy.linalg.expm(a + a.T) * w))(a) * direction), rel=1e-9
    )
    with recording():
        expected = mo.grad(of_svd)(a)
    np.testing.assert_allclose(mo.grad(of_svd)(a), expected, 1e-12, 1e-12)


def test_other_dtypes_and_stacks_have_the_gradients_of_the_tape():
    def loss(a, b):
        q, r = np.linalg.qr(a)
        return np.sum(np.abs(np.linalg.solve(r, np.swapaxes(q, -1, -2) @ b)) ** 2) + np.sum(np.linalg.slogdet(a)[1])

    stack = np.stack([A, A.T @ A])
    for a, b in ((A.astype("f"), B.astype("f")), (A + 1j * A.T, B + 0j), (stack, np.stack([B, -B]))):
        found = mo.gradient(loss, a, b)
        with recording():
            expected = mo.gradient(loss, a, b)
        for g, e, x in zip(found, expected, (a, b)):
            assert g.dtype == x.dtype and g.shape == x.shape
            np.testing.assert_allclose(g, e, 1e-4 if a.dtype.char == "f" else 1e-10, 1e-4)


def test_a_singular_matrix_raises_on_the_line_of_the_program():
    def loss(a, b):
        x = np.linalg.solve(a, b)
        return x @ x

    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as raised:
        mo.grad(loss)(np.zeros((3, 3)), np.ones(3))
    assert any(entry.name == "loss" or "loss" in str(entry) for entry in raised.traceback)


def test_a_call_that_may_overwrite_its_argument_is_recorded():
    def loss(a):
        b = a + 0.0
        return np.sum(scipy.linalg.inv(b, overwrite_a=True)) + np.sum(a)

    assert compiled_for(loss, (A,)) is None
    np.testing.assert_allclose(mo.grad(loss)(A), 1.0 - np.outer(*[np.linalg.inv(m).sum(1) for m in (A.T, A)]), 1e-10)


def test_factors_are_recorded_with_their_matrix():
    def loss(a, b):
        c = scipy.linalg.cho_factor(a @ a.T)
        return np.sum(scipy.linalg.cho_solve(c, b) ** 2) + np.sum(scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b))

    assert compiled_for(loss, (A, B)) is None
    d = np.cos(np.arange(16.0)).reshape(4, 4)
    assert np.sum(mo.grad(loss)(A, B) * d) == pytest.approx(along(loss, (A, B), (d, 0.0 * B)), rel=1e-7)


def test_closures_over_arrays_of_another_call_share_no_constants():
    def made(scale, xp):
        return lambda a: xp.sum(scale * a @ a)

    for scale in (2.0, 3.0):
        np.testing.assert_allclose(mo.grad(made(scale, np))(A), mo.grad(lambda a, s=scale: s * np.sum(a @ a))(A), 1e-12)
