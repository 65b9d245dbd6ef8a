"""Programs that raise and catch do what Python does, or are refused: value or exception, arguments, cause, context."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import raising_programs
from raised_lines import raised_lines
from raising_programs import PROGRAMS

import morula as mo

REFUSED = {
    "floating_point_errors_raised": "cannot raise NumPy's floating-point errors of underflow",
}
"""The programs that are refused, with a part of the message."""


def outcome(f, args):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*copy.deepcopy(args))
    except mo.BadInput:
        raise
    except Exception as error:
        return error


def described(error):
    """What can be seen of an exception; not the last words of a message of NumPy's or Python's about types."""
    if error is None:
        return None
    return (
        type(error), repr(error.args), vars(error) if type(error).__module__ == __name__ else None,
        described(error.__cause__), described(error.__context__), error.__suppress_context__,
    )  # fmt: skip


def assert_same(found, expected, f, args):
    if isinstance(expected, Exception):
        assert isinstance(found, Exception), f"{f.__name__}{args} gives {found!r}; Python raises {expected!r}"
        assert described(found) == described(expected)
        assert raised_lines(found, raising_programs.__file__) == raised_lines(expected, raising_programs.__file__)
    else:
        assert not isinstance(found, Exception), f"{f.__name__}{args} raises {found!r}; Python gives {expected!r}"
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("f, calls", PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_program_raises_what_python_raises(target, f, calls):
    compiled = mo.jit(f, target=target)
    for args in calls:
        expected = outcome(f, args)
        if f.__name__ in REFUSED:
            with pytest.raises(mo.BadInput, match=REFUSED[f.__name__]):
                compiled(*args)
            continue
        assert_same(outcome(compiled, args), expected, f, args)


def test_messages_show_containers_of_numbers_as_python_does(target):
    def f(x):
        if x > 2.0:
            raise ValueError(f"bad {[x, (x * 2.0,), {'a': x}, 'b', 1]!s}: {(x, [])!r}, {str([1, x])}, {[2, (3,)]}")
        return x

    with pytest.raises(ValueError) as python:
        f(3.0)
    with pytest.raises(ValueError) as compiled:
        mo.jit(f, target=target)(3.0)
    assert str(compiled.value) == str(python.value)
