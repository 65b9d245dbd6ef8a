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


def fitted(x):
    a = np.stack([x, np.arange(5.0) * x[1]], 1)
    found, residuals, rank, s = np.linalg.lstsq(a, x**2, rcond=None)
    flat = np.linalg.lstsq(a[:2].T @ a[:2] + np.eye(2), x[:2], rcond=None)
    return np.sum(found**2) + np.sum(residuals) * rank + s[0] + np.sum(flat[0] ** 2) + len(flat[1])


def in_geometric_progression(x):
    return np.sum(np.geomspace(x[0], 9.0, 4)) + np.sum(np.geomspace(x[2], x[:2], 5, endpoint=False) ** 2)


def as_floats(x):
    z = np.stack([x + 2j * x, x**2 * 1j])
    whole, left = z.view(float), z[:, :1].view(np.float64)
    z[0] *= x
    ints = np.arange(-2, 3).view(np.uint64).astype(float) * 1e-19
    return (
        np.sum(whole[:, 1::2] ** 2) + np.sum(whole[1, ::2] * left[0, 1]) + np.sum(x.view() * x.view(np.ndarray) * ints)
    )


def in_common(x):
    both = np.broadcast(x[:2], np.ones((3, 1)))
    total = x[0] * both.size + both.nd + both.numiter
    for a, b in np.broadcast(x[:3], x[3:4]):
        total = total + a * b * both.shape[0]
    return total


def first_of_each(x):
    found, first, counts = np.unique(np.stack([x, x[::-1]]), return_index=True, return_counts=True)
    whole = np.unique_all(x)
    return np.sum(found * first * counts) + np.sum(whole.values[whole.inverse_indices] * x[whole.indices] ** 2)


