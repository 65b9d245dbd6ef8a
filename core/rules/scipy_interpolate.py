"""NumPy programs that model the compiled functions of ``scipy.interpolate``.

Piecewise polynomials are local powers of x - x_i with the coefficient of the highest power first; splines are sums of
B-splines.  The search for the piece that contains a point has no derivative.

Source: C. de Boor, A Practical Guide to Splines (1978), chapters IX and X.
"""

from __future__ import annotations

import itertools
from importlib import import_module
from math import comb, perm
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import NoDerivative
from .table import compiled, model, zero

# Piecewise polynomials


def piece(x: Any, at: Any) -> Any:
    """The index of the interval between the breakpoints ``x`` that each point is in, or is nearest to."""
    sign = 1 if x[-1] >= x[0] else -1
    return np.clip(np.searchsorted(sign * x, sign * at, "right") - 1, 0, len(x) - 2)


def outside(x: Any, at: Any) -> Any:
    return (at < min(x[0], x[-1])) | (at > max(x[0], x[-1])) | np.isnan(at)


def power_sum(c: Any, s: Any, nu: int = 0) -> Any:
    """The polynomial with the coefficients ``c``, highest power first, at ``s``; or a derivative or integral of it."""
    degree = len(c) - 1
    total = 0.0 * c[0] * s
    for j, coefficient in enumerate(c):
        power = degree - j
        if power >= nu:
            factor = perm(power, nu) if nu >= 0 else 1 / perm(power - nu, -nu)
            total = total * s + factor * coefficient
    return total * s**-nu if nu < 0 else total


def evaluate(c, x, xp, dx, extrapolate, out):
    i = piece(x, xp)
    y = power_sum(c[:, i], (xp - x[i])[:, None], dx)
    return y if extrapolate else np.where(outside(x, xp)[:, None], np.nan, y)


def evaluate_bernstein(c, x, xp, nu, extrapolate, out):
    i = piece(x, xp)
    width = (x[i + 1] - x[i])[:, None]
    s = (xp - x[i])[:, None] / width
    b = c[:, i]
    for _ in range(nu):
        b = (len(b) - 1) * (b[1:] - b[:-1]) / width if len(b) > 1 else 0.0 * b
    degree = len(b) - 1
    y = 0.0 * b[0]
    for j in range(degree + 1):
        y = y + comb(degree, j) * b[j] * s**j * (1 - s) ** (degree - j)
    return y if extrapolate else np.where(outside(x, xp)[:, None], np.nan, y)


def integrate(c, x, a, b, extrapolate, out):
    ends = np.array([a, b])
    i, j = piece(x, ends)
    total = power_sum(c[:, j], b - x[j], -1) - power_sum(c[:, i], a - x[i], -1)
    for m in range(min(i, j), max(i, j)):
        total = total + (1 if j > i else -1) * power_sum(c[:, m], x[m + 1] - x[m], -1)
    return total if extrapolate or not np.any(outside(x, ends)) else np.full(np.shape(out), np.nan)


def evaluate_nd(c, xs, ks, xp, dx, extrapolate, out):
    degrees = [int(k) for k in ks]
    c = np.reshape(c, (*degrees, *(len(x) - 1 for x in xs), -1))
    found = [piece(x, xp[:, d]) for d, x in enumerate(xs)]
    total = 0.0
    for choice in itertools.product(*map(range, degrees)):
        term = c[(*choice, *found)]
        for d, j in enumerate(choice):
            power, nu = degrees[d] - 1 - j, int(dx[d])
            s = xp[:, d] - xs[d][found[d]]
            term = term * (perm(power, nu) * s ** max(power - nu, 0))[:, None]
        total = total + term
    beyond = np.any(np.stack([outside(x, xp[:, d]) for d, x in enumerate(xs)]), axis=0)
    return total if extrapolate else np.where(beyond[:, None], np.nan, total)


def fix_continuity(c, x, order):
    """Make each piece start with the derivatives, up to ``order``, with which the previous one ends."""
    columns = [c[:, 0]]
    for m in range(1, np.shape(c)[1]):
        ends = [power_sum(columns[-1], x[m] - x[m - 1], nu) / perm(nu, nu) for nu in range(order, -1, -1)]
        columns.append(np.concatenate((c[: len(c) - order - 1, m], np.stack(ends))))
    return np.stack(columns, axis=1)


def roots_found(c: Any, x: Any, y: Any, discontinuity: Any, extrapolate: Any) -> Any:
    return compiled("scipy.interpolate", "_ppoly.real_roots")(c, x, y, discontinuity, extrapolate)


