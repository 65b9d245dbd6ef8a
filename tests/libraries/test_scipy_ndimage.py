"""scipy.ndimage: filters and interpolation, compared with extrapolated differences of the same calls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import morula as mo
from morula.core.testing.differences import ridders
from morula.testing import check_gradients

random = np.random.default_rng(0)
IMAGE = random.normal(size=(5, 6))
LINE = random.normal(size=9)
KERNEL = random.normal(size=(3, 2))
WEIGHTS = np.array([0.3, 0.5, -0.2, 0.1])
POINTS = np.array([[0.3, 2.2, 3.7, -1.3], [1.1, 3.3, 4.6, 6.2]])
LABELS = np.arange(30).reshape(5, 6) % 3
MODES = ["reflect", "constant", "nearest", "mirror", "wrap"]

FILTERS = {
    "correlate": (lambda x, k, mode: ndimage.correlate(x, k, mode=mode, origin=(1, 0)), IMAGE, KERNEL),
    "convolve": (lambda x, k, mode: ndimage.convolve(x, k, mode=mode), IMAGE, KERNEL),
    "correlate1d": (lambda x, k, mode: ndimage.correlate1d(x, k, mode=mode, origin=1), IMAGE, WEIGHTS),
    "convolve1d": (lambda x, k, mode: ndimage.convolve1d(x, k, axis=0, mode=mode), IMAGE, WEIGHTS),
    "gaussian_filter": (lambda x, s, mode: ndimage.gaussian_filter(x, s, mode=mode), IMAGE, 1.1),
    "uniform_filter": (lambda x, mode: ndimage.uniform_filter(x, (4, 3), mode=mode, origin=-1), IMAGE),
    "maximum_filter": (lambda x, mode: ndimage.maximum_filter(x, 3, mode=mode), IMAGE),
    "minimum_filter": (lambda x, mode: ndimage.minimum_filter1d(x, 3, mode=mode), LINE),
    "median_filter": (lambda x, mode: ndimage.median_filter(x, 3, mode=mode), IMAGE),
    "rank_filter": (lambda x, mode: ndimage.rank_filter(x, 1, 4, mode=mode), LINE),
    "shift": (lambda x, s, mode: ndimage.shift(x, s, mode=mode), IMAGE, np.array([0.3, -1.2])),
    "map_coordinates, order 1": (lambda x, c, mode: ndimage.map_coordinates(x, c, order=1, mode=mode), IMAGE, POINTS),
    "map_coordinates, order 2": (lambda x, c, mode: ndimage.map_coordinates(x, c, order=2, mode=mode), IMAGE, POINTS),
    "map_coordinates, order 3": (lambda x, c, mode: ndimage.map_coordinates(x, c, order=3, mode=mode), IMAGE, POINTS),
    "map_coordinates, order 5": (lambda x, c, mode: ndimage.map_coordinates(x, c, order=5, mode=mode), IMAGE, POINTS),
}

CALLS = {
    "cval": (lambda x, k, v: ndimage.correlate(x, k, mode="constant", cval=v), IMAGE, KERNEL, 0.7),
    "cval along an axis": (lambda x, k, v: ndimage.correlate1d(x, k, mode="constant", cval=v), IMAGE, WEIGHTS, 0.7),
    "cval outside": (
        lambda x, v: ndimage.map_coordinates(x, POINTS, order=1, mode="constant", cval=v), IMAGE, 0.7,
    ),
    "gaussian derivative": (lambda x: ndimage.gaussian_filter(x, 1.2, order=(1, 0)), IMAGE),
    "sobel": (ndimage.sobel, IMAGE),
    "prewitt": (lambda x: ndimage.prewitt(x, 0), IMAGE),
    "laplace": (ndimage.laplace, IMAGE),
    "gaussian_laplace": (lambda x: ndimage.gaussian_laplace(x, 1.1), IMAGE),
    "gaussian_gradient_magnitude": (lambda x: ndimage.gaussian_gradient_magnitude(x, 1.1), IMAGE),
    "zoom": (lambda x: ndimage.zoom(x, (1.7, 0.8)), IMAGE),
    "zoom on the grid": (lambda x: ndimage.zoom(x, 1.6, mode="grid-constant", grid_mode=True), IMAGE),
    "rotate": (lambda x, angle: ndimage.rotate(x, angle, reshape=False, mode="mirror"), IMAGE, 20.0),
    "affine_transform": (
        lambda x, m, o: ndimage.affine_transform(x, m, o, mode="mirror"),
        IMAGE, np.array([[0.9, 0.1], [-0.2, 1.1]]), np.array([0.2, 0.3]),
    ),
    "affine_transform, diagonal": (
        lambda x, m, o: ndimage.affine_transform(x, m, o, mode="mirror"),
        IMAGE, np.array([0.9, 0.8]), np.array([0.2, 0.3]),
    ),
    "spline_filter": (ndimage.spline_filter, IMAGE),
    "spline_filter1d": (lambda x: ndimage.spline_filter1d(x, 5, axis=0, mode="grid-wrap"), IMAGE),
    "grey_dilation": (lambda x, s: ndimage.grey_dilation(x, structure=s), IMAGE, KERNEL),
    "grey_erosion": (lambda x, s: ndimage.grey_erosion(x, structure=s), IMAGE, KERNEL),
    "white_tophat": (lambda x: ndimage.white_tophat(x, 3), IMAGE),
    "fourier_gaussian": (lambda x, s: np.abs(ndimage.fourier_gaussian(np.fft.fft2(x), s)), IMAGE, 0.4),
    "fourier_shift": (lambda x, s: np.fft.ifft2(ndimage.fourier_shift(np.fft.fft2(x), s)).real, IMAGE, 1.2),
    "mean of labels": (lambda x: ndimage.mean(x, LABELS, [1, 2]), IMAGE),
    "variance": (lambda x: ndimage.variance(x, LABELS, 1), IMAGE),
    "center_of_mass": (lambda x: ndimage.center_of_mass(np.exp(x)), IMAGE),
    "label": (lambda x: x * ndimage.label(x > 0)[0], IMAGE),
    "distance_transform_edt": (lambda x: x * ndimage.distance_transform_edt(x > 0), IMAGE),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FILTERS)
def test_at_every_kind_of_border(name, mode):
    f, *args = FILTERS[name]
    check_gradients(lambda *xs: f(*xs, mode), *args, order=1)


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f, *args = CALLS[name]
    check_gradients(f, *args, order=1)


@pytest.mark.parametrize("mode", ["mirror", "reflect"])
def test_second_derivatives_of_an_interpolation(mode):
    check_gradients(lambda x, c: ndimage.map_coordinates(x, c, mode=mode) ** 2, IMAGE, POINTS[:, :3])


@pytest.mark.parametrize("mode", [*MODES, "grid-wrap"])
def test_the_spline_filter_of_a_long_axis(mode):
    check_gradients(lambda x: ndimage.spline_filter1d(x, 3, mode=mode), random.normal(size=80), order=1)


def test_a_filter_that_calls_back_sees_what_the_function_closes_over():
    def f(x, p):
        return np.sum(ndimage.generic_filter(x, lambda w: np.sum(np.abs(w) ** p), size=3) ** 2)

    x, p = np.abs(IMAGE) + 0.1, 2.5
    _, slope = mo.gradient(f, x, p)
    assert slope == pytest.approx(ridders(lambda h: f(x, p + h), 0.01)[0], rel=1e-8)
