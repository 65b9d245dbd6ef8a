"""Exceptions: code that raises and catches is differentiated along the path that ran."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo


def test_try_without_an_exception_runs_else(check):
    def f(x):
        try:
            y = x * x
        except ValueError:
            y = 0.0
        else:
            y = y * x
        return y

    check(f, 1.5)


def test_except_takes_over_where_try_stopped(check):
    def f(x):
        y = x
        try:
            y = y * x
            y = y / 0
            y = 100.0
        except ZeroDivisionError:
            y = y * 3
        return y

    assert check(f, 1.5) == (9.0,)


def test_the_first_matching_handler_is_taken(check):
    def f(x):
        y = 0.0
        for kind in (KeyError, ValueError, ArithmeticError):
            try:
                y = y * x
                raise kind("no")
            except (IndexError, KeyError) as error:
                y += x * len(error.args)
            except ValueError:
                y += x * x
            except Exception:
                y += x**3
        return y

    check(f, 1.2)


def test_a_bare_except(check):
    def f(x):
        try:
            y = x
            y = y.missing
        except:  # noqa: E722
            y = y * x
        return y

    check(f, 1.5)


def test_an_exception_from_deep_inside_keeps_what_was_already_written(check):
    def deepest(v, i):
        v[0] = v[0] * v[i]
        if i == 2:
            raise ValueError("deep")
        v[1] += v[0]

    def middle(v):
        for i in range(4):
            v[3] *= 2
            deepest(v, i)
        v[0] = 1000.0

    def f(v):
        try:
            middle(v)
        except ValueError:
            v[2] = v[0] * v[1]
        return v[2] * v[3] + v[0]

    check(f, [1.5, 2.0, 0.7, 0.3])


def test_an_exception_after_array_writes(check):
    def fill(a):
        for i in range(10):
            a[i] = a[i] * a[i - 1]  # IndexError at i == len(a)

    def f(a):
        try:
            fill(a)
        except IndexError:
            a *= 2
        return a.sum()

    check(f, np.array([1.0, 2.0, 0.5]))


def test_an_exception_inside_an_expression(check):
    def g(v, x):
        v.append(x * x)
        if x > 1:
            raise KeyError
        return x

    def f(x):
        v = []
        try:
            y = g(v, x * 0.5) + g(v, x) * g(v, x * 10)
        except KeyError:
            y = sum(v)
        return y

    check(f, 1.5)


def test_raise_again(check):
    def inner(x, log):
        try:
            log.append(x * x)
            raise ValueError
        except ValueError:
            log.append(x * 2)
            raise
        finally:
            log.append(x)

    def f(x):
        log = []
        try:
            inner(x, log)
        except ValueError:
            log.append(log[0] * log[1])
        return sum(log) * len(log)

    check(f, 1.5)


def test_raise_from_another(check):
    def f(x):
        try:
            try:
                raise KeyError(x * x)
            except KeyError as error:
                raise ValueError(x * 2) from error
        except ValueError as error:
            return error.args[0] * error.__cause__.args[0]

    check(f, 1.5)


def test_an_exception_carries_an_active_value(check):
    class Found(Exception):
        def __init__(self, value):
            super().__init__("found")
            self.value = value

    def search(x, n):
        if x > 5:
            raise Found(x * n)
        search(x * 1.7 + n, n + 1)

    def f(x):
        try:
            search(x, 0)
        except Found as found:
            return found.value * x
        return 0.0

    check(f, 0.7)


def test_finally_runs_on_every_way_out(check):
    def g(x, way, log):
        for i in range(3):
            try:
                log.append(x * (i + 1))
                if way == "return":
                    return x * x
                if way == "break":
                    break
                if way == "continue" and i < 2:
                    continue
                if way == "raise":
                    raise ValueError
                log.append(x * 5)
            finally:
                log.append(x**3)
        return x * 7

    def f(x):
        y, log = 0.0, []
        for way in ("return", "break", "continue", "fall", "raise"):
            try:
                y = y * 0.5 + g(x, way, log)
            except ValueError:
                y += sum(log)
        return y * len(log)

    check(f, 1.2)


def test_finally_with_return_overrides(check):
    def g(x):
        try:
            return x * x
        finally:
            return x * 3  # noqa: B012

    def h(x):
        try:
            raise ValueError
        finally:
            return x**3  # noqa: B012

    assert check(lambda x: g(x) + h(x), 2.0) == (15.0,)


def test_the_return_value_is_taken_before_finally_writes(check):
    def f(x):
        y = [x]
        z = x
        try:
            return y[0] * z + len(y)
        finally:
            y[0] = 100.0
            z = 7.0
            y.append(z)

    check(f, 1.5)


def test_finally_changes_what_was_returned_by_reference(check):
    def g(x):
        v = [x]
        try:
            return v
        finally:
            v[0] = v[0] * x
            v.append(x)

    check(lambda x: g(x)[0] * g(x)[1], 1.5)


def test_nested_try(check):
    def f(x):
        y = x
        try:
            try:
                y *= x
                raise KeyError
            except IndexError:
                y = 0.0
            finally:
                y += 1.0
        except KeyError:
            y *= x
            try:
                y *= 2
                y = math.sqrt(-y)
            except ValueError:
                y += x
        else:
            y = 0.0
        return y

    check(f, 1.5)


def test_try_in_a_loop_with_break_and_continue(check):
    def f(v):
        total = 1.0
        for x in v:
            try:
                if x < 0:
                    raise ValueError(x)
                if x > 10:
                    break
                total *= x
            except ValueError:
                total += x * x
                continue
            total += 1.0
        return total

    check(f, [2.0, -1.5, 3.0, 20.0, 5.0])


def test_retry_until_it_succeeds(check):
    def attempt(x):
        if x < 2:
            raise ArithmeticError("too small")
        return math.log(x)

    def f(x):
        while True:
            try:
                return attempt(x) * x
            except ArithmeticError:
                x = x * 1.3 + 0.1

    check(f, 0.7)


def test_lookup_errors_of_dicts_and_lists(check):
    def f(x):
        d, v = {"a": x}, [x * x]
        try:
            y = d["b"]
        except KeyError as error:
            y = d["a"] if error.args[0] == "b" else 0.0
        try:
            y *= v[3]
        except IndexError:
            y *= v[0]
        return y

    check(f, 1.5)


def test_an_assertion_error_is_caught(check):
    def f(x):
        try:
            y = x * x
            assert x < 0
            y = 0.0
        except AssertionError:
            return y * x
        return x

    check(f, 1.5)


def test_the_exception_name_is_unbound_after_the_handler(check):
    def f(x):
        try:
            raise ValueError
        except ValueError as error:
            y = x * x if error else 0.0
        try:
            error  # noqa: B018
        except NameError:
            y *= 2
        return y

    check(f, 1.5)


def test_an_exception_group(check):
    def f(x):
        y = x
        try:
            raise ExceptionGroup("several", [ValueError(x), KeyError(x * x)])
        except* ValueError as group:
            y += group.exceptions[0].args[0]
        except* KeyError as group:
            y *= group.exceptions[0].args[0]
        return y

    check(f, 1.5)


def test_an_uncaught_exception_reaches_the_caller_as_python_raises_it():
    class Custom(Exception):
        pass

    def g(x):
        if x > 1:
            raise Custom("too large")
        return x

    def f(x):
        return g(x) * 2

    with pytest.raises(Custom, match="too large") as info:
        mo.gradient(f, 1.5)
    assert "raise Custom" in str(info.traceback[-1].statement)
    assert mo.gradient(f, 0.5) == (2.0,)


def test_a_python_error_shows_the_users_line():
    def f(x):
        v = [x]
        return v[3]

    with pytest.raises(IndexError) as info:
        mo.gradient(f, 1.5)
    assert any("v[3]" in str(entry.statement) for entry in info.traceback)


def test_keyboard_interrupt_passes_through():
    def f(x):
        try:
            raise KeyboardInterrupt
        except Exception:
            return x

    with pytest.raises(KeyboardInterrupt):
        mo.gradient(f, 1.0)


def test_an_exception_in_a_comprehension(check):
    def f(v):
        seen = []

        def g(x):
            seen.append(x * x)
            if x > 2:
                raise ValueError
            return x

        try:
            return sum([g(x) for x in v])
        except ValueError:
            return sum(seen)

    check(f, [1.0, 2.5, 3.0])


def test_an_exception_in_an_if_condition(check):
    def f(d, x):
        try:
            if d["k"] > x:
                y = x
            else:
                y = x * 2
        except KeyError:
            y = x * x
        return y

    check(f, {}, 1.5)


def test_a_stop_iteration_ends_a_manual_loop(check):
    def f(v):
        it, y = iter(v), 1.0
        while True:
            try:
                y = y * next(it) + 1
            except StopIteration:
                return y

    check(f, [1.0, 2.0, 3.0])


def test_a_type_error_in_a_function_that_was_called_before_is_raised_once(check):
    calls = []

    def half(x):
        calls.append(x)
        return x / 2 if len(calls) % 2 else x / "2"

    def f(x):
        y = half(x)
        try:
            return y + half(x)
        except TypeError:
            return y * len(calls[-2:])

    check(f, 1.5)
    assert len(calls) % 2 == 0