def real_roots(c, x, y, report_discont, extrapolate):
    """Apply one Newton step at each root: it keeps the value and has the derivative of the implicit function theorem."""
    found = []
    for k, roots in enumerate(roots_found(c, x, y, report_discont, extrapolate)):
        i = piece(x, roots)
        s = roots - x[i]
        residual = power_sum(c[:, i, k], s) - y
        at_jump = np.abs(residual) > 1e-8 * (1 + np.max(np.abs(c[:, :, k])))
        nearest = np.argmin(np.abs(roots[:, None] - np.asarray(x)), axis=1)
        slope = np.where(at_jump, 1.0, power_sum(c[:, i, k], s, 1))
        found.append(np.where(at_jump, x[nearest], roots - residual / slope))
    return found


zero(roots_found)
model(compiled("scipy.interpolate", "_ppoly.evaluate"), evaluate, into=5)
model(compiled("scipy.interpolate", "_ppoly.evaluate_bernstein"), evaluate_bernstein, into=5)
model(compiled("scipy.interpolate", "_ppoly.integrate"), integrate, into=5)
model(compiled("scipy.interpolate", "_ppoly.evaluate_nd"), evaluate_nd, into=6)
model(compiled("scipy.interpolate", "_ppoly.fix_continuity"), fix_continuity, into=0, updates=True)
model(compiled("scipy.interpolate", "_ppoly.real_roots"), real_roots)


# Splines


def knot_interval(t: Any, k: int, x: Any) -> Any:
    """The j for which t_j <= x < t_{j+1}, within the base interval."""
    n = len(t) - k - 1
    j = np.clip(np.searchsorted(t[: n + 1], x, "right") - 1, k, n - 1)
    while np.any(t[j] == t[j + 1]) and np.any(j > k):  # the end of the base interval may be a multiple knot
        j = np.where((t[j] == t[j + 1]) & (j > k), j - 1, j)
    return j


def basis(t: Any, k: int, x: Any, j: Any, nu: int = 0) -> list[Any]:
    """The k + 1 B-splines (or derivatives of them) that are not zero between t_j and t_{j+1}, at ``x``."""
    if nu > k:
        return [0.0 * x] * (k + 1)
    if nu:
        lower = basis(t, k - 1, x, j, nu - 1)
        slopes = [k * b / (t[j + 1 + m] - t[j - k + 1 + m]) for m, b in enumerate(lower)]
        return [-slopes[0], *(a - b for a, b in zip(slopes, slopes[1:])), slopes[-1]]
    b = [np.ones(np.shape(x))]
    for r in range(1, k + 1):
        saved, raised = 0.0, []
        for m in range(r):
            right, left = t[j + m + 1], t[j + 1 - r + m]
            share = b[m] / (right - left)
            raised.append(saved + (right - x) * share)
            saved = (x - left) * share
        b = [*raised, saved]
    return b


def spline_outside(t: Any, k: int, x: Any) -> Any:
    return (x < t[k]) | (x > t[len(t) - k - 1]) | np.isnan(x)


def evaluate_spline(t, c, k, xp, nu, extrapolate=True):
    j = knot_interval(t, k, xp)
    y: Any = 0.0
    for m, b in enumerate(basis(t, k, xp, j, nu)):
        y = y + b[:, None] * c[j - k + m]
    return y if extrapolate else np.where(spline_outside(t, k, xp)[:, None], np.nan, y)


def evaluate_all_bspl(t, k, xval, m, nu=0):
    return np.stack(basis(t, k, xval, m, nu))


def collocation(x: Any, t: Any, k: int) -> Any:
    """The matrix of all B-splines at ``x``."""
    j = knot_interval(t, k, x)
    matrix = np.zeros((len(x), len(t) - k - 1))
    rows = np.arange(len(x))
    for m, b in enumerate(basis(t, k, x, j)):
        matrix[rows, j - k + m] = b
    return matrix


def banded_collocation(x, t, k, ab, offset=0):
    """The collocation matrix in LAPACK's band storage, transposed."""
    j = knot_interval(t, k, x)
    filled = np.zeros(np.shape(ab))
    rows = np.arange(len(x)) + offset
    for m, b in enumerate(basis(t, k, x, j)):
        column = j - k + m
        filled[column, 2 * k + rows - column] = b
    return filled


def normal_equations(x, t, k, y, w, ab, rhs):
    """The lower band of A' W^2 A, transposed, and A' W^2 y."""
    a = collocation(x, t, k) * w[:, None]
    square = a.T @ a
    n = len(square)
    bands = [np.concatenate((np.diagonal(square, -d), np.zeros(d))) for d in range(k + 1)]
    return np.stack(bands, axis=1)[:n], a.T @ (y * w[:, None])


