"""Gradients near singular matrices and nearly equal eigenvalues lose no more digits than the problem does.

The measure is that of backward stability: how much the exact gradient, in 50 digits, changes where the entries of the matrix change by
a rounding.  An algorithm that is not backward stable, as one with an unneeded explicit inverse or a difference of large terms, exceeds it.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import linalg

import morula as mo

N = 4
STEP = mpmath.mpf(10) ** -25
W = np.cos(np.arange(16.0) ** 2).reshape(N, N)
B = np.sin(1 + np.arange(8.0)).reshape(N, 2)
C = B[:, 0]
DIRECTION = np.sin(2 + np.arange(16.0) ** 2).reshape(N, N)
SIGNS = np.where(np.arange(16) % 3 == 0, -1.0, 1.0).reshape(N, N)


def kahan(n, angle=0.1):
    s, c = np.sin(angle), np.cos(angle)
    return np.diag(s ** np.arange(n)) @ (np.eye(n) - c * np.triu(np.ones((n, n)), 1))


def with_eigenvalues(*values):
    q = np.linalg.qr(np.sin(np.arange(1.0, 17.0) ** 2).reshape(N, N))[0]
    a = (q * np.array(values)) @ q.T
    return (a + a.T) / 2


GENERAL = {
    "Hilbert": linalg.hilbert(N),
    "Kahan": kahan(N),
    "Grcar": np.triu(np.tril(np.ones((N, N)), 2)) - np.eye(N, k=-1),
    "Vandermonde": np.vander(1 + 0.01 * np.arange(N)),
    "Frank": np.triu(N - np.maximum(np.arange(N)[:, None], np.arange(N)), -1).astype(float),
    "almost of rank one": np.ones((N, N)) + 1e-9 * W,
    "almost a Jordan block": np.eye(N) + np.eye(N, k=1) + 1e-9 * W,
}
DEFINITE = {
    "Hilbert": linalg.hilbert(N),
    "almost singular": with_eigenvalues(1.0, 2.0, 0.5, 1e-9),
    "graded": np.diag(10.0 ** -np.arange(0, 4 * N, 4)) + 1e-14 * np.ones((N, N)),
    "pairs that agree to seven digits": with_eigenvalues(1.0, 1.0 + 1e-7, 2.0, 2.0 + 1e-7),
    "a pair that agrees to twelve digits": with_eigenvalues(1.0, 1.0 + 1e-12, 3.0, 4.0),
}
NEAR_DEFINITE = {
    "almost singular": with_eigenvalues(1.0, 2.0, 0.5, 1e-3),
    "a pair that agrees to two digits": with_eigenvalues(1.0, 1.01, 3.0, 4.0),
}


def in_digits(a):
    return mpmath.matrix(a.tolist())


def lower(m):
    return mpmath.matrix([[m[max(i, j), min(i, j)] for j in range(N)] for i in range(N)])


def total(m, w=W):
    return mpmath.fsum(m[i, j] * float(w[i, j]) for i in range(m.rows) for j in range(m.cols))


def squares(m):
    return mpmath.matrix([[x**2 for x in m[i, :]] for i in range(m.rows)])


def exact_pinv(m):
    t = m[:, : N - 1]
    return (t.T * t) ** -1 * t.T


def exact_eigh(m):
    lam, v = mpmath.eigsy(lower(m))
    return total(lam, C[:, None]) + total(squares(v))


def exact_svd(m):
    u, s, vh = mpmath.svd_r(m)
    return total(s, C[:, None]) + total(squares(u)) + total(squares(vh))


def exact_qr(m):
    q, r = mpmath.qr(m)
    signs = mpmath.diag([mpmath.sign(r[i, i]) for i in range(N)])
    return total(q * signs) + total(signs * r)


def exact_sylvester(m):
    unit = in_digits(np.eye(N))
    kronecker = mpmath.matrix(N * N, N * N)
    for i, j, k, l in np.ndindex(N, N, N, N):
        kronecker[N * i + j, N * k + l] = m[i, k] * unit[j, l] + unit[i, k] * m[j, l]
    x = mpmath.lu_solve(kronecker, in_digits(W.reshape(-1, 1)))
    return total(x, W.T.reshape(-1, 1))


def of_eigenvalues(f):
    def exact(m):
        lam, v = mpmath.eig(m)
        return mpmath.re(total(v * mpmath.diag([f(x) for x in lam]) * v**-1))

    return exact


def qr(a):
    q, r = np.linalg.qr(a)
    signs = np.sign(np.diagonal(r))
    return np.sum(W * q * signs) + np.sum(W * signs[:, None] * r)


def eigh(a):
    lam, v = np.linalg.eigh(a)
    return np.sum(C * lam) + np.sum(W * np.abs(v) ** 2)


def svd(a):
    u, s, vh = np.linalg.svd(a)
    return np.sum(C * s) + np.sum(W * np.abs(u) ** 2) + np.sum(W * np.abs(vh) ** 2)


OF_GENERAL = {
    "solve": (lambda a: np.sum(W[:, :2] * np.linalg.solve(a, B)), lambda m: total(m**-1 * in_digits(B))),
    "inv": (lambda a: np.sum(W * np.linalg.inv(a)), lambda m: total(m**-1)),
    "det": (np.linalg.det, mpmath.det),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], lambda m: mpmath.log(abs(mpmath.det(m)))),
    "lstsq": (
        lambda a: np.sum(W[: N - 1, :2] * np.linalg.lstsq(a[:, : N - 1], B, rcond=None)[0]),
        lambda m: total(exact_pinv(m) * in_digits(B)),
    ),
    "pinv": (lambda a: np.sum(W[: N - 1] * np.linalg.pinv(a[..., : N - 1])), lambda m: total(exact_pinv(m))),
    "qr": (qr, exact_qr),
    "svd": (svd, exact_svd),
    "expm": (lambda a: np.sum(W * linalg.expm(a)), lambda m: total(mpmath.expm(m))),
}
OF_DEFINITE = {
    "cholesky": (lambda a: np.sum(W * np.linalg.cholesky(a)), lambda m: total(mpmath.cholesky(lower(m)))),
    "eigh": (eigh, exact_eigh),
    "logm": (lambda a: np.sum(W * linalg.logm(a)), of_eigenvalues(mpmath.log)),
    "sqrtm": (lambda a: np.sum(W * linalg.sqrtm(a)), of_eigenvalues(mpmath.sqrt)),
    "solve_sylvester": (lambda a: np.sum(W.T * linalg.solve_sylvester(a, a.T, W)), exact_sylvester),
}
CASES = [(name, *pair, GENERAL) for name, pair in OF_GENERAL.items()]
CASES += [(name, *pair, DEFINITE) for name, pair in OF_DEFINITE.items()]
THREE_DIGITS_LOST = {"expm": 1e4}
"""SciPy's expm loses up to three digits of the value where entries have one sign; the value on each path is SciPy's."""


def value_and_slope(exact, m):
    y, slope = exact(m), mpmath.matrix(N, N)
    for i, j in np.ndindex(N, N):
        moved = m.copy()
        moved[i, j] += STEP
        slope[i, j] = (exact(moved) - y) / STEP
    return y, slope


def size(m):
    return max(abs(x) for x in m)


def bounds(name, exact, family, a, y, slope):
    """The largest errors of the value and of the gradient that roundings of the matrix would explain."""
    eps = np.finfo(a.dtype).eps
    signs = SIGNS if family is GENERAL else np.tril(SIGNS) + np.tril(SIGNS, -1).T
    y_near, slope_near = value_and_slope(exact, in_digits(a) + in_digits(signs) * float(eps * np.max(np.abs(a))))
    of_value = 30 * (abs(y_near - y) + eps * abs(y)) * THREE_DIGITS_LOST.get(name, 1.0)
    return of_value, 30 * (size(slope_near - slope) + eps * size(slope))


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("name, loss, exact, family", CASES, ids=[case[0] for case in CASES])
def test_errors_are_those_of_roundings_of_the_matrix(name, loss, exact, family):
    paths = [mo.value_and_grad(loss), *(mo.jit(mo.value_and_grad(loss), target=t) for t in ("native", "xla"))]
    for a in family.values():
        with mpmath.workdps(50):
            m = in_digits(a)
            y, slope = value_and_slope(exact, m)
            bound, bound_of_slope = bounds(name, exact, family, a, y, slope)
            for f in paths:
                value, gradient = f(a)
                assert abs(float(value) - y) <= bound
                assert size(in_digits(gradient) - slope) <= bound_of_slope
            gradient = mo.grad(lambda a, loss=loss: np.real(loss(a)))(a.astype(complex))
            assert size(in_digits(np.real(gradient)) - slope) <= bound_of_slope
            tangent = mo.jvp(loss, (a,), (DIRECTION,))[1]
            assert abs(float(tangent) - total(slope, DIRECTION)) <= bound_of_slope * np.sum(np.abs(DIRECTION))


STACKED = ("solve", "inv", "pinv", "svd", "expm", "cholesky", "eigh", "logm", "sqrtm")


@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
@pytest.mark.parametrize("name, loss, exact, family", CASES, ids=[case[0] for case in CASES])
def test_single_precision_and_stacks(name, loss, exact, family):
    """Matrices that single precision does not tell from singular ones are left out."""
    chosen = (a.astype(np.float32) for a in (family if family is GENERAL else NEAR_DEFINITE).values())
    for a in (a for a in chosen if np.linalg.cond(a) < 1e4):
        with mpmath.workdps(50):
            y, slope = value_and_slope(exact, in_digits(a))
            bound, bound_of_slope = bounds(name, exact, family, a, y, slope)
            value, gradient = mo.value_and_grad(loss)(a)
            assert gradient.dtype == np.float32
            assert abs(float(value) - y) <= bound
            assert size(in_digits(gradient) - slope) <= bound_of_slope
    if name in STACKED:
        stack = np.stack(list(family.values()))
        one_by_one = [mo.grad(loss)(a) for a in family.values()]
        for g, h in zip(mo.grad(loss)(stack), one_by_one, strict=True):
            np.testing.assert_allclose(g, h, rtol=1e-6, atol=1e-9 * np.max(np.abs(h)))
