"""NumPy's functions and methods in compiled programs give NumPy's values, dtypes, shapes and views."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial.distance
import scipy.special
from surface_trace import call, check, raises_when_run, traced

from morula.core.errors import BadInput
from morula.core.specialise.traced import NeedsConcrete

A = np.arange(12.0).reshape(3, 4) % 5 - 1.5
I = np.arange(6).reshape(2, 3)
V = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
Z = A + 1j * A[::-1]
M = np.random.default_rng(0).normal(size=(3, 4))
N = np.random.default_rng(1).normal(size=(4, 5))
T = np.random.default_rng(2).normal(size=(2, 3, 4))
S = M @ M.T + 3 * np.eye(3)
X = np.array([0.0, 1.0, 1.5, 3.5, 4.0])

REDUCTIONS = {
    "sum": lambda a: (np.sum(a), a.sum(0), a.sum((0, 1)), np.sum(a, -1, keepdims=True), np.sum(a, dtype="f4")),
    "sum where": lambda a: (np.sum(a, where=a > 0), np.sum(a, 0, initial=2.0), np.prod(a, 1, where=a > 0)),
    "means": lambda a: (a.mean(), a.mean(axis=1), a.std(), a.var(0, ddof=1), np.mean(a, where=a > 0), np.average(a)),
    "average": lambda a: np.average(a, weights=np.arange(a.shape[1]) + 1, axis=1),
    "extremes": lambda a: (a.max(), a.min(1, keepdims=True), a.argmax(), a.argmin(0), np.ptp(a), np.max(a, initial=9)),
    "cumulative": lambda a: (a.cumsum(), a.cumprod(1), np.maximum.accumulate(a), np.cumulative_sum(a, axis=1)),
    "logical": lambda a: ((a > 0).any(), (a > 0).all(1), (a > 0).sum(), (a > 0).mean(), np.count_nonzero(a, 0)),
    "ufunc methods": lambda a: (
        np.add.reduce(a),
        np.multiply.reduce(a, None),
        np.hypot.reduce(a, 1),
        np.add.accumulate(a),
    ),
    "outer": lambda a: (np.add.outer(a[0], a[1]), np.subtract.outer(a, a[0])),
    "nan": lambda a: (np.nansum(a), np.nanmax(a, 0), np.nanmean(a), np.nanstd(a, 1), np.nanargmax(a, 1)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("a", [A, I, A.astype("f4"), I.astype("i2")], ids=lambda a: a.dtype.name)
def test_reductions(name, a):
    check(REDUCTIONS[name], a, rtol=1e-6 if a.dtype == np.float32 else 1e-12)


def test_reductions_of_complex_numbers():
    check(lambda a: (a.sum(), a.mean(axis=1), a.std(), np.var(a, 0), a.prod(0), abs(a), np.conj(a), np.angle(a)), Z)


def test_medians_without_nan():
    holes = np.where(A > 1.5, np.nan, A)
    check(lambda a: (np.nanmedian(a), np.nanmedian(a, 1), np.nanmedian(a, 0, keepdims=True)), holes)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest"])
@pytest.mark.parametrize("q", [30.0, [25.0, 50.0], np.float64(40.0), np.array([10, 90])], ids=str)
@pytest.mark.parametrize(
    "a",
    [A, A.astype(np.float32), np.where(A > 1.5, np.nan, A), (10 * A).astype(int)],
    ids=["float64", "float32", "nan", "int"],
)
def test_quantiles_have_numpys_dtype(a, q, method):
    check(lambda a: (np.percentile(a, q, axis=1, method=method), np.percentile(a, q, method=method)), a, rtol=1e-6)


def test_what_is_made_of_nothing():
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        check(lambda a: (np.nanmedian(a, axis=1), np.resize(a, (2, 3)), np.percentile(a.T, 30.0, axis=1)), A[:, :0])


def test_reductions_of_nothing():
    check(lambda a: (a[:0].sum(), a[:0].prod(0), (a[:0] > 0).all(), np.max(a[:0], initial=-1.0)), A)
    with pytest.raises(ValueError, match="zero-size array"):
        traced(lambda a: a[:0].max(), A)
    raises_when_run(lambda a, k: a[:k].max(), V, 0, error=ValueError)


SAME = {
    "order": lambda a: (np.sort(a, None), np.sort(a, 0), np.argsort(a), np.median(a), np.median(a, 0, keepdims=True)),
    "quantiles": lambda a: (
        np.percentile(a, 30),
        np.quantile(a, [0.1, 0.9], axis=1),
        np.percentile(a, 50, method="lower"),
    ),
    "search": lambda a: (np.searchsorted(np.arange(5.0), a), np.digitize(a, np.arange(3.0))),
    "differences": lambda a: (
        np.diff(a),
        np.diff(a, 2, 0),
        np.trapezoid(a),
        np.trapezoid(a, dx=0.5, axis=0),
        np.ediff1d(a),
    ),
    "norms": lambda a: tuple(np.linalg.norm(a, o) for o in (None, "fro", 1, -1, np.inf, -np.inf, 2, -2, "nuc")),
    "vector norms": lambda a: tuple(np.linalg.norm(a, o, axis=1) for o in (None, 0, 1, 2, 3, 0.5, np.inf, -np.inf)),
    "reshape": lambda a: (
        a.reshape(2, 6),
        a.reshape(-1),
        a.ravel(),
        a.T.ravel(),
        a.reshape((4, -1), order="F"),
        a.flatten(),
        (a.flat != 1.0) * 1.0,
    ),
    "axes": lambda a: (
        a.T,
        np.swapaxes(a, 0, 1),
        a[None].squeeze(),
        np.expand_dims(a, (0, 2)),
        np.moveaxis(a[None], 0, -1),
    ),
    "turns": lambda a: (np.flip(a), np.flipud(a), np.fliplr(a), *(np.rot90(a, k) for k in range(-1, 4))),
    "roll": lambda a: (np.roll(a, 2), np.roll(a, 1, axis=0), np.roll(a, (1, 2), (0, 1)), np.roll(a, -7, 1)),
    "concatenate": lambda a: (np.concatenate([a, a]), np.concatenate([a, a], 1), np.concatenate([a, a], None)),
    "stack": lambda a: (np.stack([a, a], -1), np.vstack([a, a]), np.hstack([a, a]), np.column_stack([a[0], a[1]])),
    "block": lambda a: (np.block([[a, a], [a, a]]), np.dstack([a, a]), np.append(a, 1.0), np.append(a, a, 0)),
    "repeat": lambda a: (
        np.tile(a, (2, 2)),
        np.tile(a, 2),
        np.repeat(a, 2, 0),
        np.repeat(a, 3),
        np.repeat(a, [1, 0, 2], 0),
    ),
    "pad": lambda a: (
        np.pad(a, 1),
        np.pad(a, ((1, 2), (0, 1)), constant_values=3),
        np.pad(a, 1, "edge"),
        np.pad(a, 2, "wrap"),
    ),
    "pad reflect": lambda a: (np.pad(a, 2, "reflect"), np.pad(a, 2, "symmetric")),
    "insert": lambda a: (
        np.delete(a, 1, 0),
        np.insert(a, 1, 5.0, 0),
        np.insert(a, [1, 2], 7.0),
        np.delete(a, slice(1, 3), 1),
    ),
    "split": lambda a: (*np.split(a, 2, 1), *np.array_split(a, 3, 1), *np.vsplit(a, [1]), *np.hsplit(a, 2)),
    "diagonals": lambda a: (np.diag(a), np.diag(a[0]), np.diag(a[0], -1), np.tril(a), np.triu(a, 1), np.trace(a)),
    "grids": lambda a: (
        *np.meshgrid(a[0], a[1]),
        *np.meshgrid(a[0], a[:, 0], indexing="ij"),
        a[np.ix_([0, 2], [1, 3])],
    ),
    "spaces": lambda a: (
        np.linspace(0, a[0, 0], 5),
        np.linspace(a[0], a[1], 3),
        np.linspace(a[0, 1], 2, 4, endpoint=False),
    ),
    "like": lambda a: (
        np.full_like(a, 3),
        np.zeros_like(a, shape=(2,)),
        np.ones_like(a, "i4"),
        call(np.full, 3, a[0, 0]),
    ),
    "where": lambda a: (np.where(a > 0, a, 0), np.where(a > 0, 1, 2), np.select([a > 1, a > 0], [a, 2 * a], 5)),
    "clip": lambda a: (np.clip(a, -1, 1), a.clip(0), np.clip(a, a[0], None), np.round(a, 1), np.sign(a), np.sinc(a)),
    "close": lambda a: (np.isclose(a, a + 1e-9), np.allclose(a, a), np.nan_to_num(a), np.isposinf(a), np.isreal(a)),
    "types": lambda a: (
        call(np.float32, a[0, 0]),
        call(np.int64, a[0, 0]),
        a.astype("f4"),
        a.astype(int),
        a.astype(bool),
    ),
    "gradient": lambda a: (
        *np.gradient(a),
        np.gradient(a, 2.0, axis=0, edge_order=2),
        np.gradient(a[0], X[:4], edge_order=2),
    ),
    "items": lambda a: (a.item(0), a[0, 0].item(), a.tolist()[0], a.size, a.ndim, a.shape, call(len, a)),
    "piecewise": lambda a: call(np.piecewise, a, [a < 0, a >= 1], [lambda v: -v, lambda v: v * v, 0.5]),
    "contains": lambda a: (call(operator.contains, a[0], a[0, 1]), call(operator.contains, a[0], 77.0)),
    "out": lambda a: (
        np.add(a, 1, out=a),
        np.multiply(a[0], 2, out=a[1]),
        np.sum(a, 0, out=a[2]),
        np.sqrt(a, out=a, where=a > 0),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_functions_of_arrays(name):
    check(SAME[name], A)


PRODUCTS = {
    "matmul": lambda a, b, t: (a @ b, a[0] @ b, a @ b[:, 0], a[0] @ b[:, 1], t @ b, np.matmul(t[:, None], b[None])),
    "dot": lambda a, b, t: (np.dot(a, b), np.dot(t, b), np.dot(t, t.transpose(0, 2, 1)), a.dot(b), np.dot(a, 2.0)),
    "tensordot": lambda a, b, t: (
        np.tensordot(a, b, 1),
        np.tensordot(a, b, ([1], [0])),
        np.tensordot(t, t, ([0, 2], [0, 2])),
    ),
    "others": lambda a, b, t: (
        np.inner(a, b.T),
        np.outer(a[0], b[0]),
        np.kron(a, b),
        np.vdot(a[0], b[:, 0]),
        np.cov(a),
    ),
    "cross": lambda a, b, t: (np.cross(a[:, 0], a[:, 1]), np.cross(a[:, :3], a[:, 1:]), np.corrcoef(a)),
    "einsum": lambda a, b, t: (np.einsum("ij,jk", a, b), np.einsum("ij,jk->ki", a, b), np.einsum("ij->j", a)),
    "einsum of one": lambda a, b, t: (np.einsum("ii->i", a[:, :3]), np.einsum("ii", a[:, :3]), np.einsum("bij->jb", t)),
    "einsum in stacks": lambda a, b, t: (np.einsum("bij,jk->bik", t, b), np.einsum("...ij,jk->...ik", t, b)),
    "einsum products": lambda a, b, t: (
        np.einsum("ij,ij->i", a, a),
        np.einsum("ij,kj->ikj", a, a),
        np.einsum("i,j->ij", a[0], b[0]),
    ),
    "einsum of three": lambda a, b, t: (
        np.einsum("ij,jk,kl->il", a, b, b.T),
        np.einsum("bij,bkj,ik->b", t, t, a[:, :3]),
    ),
    "einsum by lists": lambda a, b, t: np.einsum(a, [0, 1], b, [1, 2], [0, 2]),
    "numpy.linalg": lambda a, b, t: (
        np.linalg.matrix_power(a[:, :3], 5),
        np.linalg.multi_dot([a, b, b.T]),
        np.linalg.trace(t),
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    check(PRODUCTS[name], M, N, T)


LIBRARY = {
    "solve": lambda s, a: (np.linalg.solve(s, a), np.linalg.inv(s), np.linalg.det(s), *np.linalg.slogdet(s)),
    "factors": lambda s, a: (np.linalg.cholesky(s), *np.linalg.eigh(s), *np.linalg.qr(a), np.linalg.pinv(a)),
    "svd": lambda s, a: (*np.linalg.svd(a, full_matrices=False), np.linalg.svd(a, compute_uv=False)),
    "fft": lambda s, a: (np.fft.fft(a), np.fft.rfft(a[0]), np.fft.irfft(np.fft.rfft(a)), np.fft.fft2(a)),
    "numpy": lambda s, a: (np.convolve(a[0], [1.0, 2]), np.interp(a, X, X**2), np.unwrap(a)),
    "scipy.linalg": lambda s, a: (
        call(scipy.linalg.cholesky, s, lower=True),
        call(scipy.linalg.expm, s),
        call(scipy.linalg.solve, s, a),
    ),
    "scipy.special": lambda s, a: (
        scipy.special.erf(a),
        scipy.special.gammaln(s),
        call(scipy.special.softmax, a, axis=0),
    ),
    "logsumexp": lambda s, a: (
        call(scipy.special.logsumexp, a),
        call(scipy.special.logsumexp, a, axis=1, keepdims=True),
    ),
    "scipy.signal": lambda s, a: (
        call(scipy.signal.fftconvolve, a, a),
        call(scipy.signal.lfilter, [1.0, 0.5], [1.0, -0.2], a),
    ),
    "scipy.ndimage": lambda s, a: (
        call(scipy.ndimage.gaussian_filter, a, 1.0),
        call(scipy.spatial.distance.cdist, a, a),
    ),
    "cho_solve": lambda s, a: (
        call(scipy.linalg.cho_solve, (np.linalg.cholesky(s), True), a),
        call(scipy.linalg.cho_solve, call(scipy.linalg.cho_factor, s), a),
        call(scipy.linalg.cho_solve, call(scipy.linalg.cho_factor, s, lower=True), a),
    ),
    "spaces": lambda s, a: (
        call(np.logspace, 0, s[0, 0], 3),
        call(np.fft.fftfreq, 8, s[0, 0]),
    ),
    "scipy.fft": lambda s, a: (call(scipy.fft.dct, a), call(scipy.fft.fft, a, axis=0)),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_calls_of_libraries(name):
    check(LIBRARY[name], S, M)


def test_lengths_that_are_known_only_when_the_program_runs():
    def program(a, k):
        b = a[:k]
        return (
            b.sum(),
            b.mean(),
            b.std(),
            b.max(),
            b.argmin(),
            np.sort(b),
            np.median(b),
            b[::-1],
            a[k:].reshape(-1, 1),
            np.concatenate([b, a[k:]]),
            np.roll(b, 1),
            b.size,
            np.linalg.norm(b),
            b @ b,
            np.outer(b, b),
            np.tile(b, 2),
            np.zeros_like(b) + 1,
            np.where(b > 2, b, 0),
            np.diff(b),
            np.cumsum(b),
            call(np.arange, b.shape[0]) * 1.0,
        )

    check(program, V, 3)
    check(program, V, 2)


def test_lengths_that_differ_raise():
    function, _, _ = traced(lambda a, k: a[:k] + a[1:], V, 2)
    from morula.core.ir.evaluate import evaluate

    with pytest.raises(ValueError, match="lengths 2 and 4"):
        evaluate(function, [V, 2])


def test_what_has_no_fixed_shape_is_refused_with_a_remedy():
    for program, text in (
        (lambda a: np.intersect1d(a, a), "use a mask"),
        (lambda a: np.linalg.eigvals(a[:, :3]), "astype"),
        (lambda a: np.add(a, 1, where=a > 0), "out="),
    ):
        with pytest.raises(BadInput, match=text):
            traced(program, A)
    with pytest.raises(NeedsConcrete):
        traced(lambda n: call(np.zeros, n), 3)


def test_shapes_that_do_not_fit_are_errors_at_once():
    for program, error, text in (
        (lambda a: a + a[:, :3], BadInput, "could not be broadcast"),
        (lambda a: a @ a, BadInput, "summed over differ: 4 and 3"),
        (lambda a: a.reshape(5, -1), BadInput, "cannot reshape array of size 12"),
        (lambda a: np.concatenate([a, a.T]), BadInput, "must match exactly, but along dimension 1"),
        (lambda a: a.sum(2), np.exceptions.AxisError, "out of bounds"),
        (lambda a: np.linalg.cholesky(a), BadInput, "cannot take arguments"),
    ):
        with pytest.raises(error, match=text):
            traced(program, A)


UFUNCS = sorted(
    {f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is None}, key=lambda f: f.__name__
)
DTYPES = ["?", "i1", "u1", "i4", "u8", "i8", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize(
    "ufunc", [f for f in UFUNCS if f.nin <= 2 and not f.__name__.startswith(("str_", "is_"))], ids=lambda f: f.__name__
)
def test_ufuncs_promote_as_numpy_does(ufunc):
    numbers = [np.array([1, 0, 3]).astype(t) for t in DTYPES]
    for i, x in enumerate(numbers):
        operands = [(x,)] if ufunc.nin == 1 else [(x, y) for y in (*numbers[i::3], 2, 1.5)]
        for given in operands:
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    expected = ufunc(*given)
            except (TypeError, ValueError):
                continue
            if np.asarray(expected[0] if isinstance(expected, tuple) else expected).dtype.kind not in "biufc":
                continue
            arrays = [g for g in given if isinstance(g, np.ndarray)]
            check(lambda *a, rest=given[len(arrays) :]: ufunc(*a, *rest), *arrays, rtol=1e-6)
