"""NumPy's array functions in programs: keywords, argument forms and dtypes beyond the tests of the rules."""

from __future__ import annotations

import math
import tempfile

import numpy as np
import pytest

import morula as mo

random = np.random.default_rng(3)
A, B = random.uniform(-1, 1, (3, 4)), random.uniform(0.5, 1.5, (4, 3))
S = random.uniform(-1, 1, (3, 3))
POSITIVE = S @ S.T + 2 * np.eye(3)
T = random.uniform(-1, 1, (2, 3, 4))
V = random.uniform(0.5, 1.5, 5)
W = V[:3] + 2
Z = V + 1j * V[::-1] ** 2
KNOTS = np.array([0.1, 0.4, 0.8, 1.0, 1.7])
windows = np.lib.stride_tricks.sliding_window_view


def with_nan(x):
    return np.concatenate([x, [np.nan]])


def bent(x):
    """Some entries are NaN, on which the functions named nan* do not look."""
    return np.where(x > -0.7, x, np.nan)


LINEAR_ALGEBRA = {
    "norms": (lambda x: [np.linalg.norm(x, p) for p in (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)], S),
    "vector norms": (lambda x: [np.linalg.norm(x, p) for p in (None, 2, 1, 3, 2.5, -1, -2, 0, np.inf, -np.inf)], V),
    "norm of rows": (lambda x: np.linalg.norm(x, axis=1, keepdims=True), A),
    "norms of a stack": (lambda x: np.linalg.norm(x, 2, axis=(0, 2)), T),
    "the order of a norm": (lambda x, p: np.linalg.norm(x[0], p) * np.linalg.norm(x, p, axis=1), A, 2.5),
    "matrix and vector norms": (lambda x: np.linalg.matrix_norm(x) * np.linalg.vector_norm(x, axis=(1, 2), ord=3), T),
    "cond": (lambda x: [np.linalg.cond(x, p) for p in (None, "fro", 2, -2, 1, np.inf)], S),
    "multi_dot": (lambda x, y: np.linalg.multi_dot([x, y, x]), A, B),
    "matrix_rank": (lambda x: np.linalg.matrix_rank(x) * x, S),
    "pinv": (lambda x: np.linalg.pinv(x @ x.T, hermitian=True) @ np.linalg.pinv(x).T, A),
    "lstsq": (lambda x, y: np.linalg.lstsq(x, y, rcond=None)[:2], B, V[:4]),
    "slogdet": (lambda x: np.linalg.slogdet(x).logabsdet * np.linalg.slogdet(x)[0], S),
    "eig": (lambda x: (np.linalg.eig(x).eigenvalues, np.abs(np.linalg.eig(x)[1]) ** 2), POSITIVE + 0.1 * np.triu(S)),
    "eigh": (lambda x: (np.linalg.eigvalsh(x + x.T), np.abs(np.linalg.eigh(x + x.T)[1])), POSITIVE),
    "svd": (lambda x: (np.linalg.svd(x).S, np.linalg.svdvals(x), np.abs(np.linalg.svd(x, full_matrices=False)[0])), A),
    "qr": (lambda x: (np.linalg.qr(x).R, np.linalg.qr(x, mode="r"), np.linalg.qr(x, mode="complete")[0][:, :3]), B),
    "cholesky": (lambda x: np.linalg.cholesky(x @ x.T + np.eye(3), upper=True), S),
    "powers": (lambda x: np.linalg.matrix_power(x, -3) @ np.linalg.matrix_power(x, 3), POSITIVE),
    "array API": (
        lambda x: np.linalg.vecdot(x, x + 1, axis=0) @ np.linalg.outer(x[0], x[1]) + np.linalg.trace(x[:, :3]),
        A,
    ),
}

