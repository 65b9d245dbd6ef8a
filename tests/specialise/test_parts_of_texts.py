"""Texts of numbers that are taken apart outside of functions of texts, and numbers rounded to digits."""

from __future__ import annotations

import math

import pytest
from path_tester import check_gradient, check_value

import morula as mo

COMPILED = pytest.mark.parametrize("path", ["native", "xla"])


def parts(x):
    text = f"{x:.3f} {2 * x:g}"
    words = text.split()
    whole, fraction = words[0].split(".")
    return (
        (words[0], words[-1], len(words), words[::-1], words),
        (whole, fraction, "-".join(words), str(words), f"{words}", repr(words)),
        (isinstance(words, list), type(words) is list, "2.5" in words, bool(words)),
        (text.rsplit(" ", 1)[0], text.split(sep=".", maxsplit=1)[1], "a\n{:g}".format(x).splitlines()[1]),
        float(words[1]),
    )


def on_two_paths(x):
    words = f"{x:.1f}".split(".") if x > 1 else f"{x:.2f}".split(".")
    return words[1]


def in_a_loop(x):
    words, y = f"{x:.3f}".split("."), x
    while y > 1.0:
        y /= 2
        words = f"{y:.3f}".split(".")
    return words[1]


@COMPILED
@pytest.mark.parametrize("x", [1.25, -30.5])
@pytest.mark.parametrize("f", [parts, on_two_paths, in_a_loop])
def test_a_text_is_split(path, f, x):
    check_value(path, f, x)


@COMPILED
def test_parts_that_are_not_there_are_pythons_errors(path):
    with pytest.raises(IndexError, match="list index out of range"):
        mo.jit(lambda x: f"{x:.1f}".split(".")[2], target=path)(1.5)

    def three(x):
        a, b, c = f"{x:.1f}".split(".")
        return a

    with pytest.raises(ValueError, match=r"not enough values to unpack \(expected 3, got 2\)"):
        mo.jit(three, target=path)(1.5)


@COMPILED
@pytest.mark.parametrize(
    "f",
    [
        lambda x: [float(w) for w in f"{x:.1f}".split(".")],
        lambda x: f"{x:.1f}".split(".").append("a"),
        lambda x: [*f"{x:.1f}".split("."), 1][1:],
        lambda x: f"{x:.1f}".split(".") + ["a"],
    ],
)
def test_what_needs_the_number_of_parts_is_refused(path, f):
    with pytest.raises(mo.BadInput, match="can only be indexed"):
        mo.jit(f, target=path)(1.5)


@COMPILED
@pytest.mark.parametrize("x", [2.675, -0.001, 1e22, 1.005, 0.5, -2.5, math.inf, 123456.789])
@pytest.mark.parametrize("digits", [1, 2, 5])
def test_a_float_is_rounded_to_decimal_digits(path, x, digits):
    found = mo.jit(round_to, target=path, static_argnums=1)(x, digits)
    assert found == round(x, digits) and math.copysign(1, found) == math.copysign(1, round(x, digits))


def round_to(x, digits):
    return round(x, digits)


@COMPILED
def test_rounding_to_digits_passes_no_derivative(path):
    check_gradient(path, lambda x: round(x, 2) * x, 1.2345)
    assert math.isnan(mo.jit(round_to, target=path, static_argnums=1)(math.nan, 2))
