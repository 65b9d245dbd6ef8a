"""Less common features of NumPy's arrays: flags, strides, conversion by ``__array__``, sums over groups, bool indices."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import check_gradient, check_value

import morula as mo
from morula.core.errors import BadInput

V = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
M = np.arange(12.0).reshape(3, 4) / 3


class Twice:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return np.array(self.x * 2, dtype) if copy else np.asarray(self.x * 2, dtype)


class Whole:
    """Its ``__array__`` takes no ``copy``, and gives its own array."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None):
        return self.x


def of_objects(x):
    y = np.asarray(Whole(x))
    y[0] = y[1] * 2  # the object's own array
    return np.sum(np.asarray(Twice(x)) ** 2) + np.sum(np.array(Twice(y), float) * y) + np.sum(x.__array__() * 3)


def put_in_turn(x):
    y = x * 1
    np.put(y, [0, 1, 2, 4], [x[0] * 2, 3.0])
    np.put(y, [7, -4], x[2], mode="wrap")
    np.put(y, [9], x[1] ** 2, mode="clip")
    return np.sum(y**2)


def of_iterator(x):
    squares = np.fromiter((a * a for a in x), float)
    return np.sum(squares * np.fromiter((b for b in x), np.float64, count=5)) + np.fromiter(x, float, 2)[1]


def counted(x):
    bins = [0, 1, 1, 2, 0]
    sums = np.bincount(bins, weights=x) ** 2
    return np.sum(sums) + np.bincount(bins, x * x, minlength=6)[1] * np.bincount(bins)[1]


def distinct(x):
    found, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    known, places = np.unique(np.array([1, 3, 1, 2, 2]), return_inverse=True)
    apart = np.unique(np.array([1.0, np.nan, np.nan]) * x[0], equal_nan=False)
    return np.sum(found[inverse] ** 3) + apart[0] * len(apart) + np.sum(found**2 * counts) + np.sum(x * known[places])


def over_segments(x):
    parts = np.add.reduceat(x, [0, 2, 1, 4])
    return np.sum(parts**2) + np.sum(np.multiply.reduceat(x.reshape(-1, 1) * np.ones(2), [0, 3]) ** 2)


def of_polynomials(x):
    return np.polyval(x, 1.7) + np.sum(np.polyval(x, x) * np.polyval(np.polyder(x), 0.3)) + np.polyadd(x, x[:2])[4]


def by_flags(x):
    turned = (x * np.ones((2, 1))).T
    y = x if x.flags.c_contiguous and x.flags["C"] and not turned.flags.c_contiguous else x * 0
    y = y * 2 if turned.flags.f_contiguous and turned.flags.writeable and y.flags.aligned else y
    return np.sum(y**2) * turned.strides[1] / turned.strides[0]


def by_bools(x):
    total = np.sum(x[True] ** 2) + np.sum(x[None, x > 2])
    number = np.asarray(x[0] * 2)
    is_large = number > 3
    number[is_large] = x[1] * number[is_large]
    number[~is_large] = number[~is_large] * 3
    return total + number**2


def on_one_path(x):
    if x[0] > 2:
        found = np.bincount([0, 1, 0, 1, 1], x) * np.asarray(Twice(x[:2]))
    else:
        found = np.add.reduceat(x, [0, 3])
    return np.sum(found**2)


def in_a_loop(x):
    total, k = x[0] * 0, 0
    while total < 60.0:
        total = total + np.sum(np.add.reduceat(x * (k + 1), [0, 2])[np.asarray(k) < 9] ** 2)
        k += 1
    return total


def twice_differentiated(x):
    return np.sum(mo.grad(lambda y: np.sum(np.bincount([0, 1, 0, 1, 1], y) ** 3) + np.polyval(y, y[0]))(x))


PROGRAMS = (
    *(of_objects, put_in_turn, of_iterator, counted, distinct, over_segments, of_polynomials, by_flags, by_bools),
    *(on_one_path, in_a_loop, twice_differentiated),
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(program, path):
    check_gradient(path, program, np.array([3.0, 1.5, 4.0, 1.2, 5.0]))


def flags_of(x, y):
    names = ("c_contiguous", "f_contiguous", "fnc", "forc", "writebackifcopy", "fortran", "contiguous")
    views = (x, x.T, x[1:], x[:, 1:], x[::2], x[:, ::2].copy(), x + y, np.sin(y), x[0], x[:, 0], x.reshape(2, -1))
    keys = ("C_CONTIGUOUS", "F", "FORTRAN", "FNC", "FORC", "ALIGNED")
    found = [[getattr(v.flags, name) for name in names] + [v.flags[k] for k in keys] for v in views]
    return [*found, [v.strides for v in views], np.float64(2.0).strides, x[0, 0].flags.writeable]


@pytest.mark.parametrize("args", [(M, M), (M.T.copy().T, M), (M, M.T.copy().T), (np.asfortranarray(M[::2]), M[::2])])
def test_flags_and_strides_are_those_of_numpy(args, target):
    compiled = mo.jit(flags_of, target=target)
    assert compiled(*args) == flags_of(*args)


def test_a_program_that_asks_for_flags_is_compiled_for_each_order_of_its_argument(target):
    def total(x):
        return np.sum(x) if x.flags.c_contiguous else -np.sum(x)

    compiled = mo.jit(total, target=target)
    for x in (M, np.asfortranarray(M), M[:, ::2], M, V, V[::2]):
        assert compiled(x) == pytest.approx(total(x))


def keys_and_names(x):
    found = []
    for read in (lambda f: f.num_of, lambda f: f.c, lambda f: f["c"], lambda f: f["contiguous"]):
        try:
            found.append(read(x.flags))
        except (AttributeError, KeyError) as error:
            found.append(str(error))
    made = x * 2
    made.flags.writeable = True
    made.setflags(write=True)
    return found, made.flags.carray, made.flags["W"], np.broadcast_to(x[0], (2, 3, 4)).flags.writeable


def test_names_of_flags(target):
    check_value(target, keys_and_names, M)


def test_flags_that_compiled_code_cannot_tell_or_change_are_refused():
    def lock(x):
        y = x * 2
        y.flags.writeable = False
        return y

    for program, text in (
        (lock, "flag writeable"),
        (lambda x: x.flags.writeable, "can be written to"),
        (lambda x: x.flags.owndata, "owndata"),
    ):
        with pytest.raises(BadInput, match=text):
            mo.jit(program, target="native")(M)


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as error:
        return type(error), str(error)


ERRORS = {
    "too few items": lambda x: np.fromiter((a for a in x), float, count=9),
    "negative bins": lambda x: np.bincount([0, -1, 2, 3, 1], x),
    "weights of another length": lambda x: np.bincount([0, 1], x),
    "an index out of range": lambda x: np.add.reduceat(x, [0, 5]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_numpy(name, target):
    assert outcome(mo.jit(ERRORS[name], target=target), V) == outcome(ERRORS[name], V)


def test_what_depends_on_values_is_refused_with_a_remedy():
    for program, text in (
        (lambda x: np.bincount(x.astype(int), x), "np.add.at"),
        (lambda x: np.add.reduceat(x, x.astype(int)), "write the loop"),
    ):
        with pytest.raises(BadInput, match=text):
            mo.jit(program, target="native")(V)
