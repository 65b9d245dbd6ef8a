"""Arrays of dtype object: their entries are values of the program, on which NumPy's functions act as Python's operators do."""

import numpy as np
import pytest
from path_tester import check_gradient, check_value, run_on

from morula import BadInput

X = np.array([0.5, 0.7, 1.3])


class Point:
    def __init__(self, at):
        self.at = at

    def __add__(self, other):
        return Point(self.at + (other.at if isinstance(other, Point) else other))

    __radd__ = __add__

    def __mul__(self, other):
        return Point(self.at * (other.at if isinstance(other, Point) else other))

    __rmul__ = __mul__

    def sin(self):
        return Point(np.sin(self.at))

    def __float__(self):
        return float(self.at)

    def __ge__(self, other):
        return self.at >= other.at


class Scaled:
    """Decides itself what an array times it is."""

    __array_priority__ = 1.0

    def __rmul__(self, other):
        return 2.0 * np.asarray(other, float)


def points(x):
    return np.array([Point(e) for e in x])


def filled_by_loops(x):
    a = np.empty((2, 2), dtype=object)
    for i in range(2):
        for j in range(2):
            a[i, j] = x * (i + j + 1)
    return np.sum(a[0, 1]) + a[1, 1][0] + a.shape[0] + (a.dtype == object) + isinstance(a, np.ndarray)


def arithmetic(x):
    a = points(x)
    b = 2.0 * a + x
    return float(np.sum(np.sin(b))) + b[::-1][0].at + b.sum().at + np.asarray(b, float).sum() + (x * a)[1].at


def vectorized(x):
    a = np.vectorize(lambda v: Point(v), otypes=[object])(x)
    return np.vectorize(lambda p: p.at**2)(a).sum() + np.vectorize(Point)(x)[1].at


def views(x):
    a = points(x)
    b = a.reshape(-1, 1) + a
    b[0] = [Point(1.0)] * 3
    column = b[:, 1]
    column[2] = Point(x[0] ** 2)
    return b.trace().at + b[2, 1].at + b.T[1][2].at + np.concatenate([a, b[1]]).sum().at + b.flat[5].at


def products(x):
    a = points(x)
    m = np.array([[Point(e * f) for e in x] for f in x])
    return (
        np.dot(a, a).at + (m @ a)[2].at + np.max(a).at + np.add.accumulate(a)[-1].at + np.multiply.outer(a, a)[1, 2].at
    )


def of_numbers(x):
    a = x.astype(object)
    total = 0.0
    for e in a:
        total = total + e * e
    b = a
    b *= 2.0
    return total + a.astype(float).sum() + np.prod(a) + (a > 0.5).sum() + np.where(x > 0.6, a, 0.0).sum() + a.mean()


def of_several_kinds(x):
    a = np.array([Point(x[0]), None, 3.0, "text"], dtype=object)
    return a[0].at * a[2] + (a[1] is None) + len(a) + a.ndim + (a[3] == "text") + sum(1 for _ in a)


def of_arrays_of_unlike_lengths(x):
    a = np.array([x, 2 * x[:2]], dtype=object)
    a[0][1] = 4.0
    return a[0].sum() * a[1].sum() + sum(row.item().size for row in np.nditer(a, flags=["refs_ok"]))


def on_two_paths(x):
    if x[0] > 0.4:
        a = points(x[:2])
    else:
        a = points(x[1:])
    a[0] = Point(a[1].at * 2)
    return (a * 3.0)[0].at


def changed_on_a_path(x):
    a = points(x)
    if x[0] > 0.4:
        a[1] = Point(x[2] ** 2)
    return a.sum().at


def at_an_unknown_index(x):
    a = np.array([2.0, x[0], x[1]], dtype=object)
    return a[int(x[2] > 1.0)] * x[2]


def with_a_class_that_decides(x):
    return np.sum(np.array(list(x), dtype=object) * Scaled())


def rearranged(x):
    a = points(x)
    b = np.stack([a, a[::-1]])
    c = np.concatenate([a, [1.0, Point(x[1])], x])
    return (
        c[3]
        * c[6]
        * (
            b.squeeze().ravel()[4]
            + np.tile(a, 2)[5]
            + np.repeat(a, 2)[1]
            + np.append(a, a[0])[3]
            + np.take(a, [2, 0])[0]
        ).at
    )


PROGRAMS = [filled_by_loops, arithmetic, vectorized, views, products, of_numbers, of_several_kinds]
PROGRAMS += [of_arrays_of_unlike_lengths, on_two_paths, changed_on_a_path, at_an_unknown_index]
PROGRAMS += [with_a_class_that_decides, rearranged]


@pytest.mark.parametrize("path", ["native", "xla"])
@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_arrays_of_objects(f, path):
    check_gradient(path, f, X)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_returned_arrays_of_objects_share_their_memory(path):
    def f(x):
        a = points(x)
        return a, a[::2], a.reshape(3, 1), np.array([[x, 2 * x]], dtype=object)

    a, part, column, numbers = run_on(path)(f)(X)
    assert [e.at for e in a] == list(X)
    assert np.shares_memory(a, part) and part.shape == (2,) and part[1] is a[2]
    assert column.shape == (3, 1) and column.dtype == object
    assert numbers.shape == (1, 2, 3) and numbers[0, 1, 2] == 2.6


@pytest.mark.parametrize("path", ["native", "xla"])
def test_what_python_raises(path):
    with pytest.raises(TypeError, match="no callable cos method"):
        run_on(path)(lambda x: np.cos(points(x)))(X)
    with pytest.raises(IndexError, match="out of bounds"):
        run_on(path)(lambda x: points(x)[3])(X)
    with pytest.raises(ValueError, match="ambiguous"):
        run_on(path)(lambda x: 1 if points(x) else 2)(X)
    with pytest.raises(BadInput, match="cannot be compiled"):
        run_on(path)(lambda x: points(x).argsort())(X)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_enumerated_elements(path):
    def f(x):
        return sum(e * (i + 2 * j) for (i, j), e in np.ndenumerate(x.reshape(1, 3)))

    check_gradient(path, f, X)
    check_value(path, lambda x: [2 * float(e) for e in np.nditer(x)], X)
