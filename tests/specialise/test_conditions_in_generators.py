"""Generators whose course depends on conditions not known while compiling: exceptions, returns, keys."""

from __future__ import annotations

import math

import pytest
from path_tester import PATHS, check_gradient


class Swallowing:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        return kind is ValueError


def raised_in_place_of_another(x):
    def items():
        try:
            for i in range(3):
                if x > i + 1:
                    raise ValueError(i)
                yield x * i
        except ValueError as error:
            raise RuntimeError("too large") from error

    total = 0.0
    try:
        for v in items():
            total += v * v + x
    except RuntimeError:
        total += 5 * x
    return total


def caught_by_a_handler_that_yields(x):
    def items():
        try:
            for i in range(3):
                yield x * i
                if x > i + 1:
                    raise ValueError(i)
        except ValueError:
            yield x**3
        finally:
            yield 2 * x

    return sum(v * v * (i + 1) for i, v in enumerate(items()))


def caught_in_each_iteration(x):
    def items():
        for i in range(3):
            try:
                yield math.sqrt(x - i)
            except ValueError:
                yield -x * i

    return sum(v * v * x for v in items())


def cleaned_up(x):
    seen, total = [], 0.0

    def items():
        try:
            yield 1 / x
            yield math.sqrt(x - 1)
        finally:
            seen.append(1)

    try:
        for v in items():
            total += v
    except ValueError:
        total += 2 * x
    return total + len(seen) * x


def swallowed_by_a_with(x):
    def items():
        with Swallowing():
            yield x
            yield math.sqrt(x - 1) * x
        yield x * x

    return sum(v * v * (i + 1) for i, v in enumerate(items()))


def ended_by_a_return(x):
    def items():
        yield x
        for i in range(3):
            if x > i + 1:
                return
            yield x * i

    return sum([v * v for v in items()])


def added_by_a_bool(x):
    sums = {}
    for v in [x, 0.4 * x, 2 * x]:
        key = v > 1
        if key not in sums:
            sums[key] = v
        else:
            sums[key] = sums[key] * v
    return sum(v * (i + 1) for i, v in enumerate(sums.values()))


def compared_bools(x):
    kept = [x]
    test = x > 1
    if test == True:  # noqa: E712
        kept.append(x * x)
    if (test != True) == False:  # noqa: E712
        kept.append(x)
    return sum(kept) * len(kept)


def ended_by_an_exception(x):
    def items():
        try:
            yield x
            yield math.sqrt(x - 1)
        except ValueError:
            raise

    total, made = 0.0, items()
    for _ in range(3):
        try:
            total += next(made)
        except ValueError:
            total += 2 * x
        except StopIteration:
            total += 3 * x
    return total


PROGRAMS = [
    raised_in_place_of_another, caught_by_a_handler_that_yields, caught_in_each_iteration, cleaned_up, swallowed_by_a_with,
    ended_by_a_return, ended_by_an_exception, added_by_a_bool, compared_bools,
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_conditions(path, program):
    for x in (0.4, 1.3, 2.4, 3.5):
        check_gradient(path, program, x)