def data_matrix(x, t, k, w, extrapolate=False):
    """The non-zero entries of the weighted collocation matrix, by rows, and the first column of each row."""
    j = knot_interval(t, k, x)
    return np.stack(basis(t, k, x, j), axis=-1) * w[:, None], j - k, len(t) - k - 1


def least_squares(x, y, t, k, w, periodic=False):
    """The coefficients; None for SciPy's triangular factors."""
    if periodic:
        raise NoDerivative("a periodic least-squares spline has no derivative rule; use make_interp_spline")
    a = collocation(x, t, k) * w[:, None]
    return None, None, np.linalg.solve(a.T @ a, a.T @ (y * w[:, None])), None, None


def collocation_of_several(xvals, t, len_t, k, indices_k1d, cstrides):
    """The non-zero entries, by rows, of the collocation matrix of a tensor-product spline."""
    splines = []
    for d, order in enumerate(k):
        knots = t[d, : int(len_t[d])]
        x = xvals[:, d]
        splines.append(basis(knots, int(order), x, knot_interval(knots, int(order), x)))
    rows = []
    for choice in itertools.product(*(range(int(order) + 1) for order in k)):
        entry = 1.0
        for d, m in enumerate(choice):
            entry = entry * splines[d][m]
        rows.append(entry)
    return np.reshape(np.stack(rows, axis=-1), (-1,)), None, None


def evaluate_ndbspline(xi, t, len_t, k, nu, extrapolate, c1r, num_c_tr, strides_c1, indices_k1d):
    dims = len(len_t)
    knots = [t[d, : int(len_t[d])] for d in range(dims)]
    found = [knot_interval(knots[d], int(k[d]), xi[:, d]) for d in range(dims)]
    splines = [basis(knots[d], int(k[d]), xi[:, d], found[d], int(nu[d])) for d in range(dims)]
    total = 0.0
    for choice in itertools.product(*(range(int(order) + 1) for order in k)):
        place: Any = 0
        weight: Any = 1.0
        for d, m in enumerate(choice):
            place = place + (found[d] - int(k[d]) + m) * int(strides_c1[d])
            weight = weight * splines[d][m]
        total = total + weight[:, None] * c1r[place[:, None] + np.arange(num_c_tr)]
    beyond = np.any(np.stack([spline_outside(knots[d], int(k[d]), xi[:, d]) for d in range(dims)]), axis=0)
    return total if extrapolate else np.where(beyond[:, None], np.nan, total)


def fitpack_spline(t, c, k, x, e=0):
    return fitpack_derivative(t, c, k, x, 0, e)


def fitpack_derivative(t, c, k, x, nu=1, e=0):
    """``e`` selects the value outside: 0 extrapolation, 1 zero, 3 the value at the boundary."""
    beyond = spline_outside(t, k, x)
    n = len(t) - k - 1
    if e == 3:
        x = np.clip(x, t[k], t[n])
    y = evaluate_spline(t, c[:n, None], k, x, nu)[:, 0]
    return (np.where(beyond, 0.0, y) if e == 1 else y), 0


def fitpack_derivative_of_order(t, c, k, nu, x, e=0):
    return fitpack_derivative(t, c, k, x, nu, e)


def fitpack_integral_and_parts(t, c, k, a, b):
    return fitpack_integral(t, c, k, a, b), None


def fitpack_integral(t, c, k, a, b):
    """Integrate by the antiderivative's coefficients (de Boor X.31); the spline is zero outside its knots."""
    n = len(t) - k - 1
    steps = c[:n] * (t[k + 1 :] - t[:n]) / (k + 1)
    sums = np.concatenate((np.zeros(1), np.cumsum(steps)))
    longer = np.concatenate((t[:1], t, t[-1:]))
    ends = np.clip(np.stack([a, b]), t[k], t[n])
    y = evaluate_spline(longer, sums[:, None], k + 1, ends, 0)[:, 0]
    return y[1] - y[0]


