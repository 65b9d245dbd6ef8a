"""Statements, one to a test: branches, loops, jumps, `with`, `assert`, `del`, `global`."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

import morula as mo


def test_the_readme_program():
    def pow(x, n):
        r = 1
        while n > 0:
            n -= 1
            r *= x
        return r

    assert pow(5, 3) == 125
    assert mo.gradient(pow, 5, 3) == (75, 0)


@pytest.mark.parametrize("x", [-2.0, 0.5, 1.5, 3.0])
def test_if_elif_else(check, x):
    def f(x):
        if x < 0:
            y = x * x
        elif x < 1:
            y = math.sin(x)
        elif x < 2:
            y = 1 / x
            y = y * y
        else:
            y = x**3
        return y * x

    check(f, x)


def test_if_without_else_falls_through(check):
    def f(x, y):
        if x > 1:
            y = y * x
        if x > 100:
            y = y * y
        return y + x

    check(f, 1.5, 2.0)


def test_a_name_bound_in_one_branch_only(check):
    def f(x):
        if x > 1:
            extra = x * x
        y = x
        if x > 1:
            y += extra
        return y

    check(f, 1.5)


def test_an_unbound_name_raises_as_python_does():
    def f(x):
        if x > 1:
            y = x
        return y

    with pytest.raises(UnboundLocalError):
        mo.gradient(f, 0.5)


@pytest.mark.parametrize("x", [0.5, 1.5])
def test_early_return(check, x):
    def f(x):
        y = x * x
        if y < 1:
            return math.sin(y)
        y = y * x
        return y

    check(f, x)


def test_early_return_in_nested_loops(check):
    def f(x):
        total = 0.0
        for i in range(5):
            for j in range(5):
                total += x * i * j
                if total > 20:
                    while True:
                        total *= 0.9
                        if total < 15:
                            return total * x
            total += x
        return -total

    check(f, 1.5)
    check(f, 0.1)


def test_both_branches_return(check):
    def f(x):
        if x > 1:
            if x > 2:
                return x
            else:
                return x * x
        else:
            return 0.5

    check(f, 1.5)
    check(f, 0.5)


def test_no_return_value_has_no_gradient():
    def f(x):
        x * x

    y, _ = mo.vjp(f, 1.5)
    assert y is None
    with pytest.raises(mo.MorulaError):
        mo.gradient(f, 1.5)


def test_while_with_an_active_condition(check):
    def f(x):
        n = 0
        while x < 10:
            x = x * 1.7 + n
            n += 1
        return x * n

    check(f, 0.7)


def test_a_while_that_never_runs(check):
    def f(x):
        while x < 0:
            x = x * 2
        return x * x

    check(f, 1.5)


@pytest.mark.parametrize("limit", [3, 30])
def test_while_else_runs_unless_broken(check, limit):
    def f(x, limit):
        n = 0
        while n < 10:
            x = x * 1.1
            n += 1
            if n == limit:
                break
        else:
            x = x * x
        return x

    check(f, 0.7, limit)


@pytest.mark.parametrize("stop", [2, 20])
def test_for_else_runs_unless_broken(check, stop):
    def f(x, stop):
        for i in range(6):
            if i == stop:
                break
            x = math.sin(x) + i
        else:
            x = x**2
            return x * 3
        return x

    check(f, 0.7, stop)


def test_continue_skips_the_rest(check):
    def f(x):
        y = 0.0
        for i in range(6):
            if i % 2:
                continue
            y = y * x + i
            if y > 3:
                y *= 0.5
                continue
            y += x
        return y

    check(f, 0.7)


def test_break_and_continue_in_nested_loops(check):
    def f(x):
        total = 0.0
        for i in range(4):
            n = 0
            while True:
                n += 1
                if n > i + 2:
                    break
                if n == 2:
                    continue
                for k in (1, 2, 3):
                    if k == n:
                        break
                    total += x**k * i
                else:
                    total *= x
        return total

    check(f, 1.2)


def test_the_loop_variable_outlives_the_loop(check):
    def f(v):
        for i, x in enumerate(v):  # noqa: B007
            pass
        return x * x * i

    check(f, [1.0, 2.0, 3.0])


def test_an_empty_loop_leaves_its_variable_unbound(check):
    def f(x):
        for i in []:
            x = x * i
        try:
            return x * i
        except UnboundLocalError:
            return x * 2

    check(f, 1.5)


def test_for_over_a_list_of_active_values(check):
    def f(v):
        y = 1.0
        for x in v:
            y = y * x + x
        return y

    check(f, [1.0, 2.0, 3.0])


def test_for_over_array_elements_and_rows(check):
    def f(a):
        y = 1.0
        for row in a:
            for x in row:
                y = y * x + row[0]
        return y

    check(f, np.array([[0.5, 1.0], [1.5, 2.0]]))


def test_for_over_a_dict_and_its_views(check):
    def f(d):
        y = 0.0
        for k in d:
            y += d[k] ** 2
        for k, v in d.items():
            y *= v if k == "a" else 1.0
        for v in d.values():
            y += v
        return y

    check(f, {"a": 1.5, "b": 2.0})


def test_for_over_zip_enumerate_reversed_range(check):
    def f(v, w):
        y = 0.0
        for i, (a, b) in enumerate(zip(v, reversed(w), strict=True), start=1):
            y += i * a * b
        for i in range(len(v) - 1, -1, -2):
            y *= v[i]
        return y

    check(f, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])


def test_for_over_a_growing_list(check):
    def f(x):
        work = [x]
        for item in work:
            if len(work) < 6:
                work.append(item * x + 1)
                work.append(item * 0.5)
        return sum(work)

    check(f, 0.7)


def test_for_assigns_to_targets_of_any_kind(check):
    def f(x):
        box = [0.0, 0.0]
        d = {}
        for box[0], d["k"] in [(x, 1.0), (x * x, x)]:
            box[1] += box[0] * d["k"]
        return box[0] * box[1]

    check(f, 1.5)


def test_augmented_assignment_with_every_operator(check):
    def f(x):
        y = x
        y += 2 * x
        y -= 0.5
        y *= x
        y /= x + 1
        y **= 2
        y //= 0.25
        z = x * 5
        z %= 2.0
        return y * z

    check(f, 1.53)


def test_augmented_assignment_to_an_item_evaluates_the_index_once(check):
    def f(x):
        calls = []

        def index():
            calls.append(1)
            return 1

        v = [x, x * x]
        v[index()] *= x
        return v[1] * len(calls)

    check(f, 1.5)


def test_augmented_assignment_to_a_global_array_element(check):
    def f(x):
        table = {"a": [1.0, 2.0]}
        table["a"][1] += x
        table["a"][1] *= table["a"][1]
        return table["a"][1]

    check(f, 1.5)


def test_annotated_assignment(check):
    def f(x: float) -> float:
        y: float = x * x
        z: float
        z = y * 2
        return z

    check(f, 1.5)


def test_del_removes_names_items_and_attributes(check):
    class Box:
        pass

    def f(x):
        v, d, box = [x, x * x, 3.0], {"a": x, "b": 2.0}, Box()
        box.value = x**3
        y = box.value
        del v[0], d["b"], box.value
        z = sum(v) * d["a"] + len(d) * y
        del y
        y = z if not hasattr(box, "value") else 0.0
        del v[:1]
        return y * v[0]

    check(f, 1.5)


def test_del_of_an_unbound_name_raises_as_python_does(check):
    def f(x):
        y = x
        del y
        try:
            return y  # noqa: F821
        except UnboundLocalError:
            return x * x

    check(f, 1.5)


counter = 0.0


def test_global_statement_writes_the_module(check):
    def f(x):
        global counter
        counter = x * x
        scale()
        return counter + x

    def scale():
        global counter
        counter *= 3.0

    check(f, 1.5)
    assert type(counter) is float


def test_assert_passes_and_fails_as_python_does(check):
    def f(x):
        assert x > 0, f"x is {x}"
        y = x * x
        assert y
        return y

    check(f, 1.5)
    with pytest.raises(AssertionError, match="x is -1.0"):
        mo.gradient(f, -1.0)


def test_with_a_class(check):
    class Scaled:
        def __init__(self, x):
            self.x = x

        def __enter__(self):
            self.x = self.x * 2
            return self

        def __exit__(self, kind, error, trace):
            self.x = self.x**2
            return False

    def f(x):
        with Scaled(x) as s:
            y = s.x * x
        return y + s.x

    check(f, 1.5)


def test_with_a_generator_context_manager(check):
    @contextlib.contextmanager
    def scaled(v, factor):
        v[0] = v[0] * factor
        yield v[0]
        v[0] = v[0] + factor

    def f(x):
        v = [x]
        with scaled(v, x * 2) as y:
            z = y * v[0]
        return z + v[0]

    check(f, 1.5)


def test_with_that_swallows_an_exception(check):
    class Swallow:
        def __enter__(self):
            return 2.0

        def __exit__(self, kind, error, trace):
            return kind is ValueError

    def f(x):
        y = x
        with Swallow() as two:
            y = y * two * x
            if y > 1:
                raise ValueError
            y = y * 100
        return y + x

    check(f, 1.5)


def test_contextlib_suppress(check):
    def f(d):
        y = d["a"]
        with contextlib.suppress(KeyError):
            y = y * y
            y = d["missing"]
        return y * 3

    check(f, {"a": 1.5})


def test_with_several_managers_and_targets(check):
    @contextlib.contextmanager
    def value(x):
        yield (x, x * x)

    def f(x):
        with value(x) as (a, b), value(a * b) as (c, _):
            y = a + b * c
        with (
            value(y) as pair,
        ):
            return pair[1]

    check(f, 0.7)


def test_return_inside_with_runs_the_exit(check):
    def f(x):
        log = []

        @contextlib.contextmanager
        def scope():
            try:
                yield x * x
            finally:
                log.append(x)

        def inner():
            with scope() as y:
                return y * 2

        return inner() + log[0]

    check(f, 1.5)


def test_break_and_continue_inside_with(check):
    class Count:
        def __init__(self):
            self.total = 0.0

        def __enter__(self):
            return self

        def __exit__(self, *info):
            self.total += 1.0

    def f(x):
        count = Count()
        y = x
        for i in range(5):
            with count:
                if i == 1:
                    continue
                y = y * x
                if i == 3:
                    break
        return y * count.total

    check(f, 1.2)


def test_an_import_inside_a_function(check):
    def f(x):
        import math as m
        from math import cos, sin as s

        return m.exp(s(x)) * cos(x)

    check(f, 0.7)


def test_a_class_statement_inside_a_function(check):
    def f(x):
        class Local:
            rate = x * 2

            def apply(self, y):
                return self.rate * y * x

        return Local().apply(x)

    check(f, 1.5)


def test_pass_ellipsis_and_docstrings_do_nothing(check):
    def f(x):
        """Square."""
        ...
        pass
        if x > 0:
            pass
        return x * x

    check(f, 1.5)


def test_a_long_loop_does_not_recurse(check):
    def f(x):
        y = x
        for _ in range(20_000):
            y = y * 0.9999 + 0.0001 * x
        return y

    decay = 0.9999**20_000
    assert mo.gradient(f, 1.0)[0] == pytest.approx(decay + 1.0 * (1 - decay), rel=1e-9)


def test_newton_square_root_by_iteration(check):
    def f(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = (x + a / x) / 2
        return x

    assert mo.gradient(f, 2.0)[0] == pytest.approx(0.5 / math.sqrt(2), rel=1e-9)