SIGNALS = {
    "trapezoid": (lambda y, x, h: np.trapezoid(y, x) * np.trapezoid(y, dx=h), V, KNOTS, 0.3),
    "gradient": (lambda y, x: np.gradient(y, x, edge_order=2), V, KNOTS),
    "gradient of a plane": (lambda y, h, k: np.gradient(y, h, k), A, 0.3, 0.4),
    "diff": (lambda y, p: np.diff(y, 2, prepend=y[0] * 2, append=p) + np.diff(y, 1, 0, p, p * 2)[0], V, 0.4),
    "ediff1d": (lambda y, p: np.ediff1d(y, to_begin=p, to_end=[p, 2 * p]), V, 0.4),
    "convolve": (lambda x, y: [np.convolve(x, y, m) for m in ("full", "same", "valid")], V, W),
    "correlate": (lambda x, y: [np.correlate(x, y, m) for m in ("full", "same", "valid")], Z, W + 1j),
    "interp": (lambda x, k, y, a, b: np.interp(x, k, y, a, b), V, KNOTS[1:], V[1:], 0.3, 0.2),
    "interp, periodic": (lambda x, k, y, p: np.interp(x, k, y, period=p), V, KNOTS[1:], V[1:], 1.4),
    "interp, lists": (lambda x, a, b: np.interp(x, [a, a + b, 3.0], [0.0, b, a]), 0.5, 0.3, 0.7),
    "select": (
        lambda x, d: np.select([x < 0.8, x < 1], [x, d], default=d * d) + np.select([x < 1], [x * x], x**3),
        V,
        0.4,
    ),
    "unwrap": (lambda x: np.unwrap(x) ** 2, np.array([0.0, 2.0, 5.0, 8.0, -1.0])),
    "sinc and others": (lambda x: np.sinc(x) + np.i0(x) + np.heaviside(x - 1, 0.5), np.array([0.0, 0.5, 1.2])),
    "cumulative sums": (
        lambda x: np.cumulative_sum(x, axis=1, include_initial=True) if hasattr(np, "cumulative_sum") else x,
        A,
    ),
    "pad": (lambda x: [np.pad(x, ((1, 2), (2, 1)), mode) for mode in PADDINGS], A),
    "pad, further": (
        lambda x: (np.pad(x, 7, "reflect"), np.pad(x, 7, "wrap"), np.pad(x, 2, "reflect", reflect_type="odd")),
        V,
    ),
    "pad, parts": (lambda x: (np.pad(x, 2, "mean", stat_length=2), np.pad(x, 1, "maximum", stat_length=3)), A),
}

PADDINGS = "constant edge linear_ramp maximum mean median minimum reflect symmetric wrap".split()

METHODS = """inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear
    median_unbiased normal_unbiased lower higher midpoint nearest""".split()

STATISTICS = {
    "average": (
        lambda x, w: np.average(x, weights=w) * np.average(A[:, :5], axis=1, weights=w[:4], returned=True)[0],
        V,
        KNOTS,
    ),
    "covariance": (lambda x, y: np.cov(x, y) * np.cov(x, fweights=[1, 2, 1, 1, 3]), V, KNOTS),
    "correlation": (lambda x: np.corrcoef(x, rowvar=False), T[0]),
    "histogram": (lambda x, w: np.histogram(x, bins=3, weights=w), V, KNOTS),
    "histogram, density": (lambda x, w: np.histogram(x, [0.0, 0.7, 1.0, 2.0], weights=w, density=True)[0], V, KNOTS),
    "histogram, edges": (lambda x: np.histogram(x, bins="auto")[1], V),
    "histogram2d": (lambda x, w: np.histogram2d(x, x**2, bins=[2, 3], weights=w), V, KNOTS),
    "histogramdd": (
        lambda x, w: np.histogramdd((x, x * x), bins=[[0, 1.0, 3.0], [0.0, 1.0, 9.0]], weights=w)[0],
        V,
        KNOTS,
    ),
    "bincount": (lambda w: np.bincount([0, 1, 1, 2, 0], weights=w, minlength=5), V),
    "digitize": (lambda x: np.digitize(x, [0.7, 1.0]) * x + np.searchsorted(np.sort(x), 0.9), V),
    "nan*": (
        lambda x: [getattr(np, f"nan{f}")(bent(x)) for f in "sum prod mean std var max min cumsum median".split()],
        A,
    ),
    "nan*, rows": (
        lambda x: [getattr(np, f"nan{f}")(x, axis=1) for f in "sum prod mean std var max median".split()],
        A,
    ),
    "deviations": (lambda x: np.var(x, axis=0, correction=1) * np.nanstd(x, axis=0, ddof=1, keepdims=True), A),
    "weighted quantile": (lambda x: np.quantile(x, 0.37, weights=np.array([1, 2, 1, 3, 1]), method="inverted_cdf"), V),
    "quantiles of axes": (lambda x: np.quantile(x, [0.3, 0.6], axis=(0, 1), keepdims=True), T),
    "the level of a quantile": (lambda x, q: np.quantile(x, q), V, 0.37),
}


