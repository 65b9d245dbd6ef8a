"""Context managers made by ``contextlib.contextmanager`` whose blocks are left by exceptions."""

from __future__ import annotations

import contextlib
import math

import pytest

import morula as mo


@contextlib.contextmanager
def doubled(x):
    yield 2 * x


@contextlib.contextmanager
def noted(log):
    try:
        yield 3.0
    finally:
        log.append(1.0)


@contextlib.contextmanager
def swallowed(log):
    try:
        yield 3.0
    except ValueError as error:
        log.append(float(len(str(error))))


@contextlib.contextmanager
def translated():
    try:
        yield 3.0
    except ValueError as error:
        raise KeyError("new") from error


@contextlib.contextmanager
def all_parts(log):
    log.append(1.0)
    try:
        yield log
    except (ValueError, ZeroDivisionError):
        log.append(10.0)
    else:
        log.append(100.0)
    finally:
        log.append(1000.0)


@contextlib.contextmanager
def never_ending():
    try:
        yield 1
    except ValueError:
        yield 2


@contextlib.contextmanager
def raised_again():
    try:
        yield 1
    except ValueError as error:
        if "math" in str(error):
            raise
        raise TypeError from None


def left_by_an_error(x):
    with doubled(x) as y:
        z = math.sqrt(x)
    return z * y


def cleaned_up(x):
    log = []
    try:
        with noted(log):
            z = math.sqrt(x)
    except ValueError:
        z = 5.0 * x
    return z + sum(log)


def caught_by_the_manager(x):
    log, z = [], x
    with swallowed(log):
        z = math.sqrt(x)
    return z + sum(log)


def another_error(x):
    with translated():
        return math.sqrt(x)


def another_error_caught(x):
    try:
        with translated():
            z = math.sqrt(x)
    except KeyError:
        return -7.0 * x
    return z


def in_a_loop(x):
    log = []
    for i in range(3):
        with all_parts(log):
            x = x + math.sqrt(x - i * 2.0)
    return x * sum(log)


def returned_within(x):
    log = []
    with all_parts(log), noted(log):
        y = math.sqrt(x)
        if y > 1.5:
            return y * 2 + sum(log)
    return x * sum(log)


def not_stopped(x):
    with never_ending():
        return math.sqrt(x)


def again(x):
    try:
        with raised_again():
            return math.sqrt(x)
    except ValueError as error:
        return x * len(str(error))


def on_a_stack(x):
    with contextlib.ExitStack() as stack:
        y = stack.enter_context(doubled(x))
        z = math.sqrt(y)
    return z


PROGRAMS = [
    left_by_an_error, cleaned_up, caught_by_the_manager, another_error, another_error_caught, in_a_loop, returned_within, not_stopped,
    again, on_a_stack,
]  # fmt: skip


def ending(f, x):
    try:
        return f(x)
    except Exception as error:
        return repr(error), repr(error.__cause__), repr(error.__context__)


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_block_is_left_by_an_exception(f, target):
    compiled, slope = mo.jit(f, target=target), mo.jit(mo.grad(f), target=target)
    for x in (4.0, -4.0, 1.7):
        expected = ending(f, x)
        found = ending(compiled, x)
        if isinstance(expected, tuple):
            assert found == expected
            continue
        assert found == pytest.approx(expected, rel=1e-12)
        assert slope(x) == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-5)
