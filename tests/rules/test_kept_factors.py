"""Factors that the forward sweep keeps: derivatives of every order, batches, errors, and one factorisation a matrix."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, run_on

import morula as mo
from morula.core.rules import kept_factors
from morula.core.testing.differences import numerical_vjp

RNG = np.random.default_rng(0)
N = 9  # native code factorises smaller matrices in loops
A, B, V = RNG.normal(size=(N, N)) + 4 * np.eye(N), RNG.normal(size=(N, 2)), RNG.normal(size=N)
Z = A + 1j * RNG.normal(size=(N, N))
STACK, SIDES = RNG.normal(size=(3, N, N)) + 4 * np.eye(N), RNG.normal(size=(3, N, 2))


def solved(a, b):
    return np.sum(np.sin(np.abs(np.linalg.solve(a, b)) ** 2))


def inverse(a):
    return np.sum(np.sin(np.abs(np.linalg.inv(a)) ** 2))


def logarithm(a):
    sign, log = np.linalg.slogdet(a)
    return np.sum(np.sin(log) + np.abs(sign - 0.5j) ** 2)


def determinant(a):
    return np.sum(np.sin(np.abs(np.linalg.det(0.25 * a)) ** 2))


CASES = [
    *[(solved, (a, b)) for a, b in ((A, B), (A, V), (Z, B + 1j * B), (Z, V + 0j), (STACK, SIDES), (STACK, B), (A, SIDES))],
    *[(f, (a,)) for f in (inverse, logarithm, determinant) for a in (A, Z, STACK)],
]  # fmt: skip


def wanted(f, args):
    return numerical_vjp(f, 1.0, *args)[0]


def assert_close(found, expected, tolerance=1e-7):
    for g, h in zip(found, expected, strict=True):
        np.testing.assert_allclose(g, h, atol=tolerance * np.max(np.abs(h)))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f, args", CASES, ids=[f"{f.__name__}-{'-'.join(str(x.shape) + x.dtype.char for x in xs)}" for f, xs in CASES])  # fmt: skip
def test_gradients_are_right_to_the_second_order(path, f, args):
    each = tuple(range(len(args)))
    gradient = mo.grad(f, argnums=each)
    assert_close(run_on(path)(gradient)(*args), wanted(f, args))

    def of_gradients(*xs):
        return sum(np.sum(np.real(np.conj(g) * w)) for g, w in zip(mo.grad(f, argnums=each)(*xs), args))

    assert_close(run_on(path)(mo.grad(of_gradients, argnums=each))(*args), wanted(of_gradients, args), 1e-6)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f, args", [(solved, (A, B)), (solved, (A, V)), (inverse, (A,)), (logarithm, (A,))])
def test_tangents_of_gradients_are_the_second_derivative(path, f, args):
    each = tuple(range(len(args)))
    gradient = mo.grad(f, argnums=each)
    found = run_on(path)(lambda *xs: mo.jvp(gradient, xs, args)[1])(*args)

    def along(t):
        return np.concatenate([np.ravel(g) for g in gradient(*(x + t * x for x in args))])

    expected = np.array([numerical_vjp(lambda t, i=i: along(t)[i], 1.0, 0.0)[0][0] for i in range(sum(x.size for x in args))])  # fmt: skip
    assert_close([np.concatenate([np.ravel(g) for g in found])], [expected], 1e-6)


@pytest.mark.parametrize("target", [p for p in PATHS if p != "eager"])
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("sides", [SIDES, SIDES[..., 0]])
def test_gradients_of_a_batch_are_those_of_its_samples(target, axes, sides):
    gradient = mo.grad(solved, argnums=(0, 1))
    xs = [x if axis == 0 else x[0] for x, axis in zip((STACK, sides), axes)]
    found = mo.jit(mo.vmap(gradient, in_axes=axes), target=target)(*xs)
    for i in range(3):
        sample = [x[i] if axis == 0 else x for x, axis in zip(xs, axes)]
        assert_close([g[i] for g in found], gradient(*sample), 1e-10)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f", [inverse, lambda a: solved(a, V)])
def test_a_singular_matrix_is_refused(path, f):
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        run_on(path)(mo.grad(f))(np.zeros((N, N)))


@pytest.mark.parametrize("path", PATHS)
def test_the_determinant_of_a_singular_matrix_has_the_cofactors_as_its_gradient(path):
    a = A.copy()
    a[3] = a[1] + a[2]
    a[0] = 0
    np.testing.assert_allclose(run_on(path)(mo.grad(np.linalg.det))(a), np.zeros((N, N)), atol=1e-8)
    b = np.diag(np.arange(float(N)))
    expected = np.zeros((N, N))
    expected[0, 0] = np.prod(np.arange(1.0, N))
    np.testing.assert_allclose(run_on(path)(mo.grad(np.linalg.det))(b), expected)


def test_the_backward_sweep_factorises_nothing(monkeypatch):
    count = []
    lapack = kept_factors.lapack

    def counted(name, kind):
        count.append(name)
        return lapack(name, kind)

    random = np.random.default_rng(8)
    a, b, along = random.normal(size=(3, 40, 40)) + 12 * np.eye(40)  # small matrices are factorised anew
    monkeypatch.setattr(kept_factors, "lapack", counted)
    g, h = mo.grad(lambda a, b: solved(a, b), argnums=(0, 1))(a, b)
    assert count.count("getrf") == 1
    tangent = mo.jvp(lambda a, b: solved(a, b), (a, b), (along, along))[1]
    np.testing.assert_allclose(np.sum((g + h) * along), tangent, rtol=1e-9)
    del count[:]
    g = mo.grad(lambda a: logarithm(a))(a)
    assert count.count("getrf") == 1
    np.testing.assert_allclose(np.sum(g * along), mo.jvp(lambda a: logarithm(a), (a,), (along,))[1], rtol=1e-9)


@pytest.mark.parametrize("path", PATHS)
def test_single_precision_stays(path):
    g = run_on(path)(mo.grad(solved, argnums=(0, 1)))(A.astype(np.float32), V.astype(np.float32))
    assert [x.dtype for x in g] == [np.float32, np.float32]
    assert_close(g, mo.grad(solved, argnums=(0, 1))(A, V), 1e-3)