def diagonal_filled(x, v):
    y = x * 2
    np.fill_diagonal(y, v)
    return y


def put(x, v):
    y, z = x * 2, x * 3
    np.put_along_axis(y, np.argmax(y, axis=1)[:, None], v, axis=1)
    np.put_along_axis(z, np.array([1, 5]), v, axis=None)
    return y, z


def strided(x):
    y = x * 1
    view = np.lib.stride_tricks.as_strided(y, (2, 2), (16, 8), writeable=True)
    view[...] = view**2
    return y, np.lib.stride_tricks.as_strided(x, (3, 3), (8, 8)) ** 2


def flat(x):
    y, z = x * 1, x * 1
    y.flat[::2] = x.flat[1] ** 2
    y.flat[3] = x.flat[0]
    z.flat = x[0] ** 2
    return y, z


ARRANGEMENTS = {
    "roll": (lambda x: np.roll(x, (1, 2), (0, 1)) * np.rot90(x, 2), A),
    "meshgrid": (lambda x, y: [m * m for m in np.meshgrid(x, y, indexing="ij", sparse=True, copy=False)], V, W),
    "ix_": (lambda x: x[np.ix_([0, 2], [True, False, True, False])] ** 2, A),
    "kron": (lambda x, y: np.kron(x, y), T[:, :2, :2], S),
    "cross": (lambda x, y: (np.cross(x, y, axis=0), np.cross(x[:, :3], y[:, :3])), A, A + 1),
    "vander": (lambda x: np.vander(x, 3, increasing=True), V),
    "block": (lambda x, y: np.block([[x, y * 2], [np.zeros((2, 4)), np.ones((2, 3))]]), A, S),
    "unique": (lambda x: np.unique(np.concatenate([x, [9.0, 9.0]])) ** 2, V),
    "unique, rows": (lambda x: np.unique(x, axis=0, return_index=True, return_inverse=True)[0], A),
    "sort": (lambda x: np.sort(x, axis=0) * np.sort(x, axis=None, kind="stable").reshape(3, 4), A),
    "orders": (lambda x: x[np.argsort(x)] * x[np.lexsort((x, x))] * np.partition(x, 2)[2], V),
    "sort_complex": (lambda z: np.sort_complex(z), Z),
    "insert": (lambda x, v: (np.insert(x, [1, 3], [v, v * v]), np.insert(x, slice(0, 2), v)), V, 0.3),
    "insert, columns": (lambda x, v: np.insert(x, 1, v, axis=1), A, W),
    "delete": (lambda x: np.delete(x, [1, 3]) ** 2 * np.delete(x, slice(None, None, 3))[0], V),
    "append": (lambda x, v: np.append(x, v) * np.append(x, x[-1]), V, 0.4),
    "resize": (lambda x: np.resize(x, (3, 3)), V),
    "triangles": (lambda x: np.tril(x, 1) + np.triu(x, -1) * np.tri(3, 4) + x[np.triu_indices(3, 1)].sum(), A),
    "fill_diagonal": (diagonal_filled, A, 0.3),
    "put_along_axis": (put, A, 0.3),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1), A),
    "windows": (lambda x: windows(x, (2, 2)).sum((-1, -2)) ** 2, A),
    "windows of a result": (lambda x: windows(x**2, 3) @ x[:3], V),
    "as_strided": (strided, V),
    "flat": (flat, A),
    "index tricks": (lambda x, s: (np.r_[x, 0, s, x[::-1]], np.r_["0,2", x, x * x], np.c_[x, np.ones(5)]), V, 0.4),
    "grids": (lambda a, b: (np.r_[a:b:5j], np.mgrid[a:2:b], np.ogrid[a:b:4j, 0:b:3j][1]), 0.3, 0.4),
    "array API": (lambda x: (np.concat([x, x * x]), np.permute_dims(x, (1, 0)) * 2, np.pow(x, 2), np.atan2(x, 1.0)), A),
    "clip by names": (lambda x, a: (np.clip(x, a, None) * np.clip(x, a, 0.5), x.clip(max=a), x.clip(min=a)), A, -0.3),
}

