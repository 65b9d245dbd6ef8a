"""SciPy's functions whose inner part is written in C: the NumPy programs and rules of ``rules/`` take its place."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fftpack
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial.distance as distance

from morula.core.ir.typed import ArrayType
from morula.core.specialise.surface.library import sample_of

X = np.array([0.3, 0.7, 1.1, 1.2, 1.7, 2.0])
POINTS = np.array([[0.1, 0.4, 1.0], [0.7, 0.2, 0.5], [0.9, 1.3, 0.6], [1.6, 0.8, 0.3]])


def symmetric(a):
    return a @ a.T


def without_diagonal(a):
    return a - np.diag(np.diag(a))


def interpolated(kind):
    return lambda y: np.sum(kind(np.arange(6.0), y)(np.array([1.2, 2.5, 3.9])))


PROGRAMS = {
    "a vector as a square": lambda x: np.sum(distance.squareform(x) ** 2),
    "a square as a vector": lambda p: np.sum(distance.squareform(without_diagonal(symmetric(p))) ** 2),
    "pairs": lambda p: np.sum(distance.pdist(p) ** 1.5),
    "pairs by cosine": lambda p: np.sum(distance.pdist(p, "cosine")),
    "pairs of two sets": lambda p: np.sum(distance.cdist(p, p[:2] + 0.1, "cityblock") ** 2),
    "pairs with an option": lambda p: np.sum(distance.cdist(p, p[:2] + 0.1, "minkowski", p=3)),
    "a spline of FITPACK": interpolated(scipy.interpolate.InterpolatedUnivariateSpline),
    "a cubic spline": interpolated(scipy.interpolate.CubicSpline),
    "a monotone spline": interpolated(scipy.interpolate.PchipInterpolator),
    "a recursive filter": lambda x: np.sum(scipy.signal.lfilter([1.0, 0.2], [1.0, 0.5], x) ** 2),
    "a smooth image": lambda p: np.sum(scipy.ndimage.gaussian_filter(p, 1.0) ** 2),
    "a transform in C": lambda x: np.sum(scipy.fftpack.dct(x, type=2, norm="ortho") ** 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient(name, check):
    check(PROGRAMS[name], POINTS if name.startswith(("a square", "pairs", "a smooth")) else X)


def test_an_argument_that_may_be_overwritten_is_kept(check):
    def f(a, b):
        x = scipy.linalg.solve(a + 0.0, b + 0.0, overwrite_a=True, overwrite_b=True)
        return np.sum(x * x) + np.sum(a) + np.sum(b)

    check(f, np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([1.0, 2.0]))


def test_a_result_is_written_into_an_array(check):
    def f(x):
        y = np.zeros(3)
        scipy.ndimage.convolve1d(x, np.array([0.5, 1.0, 0.5]), output=y)
        return np.sum(y**2)

    check(f, np.array([1.0, 2.0, 4.0]))


def test_samples_of_integer_vectors_are_indices_within_bounds():
    """LAPACK's ``getrs`` writes out of bounds if the pivots of the call that finds a result's type are too large."""
    for n in (1, 2, 5):
        pivots = sample_of(ArrayType(np.dtype(np.int64), (n,)))
        assert pivots.min() >= 0 and pivots.max() < n
