"""``warnings.warn`` in compiled code: the same warnings as in Python, at the same lines, when the program runs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from path_tester import run_on

import morula as mo
from morula.core.testing.differences import ridders


class OwnWarning(UserWarning):
    pass


def on_a_path(x):
    if x > 1:
        warnings.warn(f"x is {x}")
    return x * x


def warn_of(x):
    warnings.warn("low {}", RuntimeWarning, stacklevel=2)
    return x


def in_a_loop(x):
    y = warn_of(x)
    for i in range(20):
        if y > i:
            warnings.warn("y is %.2f at %d" % (y, i), RuntimeWarning)
    return y * x


def before_a_fork(x):
    items = [x]
    warnings.warn(OwnWarning("known"))
    if x > 1:
        items.append(x)
        warnings.warn(OwnWarning(f"{x:.1f}"))
    return sum(items) * len(items)


def in_one_statement_with_a_fork(x):
    def both(x):
        items = [x]
        warnings.warn("before")
        if x > 1:
            items.append(x)
        return items

    return sum(both(x)) * len(both(x))


def filtered(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if x > 1:
            warnings.warn(f"not seen {x}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="y")
        warnings.warn("y")
        warnings.warn("z")
    return x * x


def within_a_try(x):
    try:
        if x > 1:
            warnings.warn("too large")
            raise ValueError
    except ValueError:
        x = x * 2
    return x * x


def of_numpy(x):
    y = np.array([x, 2.0])
    warnings.warn(f"{y} has the sum {y.sum()!r}")
    return y.sum() * x


PROGRAMS = [on_a_path, in_a_loop, before_a_fork, in_one_statement_with_a_fork, filtered, within_a_try, of_numpy]


def warned(f, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        y = f(x)
    return y, [(str(w.message), w.category, w.filename, w.lineno) for w in found]


@pytest.mark.parametrize("x", [2.0, 0.5])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_warnings_of_python(f, x, target):
    compiled = mo.jit(f, target=target)
    expected = warned(f, x)
    assert warned(compiled, x) == expected
    assert warned(compiled, x) == expected, "at each call"


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(f, 2.0)


def test_with_a_gradient_each_is_given_once(target):
    compiled = mo.jit(mo.value_and_grad(in_a_loop), target=target)
    assert warned(compiled, 2.0)[1] == warned(in_a_loop, 2.0)[1]


def test_a_warning_as_an_error(target):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="x is 2.0"):
            run_on(target)(on_a_path)(2.0)
        assert run_on(target)(on_a_path)(0.5) == 0.25


def outliving(x):
    warnings.simplefilter("ignore")
    return x


def on_one_path(x):
    with warnings.catch_warnings():
        if x > 1:
            warnings.simplefilter("ignore")
        warnings.warn("x")
    return x


def recorded(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.warn("x")
    return x * len(found)


@pytest.mark.parametrize(
    "f, text",
    [
        (outliving, "simplefilter in compiled code must stand directly in a `with warnings.catch_warnings"),
        (on_one_path, "simplefilter in compiled code must stand directly in a `with warnings.catch_warnings"),
        (recorded, "cannot return recorded warnings"),
    ],
)
def test_refused(f, text, target):
    with pytest.raises(mo.BadInput, match=text):
        mo.jit(f, target=target)(2.0)


def recorded_and_dropped(x):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        warnings.warn(f"x is {x}")
    return x * x


def caught(x):
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("error")
        try:
            if x > 1.0:
                warnings.warn("too large", RuntimeWarning)
            y = x * x
        except RuntimeWarning as error:
            y = 3.0 * x + len(error.args[0])
    return y


def selected(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="bad")
        warnings.filterwarnings("ignore", category=UserWarning)
        try:
            warnings.warn("good")
            y = 2.0 * x
            warnings.warn("bad")
        except UserWarning:
            y = 5.0 * x
    return y


def of_numpy(x):
    x = np.float64(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            y = np.sqrt(x - 1.0) / (x - 2.0)
        except RuntimeWarning as error:
            y = x * len(error.args[0])
    return y


def of_numpy_selected(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "divide by zero")
        a = np.sqrt(np.float64(x) - 1.0)
        try:
            return a, 1.0 / (np.float64(x) - 2.0)
        except RuntimeWarning:
            return a, 7.0


@pytest.mark.parametrize("f", [recorded_and_dropped, caught, selected, of_numpy])
@pytest.mark.parametrize("x", [0.5, 1.7, 2.0])
def test_warnings_that_are_errors_or_dropped(f, x, target):
    compiled, slope = mo.jit(f, target=target), mo.jit(mo.grad(f), target=target)
    before = list(warnings.filters)
    found, expected = warned(compiled, x), warned(f, x)
    assert found[0] == pytest.approx(expected[0], nan_ok=True) and found[1] == expected[1]
    assert slope(x) == pytest.approx(mo.grad(f)(x), rel=1e-12)
    if f is not of_numpy or x == 1.7:  # differences ignore NumPy's errors
        assert slope(x) == pytest.approx(ridders(lambda h: f(x + h), 0.01)[0], rel=1e-7)
    assert warnings.filters == before


def test_the_text_selects_numpys_warnings(target):
    compiled = mo.jit(of_numpy_selected, target=target)
    with np.errstate(invalid="ignore"):
        for x in (0.5, 2.0, 3.0):
            assert np.array_equal(compiled(x), of_numpy_selected(x), equal_nan=True)


def test_a_filter_that_is_there_already(target):
    compiled = mo.jit(recorded_and_dropped, target=target)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert compiled(2.0) == 4.0