EINSUM = {
    "explicit": (lambda x, y: np.einsum("ij,jk->ik", x, y), A, B),
    "implicit": (lambda x, y: np.einsum("ij,jk", x, y), A, B),
    "trace and diagonal": (lambda x: np.einsum("ii", x) * np.einsum("ii->i", x), S),
    "ellipsis": (lambda x, y: np.einsum("...i,...i->...", x, y), T, A),
    "lists": (lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]), A, B),
    "optimised": (lambda x, y, v: np.einsum("ij,jk,k->i", x, y, v, optimize=["einsum_path", (0, 1), (0, 1)]), A, B, W),
    "out": (lambda x, y: np.einsum("ij,jk->ik", x, y, out=np.empty((3, 3))) * 2, A, B),
    "complex": (lambda x, y: np.einsum("i,i", x, y.conj()), Z, Z * 2),
    "tensordot": (lambda x, y: np.tensordot(x, y, axes=([2, 1], [0, 1])) * np.tensordot(x, y, 0)[0, 0, 0, 0, 0], T, B),
}


def checked(x):
    np.testing.assert_allclose(x, x * 1.0, rtol=1e-7)
    np.testing.assert_array_equal(x, x)
    np.testing.assert_array_less(x, x + 1)
    with np.testing.assert_raises(ValueError):
        raise ValueError
    return x * x * np.allclose(x, x) * np.array_equal(x, x)


def under_errstate(x):
    with np.errstate(all="ignore"):
        y = np.log(x - 1)
    with np.errstate(divide="raise"):
        try:
            z = 1 / np.zeros(1) * x
        except FloatingPointError:
            z = x * 3
    return np.where(x > 1, y, 0.0) + z


def noisy(x):
    generator, old = np.random.default_rng(0), np.random.RandomState(1)
    return x * generator.normal(size=5) + old.rand(5) * x**2 + x[generator.choice(5, 3)].sum()


def dated(x):
    days = np.arange("2020-01-01", "2020-01-06", dtype="datetime64[D]")
    return x * (days > np.datetime64("2020-01-02")) * (np.timedelta64(3, "D") / np.timedelta64(1, "h"))


def spelled(x):
    named = np.char.str_len(np.array(["a", "bb", "c", "d", "eee"])) * (np.strings.upper(np.array("a")) == "A")
    return x * named * len(np.array2string(x)) * len(f"{x[0]:.3f}") * len("%.3f" % x[0])


def without_axes(x):
    y = np.zeros(())
    y[...] = x[1]
    y[()] += x[0]
    y *= 2
    return y, float(y), y.item(), y.astype(float), y.reshape(1), y[None] * 2, y.tolist(), np.array(x[2])[()]


def by_columns(x):
    y = np.asfortranarray(x * 2)
    y.T[1] *= 3
    part = y[::-1, ::2]
    part += 1
    return y, y.ravel("K"), y.ravel("F"), y.reshape(2, 6, order="F"), np.copy(y, order="F"), y.flatten("F"), y.copy("K")