PROGRAMS = (
    first_of_each,
    *(fitted, as_floats, in_common, in_geometric_progression),
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


def makes_read_only(x):
    y = np.exp(x)
    before = y[1:]
    y.setflags(write=False)
    after = y[:2]
    before[0] = 5.0  # a view that was taken before
    caught = 0.0
    for a in (y, after):
        try:
            a[0] = 1.0
        except ValueError:
            caught = caught + 3.0 * x[0]
    try:
        y += 1.0
    except ValueError:
        caught = caught * x[1]
    return y, before, after, caught, y.flags.writeable, y.copy()


def makes_a_view_read_only(x):
    v = x[1:]
    v.flags.writeable = False
    return v, x


def makes_writeable_again(x):
    y = x * x
    y.flags.writeable = False
    y.setflags(write=True)
    y[0] = 1.0
    return y


@pytest.mark.parametrize("f", [makes_read_only, makes_a_view_read_only, makes_writeable_again])
def test_arrays_that_the_program_makes_read_only(f, target):
    x = np.array([0.5, 1.0, 2.0])
    expected, found = f(x), mo.jit(f, target=target)(x)
    for a, b in zip(*(y if isinstance(y, tuple) else (y,) for y in (found, expected)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15)
        if isinstance(b, np.ndarray):
            assert a.flags.writeable is b.flags.writeable
    for i in range(2):
        for j in range(2):
            if f is not makes_writeable_again:
                assert np.shares_memory(found[i], found[j]) == np.shares_memory(expected[i], expected[j])
    if f is makes_read_only:
        check_gradient(target, lambda x: np.sum(f(x)[0]) + f(x)[3], x)


WRITEABLE, LOCKED = np.ones(2), np.ones(2)
LOCKED.flags.writeable = False


def asks(x):
    y = x * (2.0 if x.flags.writeable else 3.0) * (5.0 if LOCKED.flags["W"] else 7.0)
    return y * (11.0 if WRITEABLE[1:].flags.writeable else 13.0)


def test_whether_arguments_and_arrays_from_outside_are_writeable(target):
    free, fixed = np.ones(2), np.ones(2)
    fixed.flags.writeable = False
    for order in ((free, fixed, free, free, fixed, fixed), (fixed, free, fixed)):
        compiled = mo.jit(asks, target=target)
        for x in order:
            assert compiled(x).tolist() == asks(x).tolist()
        (form,) = compiled.forms.values()
        assert len(form.programs) == 2
        programs = list(form.programs.values())
        WRITEABLE.flags.writeable = False
        assert compiled(free).tolist() == asks(free).tolist()
        WRITEABLE.flags.writeable = True
        assert compiled(free).tolist() == asks(free).tolist()
        assert [*form.programs.values()] != programs


def test_flags_that_compiled_code_cannot_tell_or_change_are_refused():
    def lock(x):
        x.flags.writeable = False
        return x

    def lock_on_a_path(x):
        y = x * 2
        if x[0, 0] > 0.0:
            y.setflags(write=False)
        return y

    for program, text in (
        (lock, "changing the writeable flag"),
        (lock_on_a_path, "changing the writeable flag"),
        (lambda x: x.flags.owndata, "owndata"),
    ):
        with pytest.raises(BadInput, match=text):
            mo.jit(program, target="native")(M)


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as error:
        return type(error), str(error)


def residuals_of(a, b):
    found, residuals, rank, s = np.linalg.lstsq(a, b, rcond=None)
    return found, residuals, residuals.size, rank, s, 2 * residuals


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_residuals_exist_where_the_matrix_has_full_rank(shape, rank, columns, target):
    numbers = np.random.default_rng(0)
    a = numbers.normal(size=shape) if rank > 1 else np.outer(np.arange(shape[0]) + 1.0, np.arange(shape[1]) + 1.0)
    check_value(target, residuals_of, a, numbers.normal(size=(shape[0], *columns)), rtol=1e-7)


def test_views_that_compiled_code_has_no_form_of_are_refused(target):
    class Own(np.ndarray):
        __slots__ = ("own",)

    def written(x):
        z = x + 1j * x
        z.view(float)[0] = 1.0
        return z

    for program, text in (
        (lambda x: x.view(Own), "Own, a subclass of ndarray with slots"),
        (lambda x: x.view(np.int64), "float64 as int64"),
        (lambda x: x.view(complex), "float64 as complex128"),
        (written, "write to .real and .imag"),
    ):
        with pytest.raises(BadInput, match=text):
            mo.jit(program, target=target)(V)


def pulled(x):
    y, back = mo.vjp(lambda a: a[a > 2] ** 2, x)
    return back(np.array([1.0, 2.0, 3.0]))


def test_a_cotangent_of_known_length_fits_a_result_whose_length_is_known_only_at_run_time(path):
    check_value(path, pulled, V)
    if path != "eager":
        with pytest.raises(ValueError, match="lengths 2 and 3"):
            mo.jit(pulled, target=path)(V - 1.5)
        with pytest.raises(BadInput, match="its cotangent has shape"):
            mo.jit(lambda x: mo.vjp(lambda a: a[a > 2], x)[1](np.ones((3, 1))), target=path)(V)


ERRORS = {
    "shapes that do not fit": lambda x: np.broadcast(x, x[:2]).shape,
    "a view of every other": lambda x: (x + 1j * x)[::2].view(float),
    "a view of a single number": lambda x: np.asarray(x[0] * 1j).view(float),
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
        (lambda x: np.add.reduceat(x, x.astype(int)), "write a loop"),
    ):
        with pytest.raises(BadInput, match=text):
            mo.jit(program, target="native")(V)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_different_rows_of_an_array(target, axis):
    a = np.array([[1.0, 2.0, 1.0], [0.0, 3.0, 0.0], [1.0, 2.0, 1.0], [0.0, np.nan, 0.0], [0.0, np.nan, 0.0]])
    for x in (a, a[:3], a[:1], a[:, :1]):
        found = mo.jit(lambda x: np.unique(x, axis=axis), target=target)(x)
        np.testing.assert_array_equal(found, np.unique(x, axis=axis))