model(compiled("scipy.interpolate", "_dierckx.evaluate_spline"), evaluate_spline)
model(compiled("scipy.interpolate", "_dierckx.evaluate_all_bspl"), evaluate_all_bspl)
model(compiled("scipy.interpolate", "_dierckx.evaluate_ndbspline"), evaluate_ndbspline)
model(compiled("scipy.interpolate", "_dierckx.data_matrix"), data_matrix)
model(compiled("scipy.interpolate", "_bsplines._lsq_solve_qr"), least_squares)
model(compiled("scipy.interpolate", "_dierckx._coloc_nd"), collocation_of_several)
model(compiled("scipy.interpolate", "_dierckx._coloc"), banded_collocation, into=3)
model(compiled("scipy.interpolate", "_dierckx._norm_eq_lsq"), normal_equations, into=(5, 6))
model(compiled("scipy.interpolate", "_dfitpack.splev", "_fitpack.splev"), fitpack_spline)
model(compiled("scipy.interpolate", "_dfitpack.splder"), fitpack_derivative)
model(compiled("scipy.interpolate", "_dfitpack.splint"), fitpack_integral_and_parts)
model(compiled("scipy.interpolate", "_fitpack.splder"), fitpack_derivative_of_order)  # SciPy 1.18
model(compiled("scipy.interpolate", "_fitpack.splint"), fitpack_integral)


# Grids and scattered points


def find_indices(grid, xi):
    places, distances = [], []
    for x, at in zip(grid, xi):
        if len(x) == 1:
            places.append(np.full(np.shape(at), -1))
            distances.append(0.0 * at)
            continue
        i = np.clip(np.searchsorted(x, at, "right") - 1, 0, len(x) - 2)
        places.append(i)
        distances.append((at - x[i]) / (x[i + 1] - x[i]))
    return np.stack(places), np.stack(distances)


def evaluate_linear_2d(values, indices, norm_distances, grid, out):
    total = 0.0
    for corner in itertools.product((0, 1), repeat=2):
        weight, place = 1.0, []
        for d, upper in enumerate(corner):
            weight = weight * (norm_distances[d] if upper else 1 - norm_distances[d])
            single = np.shape(values)[d] == 1
            place.append(0 * indices[d] if single else indices[d] + upper)
        total = total + weight * values[tuple(place)]
    return np.where(np.isnan(norm_distances[0] + norm_distances[1]), np.nan, total)


def radial_system(y, d, smoothing, kernel, epsilon, powers):
    left, right, shift, scale = import_module("scipy.interpolate._rbfinterp_xp")._build_system(
        y, d, smoothing, kernel, epsilon, powers, np
    )
    return left, right, shift, scale


def radial_coefficients(x, y, kernel, epsilon, powers, shift, scale):
    functions = import_module("scipy.interpolate._rbfinterp_xp")
    radii = distances(x * epsilon, y * epsilon)
    monomials = functions.polynomial_matrix((x - shift) / scale, powers, np)
    return np.concatenate((functions.NAME_TO_FUNC[kernel](radii, np), monomials), axis=1)


def distances(x: Any, y: Any) -> Any:
    """Euclidean distances; the derivative is zero at distance zero."""
    return np.linalg.norm(x[:, None, :] - y[None, :, :], axis=-1)


model(compiled("scipy.interpolate", "_rgi_cython.find_indices"), find_indices)
model(compiled("scipy.interpolate", "_rgi_cython.evaluate_linear_2d"), evaluate_linear_2d, into=4)
if isinstance(compiled("scipy.interpolate", "_rbfinterp_xp"), ModuleType):
    model(compiled("scipy.interpolate", "_rbfinterp_pythran._build_system"), radial_system)
    model(compiled("scipy.interpolate", "_rbfinterp_pythran._build_evaluation_coefficients"), radial_coefficients)


# FITPACK: bivariate splines, and the interpolating spline of one variable


def surface(tx, ty, c, kx, ky, x, y):
    return surface_derivative(tx, ty, c, kx, ky, 0, 0, x, y)


def surface_at_points(tx, ty, c, kx, ky, x, y):
    return surface_derivative_at_points(tx, ty, c, kx, ky, 0, 0, x, y)


def surface_derivative(tx, ty, c, kx, ky, nux, nuy, x, y):
    """The derivative on the grid of ``x`` and ``y``."""
    x, y = np.atleast_1d(x, y)
    across, along = np.repeat(x, len(y)), np.tile(y, len(x))
    z, ier = surface_derivative_at_points(tx, ty, c, kx, ky, nux, nuy, across, along)
    return np.reshape(z, (len(x), len(y))), ier