def methods_of_a_number(x):
    a = x[0]
    y = a.sum() * a.mean() * a.conj() * a.real * a.item() * a.astype(float) * a.reshape(1)[0] * a.clip(0, 3) * a.copy()
    z = (
        a.max()
        * a.squeeze()
        * a.ravel()[0]
        * a.T
        * a.cumsum()[0]
        * a.prod()
        * a.view(float)
        * a.take(0)
        * a.flatten()[0]
    )
    return y * z * a.repeat(2)[1] * a.tolist() * a.__float__() * a.transpose() * a.min() + a.__add__(1.0) + a.var()


SURROUNDINGS = {
    "numpy.testing": (checked, V),
    "errstate": (under_errstate, V),
    "random": (noisy, V),
    "dates": (dated, V),
    "strings": (spelled, V),
    "memoryview": (lambda x: memoryview(x)[2] * np.asarray(memoryview(x * 2)) ** 2, V),
    "frombuffer": (lambda x: np.frombuffer(x * 2) ** 2, V),
    "arrays without axes": (without_axes, V),
    "methods of a NumPy number": (methods_of_a_number, V),
    "column order": (by_columns, A),
    "column order, given": (by_columns, np.asfortranarray(A)),
    "strides": (lambda x: x * x.sum(), A[::2, ::-1]),
    "single precision": (
        lambda x: np.linalg.inv(x @ x.T + np.eye(3, dtype=np.float32)) * np.float32(2),
        A.astype(np.float32),
    ),
    "single complex": (lambda z: np.fft.fft(z) * np.abs(z) * 2, Z.astype(np.complex64)),
    "long double": (lambda x: np.sin(x * x), V.astype(np.longdouble)),
    "integers": (lambda x: x * np.arange(5) + (x > 1) * x + np.int64(3) * x * x.astype(int), V),
    "lists": (
        lambda x: (
            np.dot([1.0, x[0], 2.0], [x[1], x[2], x[3]]) + np.linalg.norm([x[0], x[1]]) * np.max([[x[0]], [x[1]]])
        ),
        V,
    ),
}

if hasattr(math, "sumprod"):  # Python 3.12
    SURROUNDINGS["math.sumprod"] = (lambda x: math.sumprod(list(x), list(x * 2)), V)

CASES = {
    f"{topic}: {name}": case
    for topic, cases in {
        "linear algebra": LINEAR_ALGEBRA,
        "signals": SIGNALS,
        "statistics": STATISTICS,
        "arrangements": ARRANGEMENTS,
        "einsum": EINSUM,
        "surroundings": SURROUNDINGS,
    }.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize(("program", "args"), [(f, args) for f, *args in CASES.values()], ids=CASES)
def test_a_program_on_arrays(program, args):
    mo.testing.check_gradients(
        program, *args, rtol=None if any(x.dtype.char in "fF" for x in args if np.ndim(x)) else 1e-5
    )


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_of_every_kind(method):
    mo.testing.check_gradients(lambda x: np.quantile(x, [0.12, 0.37, 0.83], method=method), V)
    mo.testing.check_gradients(lambda x: np.nanquantile(with_nan(x), [0.12, 0.37, 0.83], method=method), V)
    mo.testing.check_gradients(lambda x: np.percentile(x, 37.0, axis=0, method=method), A)
    mo.testing.check_gradients(lambda x: np.nanpercentile(x, [37.0, 80.0], axis=1, method=method), A)


def test_a_raw_factorisation_is_refused():
    with pytest.raises(mo.NoDerivative, match="raw"):
        mo.grad(lambda x: np.linalg.qr(x, mode="raw")[0].sum())(B)


def saved(x, save, load):
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/x.npy"
        save(file, x)
        return (load(file) * x).sum()


@pytest.mark.parametrize(("save", "load"), [(np.save, np.load), (np.savetxt, np.loadtxt)], ids=["npy", "text"])
def test_what_went_through_a_file_is_a_constant(save, load):
    np.testing.assert_allclose(mo.grad(lambda x: saved(x, save, load))(V), V)


def test_numbers_made_of_the_bytes_of_an_array_are_refused():
    with pytest.raises(mo.NoDerivative, match="bytes"):
        mo.grad(lambda x: np.frombuffer(x.tobytes()).sum())(V)