def surface_derivative_at_points(tx, ty, c, kx, ky, nux, nuy, x, y):
    """The derivative at points; points outside are moved to the boundary."""
    x, y = np.atleast_1d(x, y)
    n, m = len(tx) - kx - 1, len(ty) - ky - 1
    x, y = np.clip(x, tx[kx], tx[n]), np.clip(y, ty[ky], ty[m])
    i, j = knot_interval(tx, kx, x), knot_interval(ty, ky, y)
    rows, columns = basis(tx, kx, x, i, nux), basis(ty, ky, y, j, nuy)
    z = 0.0
    for p, b in enumerate(rows):
        for q, d in enumerate(columns):
            z = z + b * d * c[(i - kx + p) * m + j - ky + q]
    return z, 0


def smoothed_curve(*args):
    raise NoDerivative(
        "FITPACK chooses the knots of a smoothing spline by trials that have no derivative; fit with s=0, or use "
        "scipy.interpolate.make_lsq_spline with knots of your own, or make_smoothing_spline"
    )


def fitted_curve(x, y, k, w=None, xb=None, xe=None, s=None, nest=None):
    """The interpolating spline: inner knots at the points (some at the ends left out), or midway between for even k."""
    if s is None or s > 0:
        smoothed_curve()
    half = k // 2
    inner = x[half + 1 : len(x) - half - 1] if k % 2 else (x[half + 1 : -half] + x[half : -half - 1]) / 2
    first, last = (x[0] if xb is None else xb), (x[-1] if xe is None else xe)
    t = np.concatenate((np.stack([first] * (k + 1)), inner, np.stack([last] * (k + 1))))
    c = np.linalg.solve(collocation(x, t, k), y)
    rest = np.zeros((0 if nest is None else nest) + 2 * len(x) + 4 * k)
    room = len(x) + k + 1 if nest is None else nest
    t, c = np.concatenate((t, rest))[:room], np.concatenate((c, rest))[:room]
    return x, y, w, first, last, k, s, None, t, c, None, None, None, 0


def given_or_fitted_curve(iopt, x, y, w, xb, xe, k, s, t, wrk, iwrk):
    """With the caller's knots (negative ``iopt``), the least-squares spline."""
    if iopt == 0:
        _, _, _, _, _, _, _, _, t, c, _, _, _, _ = fitted_curve(x, y, k, w, xb, xe, s, len(t))
        return len(x) + k + 1, t, c, None, 0
    if iopt > 0:
        smoothed_curve()
    t = np.concatenate((np.stack([xb] * (k + 1)), t[k + 1 : -k - 1], np.stack([xe] * (k + 1))))
    a = collocation(x, t, k) * w[:, None]
    c = np.linalg.solve(a.T @ a, a.T @ (y * w))
    return len(t), t, np.concatenate((c, np.zeros(k + 1))), None, 0


model(compiled("scipy.interpolate", "_dfitpack.bispev", "_fitpack.bispev"), surface)
model(compiled("scipy.interpolate", "_dfitpack.bispeu", "_fitpack.bispeu"), surface_at_points)
model(compiled("scipy.interpolate", "_dfitpack.parder", "_fitpack.parder"), surface_derivative)
model(compiled("scipy.interpolate", "_dfitpack.pardeu", "_fitpack.pardeu"), surface_derivative_at_points)
model(compiled("scipy.interpolate", "_dfitpack.fpcurf0"), fitted_curve)
model(compiled("scipy.interpolate", "_dfitpack.fpcurf1"), smoothed_curve)
model(compiled("scipy.interpolate", "_fitpack.curfit"), given_or_fitted_curve)  # SciPy 1.18


# Linear interpolation in a triangulation, which is constant


def containing(triangulation: Any, x: Any, simplex_tolerance: float = 1.0) -> Any:
    """Find simplices; the tolerance is in units of SciPy's default, 100 eps."""
    return triangulation.find_simplex(x, tol=simplex_tolerance * 100 * np.finfo(float).eps)


def linear_in_simplex(interpolator, points, values, x, fill, options):
    simplex = containing(interpolator.tri, x, **options)
    vertices = interpolator.tri.simplices[np.maximum(simplex, 0)]
    corners = points[vertices]
    edges = np.swapaxes(corners[..., :-1, :] - corners[..., -1:, :], -1, -2)
    shares = np.linalg.solve(edges, (x - corners[..., -1, :])[..., None])[..., 0]
    shares = np.concatenate((shares, 1 - np.sum(shares, axis=-1, keepdims=True)), axis=-1)
    shares = np.reshape(shares, np.shape(shares) + (1,) * (np.ndim(values) - 1))
    y = np.sum(shares * values[vertices], axis=np.ndim(x) - 1)
    outside = np.reshape(simplex < 0, np.shape(simplex) + (1,) * (np.ndim(values) - 1))
    return np.where(outside, fill, y)


zero(containing)
