"""Short programs that raise, catch, or have errors on paths that do not run, with arguments for which to call them."""

from __future__ import annotations

import contextlib
import math

import numpy as np

A = np.array([0.5, -1.0, 1.5, 2.0])
PROGRAMS: list = []
"""(function, tuples of arguments)"""


def called_with(*calls):
    def note(f):
        PROGRAMS.append((f, calls))
        return f

    return note


class Diverged(Exception):
    pass


class Worse(Diverged):
    pass


class Coded(Exception):
    def __init__(self, code, message="coded"):
        super().__init__(code, message)
        self.code = code


# Checks that handlers catch


@called_with((4.0,), (-1.0,))
def domain_error_caught(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return 0.0


@called_with((4.0,), (0.0,))
def division_caught(x):
    try:
        y = 1 / x
    except ZeroDivisionError:
        y = -1.0
    return y * 2


@called_with((7, 2), (7, 0))
def integer_division_caught(i, j):
    try:
        return i // j
    except ZeroDivisionError:
        return -1


@called_with((A, 1), (A, 9), (A, -4), (A, -5))
def index_caught(a, i):
    try:
        return a[i]
    except IndexError:
        return -7.5


@called_with((A, 1), (A, 9))
def written_index_caught(a, i):
    b = a.copy()
    try:
        b[0] = 10.0
        b[i] = 5.0
        b[2] = 20.0
    except IndexError:
        b[3] = -1.0
    return b


@called_with((1.0,), (1000.0,))
def overflow_caught(x):
    try:
        return math.exp(x)
    except OverflowError:
        return -1.0


@called_with((1.0,), (-1.0,))
def caught_by_a_base_class(x):
    try:
        return math.log(x)
    except ArithmeticError:
        return 1.0
    except Exception:
        return 2.0


@called_with((1.0,), (0.0,))
def caught_by_arithmetic_error(x):
    try:
        return 3.0 / x
    except ArithmeticError:
        return 2.0


@called_with((1.0,), (0.0,))
def bare_except(x):
    try:
        y = 3.0 / x
    except:  # noqa: E722
        y = 2.0
    return y


@called_with((1.0, 1.0), (0.0, 1.0), (1.0, -1.0), (0.0, -1.0))
def tuple_of_classes(x, y):
    try:
        z = 1 / x + math.sqrt(y)
    except (ValueError, ZeroDivisionError):
        z = -3.0
    return z


@called_with((1.0, 1.0), (0.0, 1.0), (1.0, -1.0), (0.0, -1.0))
def two_handlers(x, y):
    try:
        z = 1 / x + math.sqrt(y)
    except ValueError:
        z = -3.0
    except ZeroDivisionError:
        z = x + 10
    return z


@called_with((1.0, 1.0), (0.0, 1.0), (1.0, -1.0), (0.0, -1.0))
def two_checks_and_else(x, y):
    z = 0.0
    try:
        z += 1 / x
        z += math.sqrt(y)
    except ValueError:
        z -= 3.0
    except ZeroDivisionError:
        z = z + 100.0
    else:
        z *= 7
    finally:
        z += 0.25
    return z


@called_with((1.0,), (0.0,))
def not_caught(x):
    try:
        return 1 / x
    except ValueError:
        return 5.0


@called_with((1.0,), (0.0,))
def finally_after_an_error(x):
    y = 1.0
    try:
        y = 1 / x
    finally:
        y += 1
    return y


@called_with((1.0,), (0.0,))
def finally_that_returns(x):
    try:
        y = 1 / x
    finally:
        return 7.0  # noqa: B012
    return y


@called_with((1.0, 2.0), (0.0, 2.0), (1.0, -2.0), (0.0, -2.0))
def nested_tries(x, y):
    try:
        try:
            z = 1 / x
        except ValueError:
            z = 5.0
        z += math.sqrt(y)
    except ZeroDivisionError:
        z = 6.0
    except ValueError:
        z = 7.0
    return z


@called_with((1.0, 2.0), (0.0, 2.0), (0.0, -2.0))
def error_in_a_handler(x, y):
    try:
        try:
            z = 1 / x
        except ZeroDivisionError:
            z = math.sqrt(y)
    except ValueError:
        z = 7.0
    return z


@called_with((1.0,), (0.0,))
def raised_again(x):
    try:
        try:
            return 1 / x
        except ZeroDivisionError:
            raise
    except ArithmeticError:
        return 4.0


@called_with((1.0,), (0.0,))
def raised_again_and_not_caught(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        raise


@called_with((1.0,), (0.0,))
def raised_as_another(x):
    try:
        return 1 / x
    except ZeroDivisionError as e:
        raise Diverged("stopped", 3) from e


@called_with((1.0,), (0.0,))
def raised_in_a_handler(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        raise Diverged("stopped")  # noqa: B904


@called_with((1.0,), (0.0,))
def raised_from_none(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        raise Diverged from None


@called_with((1.0,), (0.0,), (-2.0,))
def arguments_of_the_error(x):
    try:
        if x < 0:
            raise ValueError(x, 3)
        return 1 / x
    except ValueError as e:
        return e.args[0] * e.args[1]
    except ZeroDivisionError as e:
        return float(len(e.args))


@called_with((1.0,), (3.0,))
def attribute_of_the_error(x):
    try:
        if x > 2:
            raise Coded(x * 2)
        return x
    except Coded as e:
        return e.code + len(e.args)


@called_with((1.0,), (3.0,), (5.0,))
def hierarchy(x):
    try:
        if x > 4:
            raise Worse("much")
        if x > 2:
            raise Diverged("some")
        return x
    except Worse:
        return -2.0
    except Diverged:
        return -1.0


def root(x):
    return math.sqrt(x) + 1.0


@called_with((4.0,), (-4.0,))
def error_in_a_called_function(x):
    try:
        y = root(x) * 2
    except ValueError:
        y = -1.0
    return y


def checked(x):
    if x > 2:
        raise Diverged("large")
    return x * x


@called_with((1.0,), (4.0,))
def raised_in_a_called_function(x):
    try:
        y = checked(x) + 1
    except Diverged:
        y = 0.5
    return y


@called_with((1.0,), (4.0,))
def raised_two_calls_down(x):
    def inner(y):
        return checked(y) * 3

    try:
        y = inner(x) + 1
    except Diverged:
        y = 0.5
    return y


@called_with((1.0, 2.0), (-1.0, 2.0), (1.0, -2.0))
def check_under_a_condition(x, y):
    try:
        if x > 0:
            z = math.sqrt(y)
        else:
            z = -x
    except ValueError:
        z = 9.0
    return z


@called_with((1.0, 2.0), (-1.0, 2.0), (1.0, -2.0))
def check_in_a_conditional_expression(x, y):
    try:
        z = math.sqrt(y) if x > 0 else -x
        z += 1
    except ValueError:
        z = 9.0
    return z


@called_with((1.0, 2.0), (-1.0, 0.0), (1.0, 0.0))
def check_in_an_and(x, y):
    try:
        z = 2.0 if x > 0 and 1 / y > 0.2 else 3.0
    except ZeroDivisionError:
        z = 9.0
    return z


@called_with((A,), (abs(A),))
def check_in_a_loop_in_a_try(a):
    s = 0.0
    try:
        for x in a:
            s += math.sqrt(x)
    except ValueError:
        s -= 100.0
    return s


@called_with((np.linspace(-1, 5, 9),), (np.linspace(1, 5, 9),))
def check_in_a_long_loop_in_a_try(a):
    s = 0.0
    try:
        for i in range(len(a)):
            s += math.sqrt(a[i])
    except ValueError:
        s -= 100.0
    return s


@called_with((np.linspace(-1, 5, 9),), (np.linspace(1, 5, 9),))
def try_in_a_loop(a):
    s = 0.0
    for i in range(len(a)):
        try:
            s += math.sqrt(a[i])
        except ValueError:
            s -= 1.0
    return s


@called_with((np.linspace(-1, 5, 9),), (np.linspace(1, 5, 9),))
def try_in_a_loop_that_continues(a):
    s = 0.0
    for i in range(len(a)):
        try:
            y = math.sqrt(a[i])
        except ValueError:
            continue
        s += y
    return s


@called_with((np.linspace(-1, 5, 9),), (np.linspace(5, -1, 9),))
def try_in_a_loop_that_breaks(a):
    s = 0.0
    for i in range(len(a)):
        try:
            y = math.sqrt(a[i])
        except ValueError:
            break
        s += y
    return s


@called_with((10.0, 3), (10.0, 30))
def check_in_a_while_in_a_try(x, n):
    i = 0
    try:
        while i < n:
            i += 1
            x = math.sqrt(x - 1.0)
    except ValueError:
        return -float(i)
    return x


@called_with((A, 3), (A, 30))
def raise_in_a_loop_in_a_try(a, n):
    s = 0.0
    try:
        for i in range(n):
            if s > 4:
                raise Diverged("large")
            s += 0.5
    except Diverged:
        s = -s
    return s


@called_with((1.0,), (0.0,))
def written_before_the_error(x):
    a = np.zeros(3)
    n = 0
    try:
        a[0] = 1.0
        n += 1
        a[1] = 1 / x
        n += 1
        a[2] = 3.0
    except ZeroDivisionError:
        a[2] = -1.0
    return a * n


@called_with((1.0,), (0.0,))
def list_before_the_error(x):
    found = [1.0, 2.0]
    try:
        found[0] = 5.0
        found[1] = 1 / x
    except ZeroDivisionError:
        found[1] = -1.0
    return found[0] + 10 * found[1]


@called_with((1.0,), (0.0,))
def unbound_after_the_error(x):
    try:
        y = 1 / x
    except ZeroDivisionError:
        pass
    return y  # noqa: F821


@called_with((1.0,), (0.0,))
def name_of_the_error_is_unbound_afterwards(x):
    e = 5.0
    try:
        y = 1 / x
    except ZeroDivisionError as e:  # noqa: F841
        y = 2.0
    return e + y


@called_with((1.0,), (0.0,))
def suppressed(x):
    y = 3.0
    with contextlib.suppress(ZeroDivisionError):
        y = 1 / x
    return y


class Swallowing:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None and issubclass(kind, ValueError)


@called_with((1.0,), (-1.0,))
def context_that_swallows(x):
    y = 3.0
    with Swallowing():
        y = math.sqrt(x)
    return y


@called_with((1.0,), (0.0,))
def context_that_does_not_swallow(x):
    y = 3.0
    with Swallowing():
        y = 1 / x
    return y


@called_with((1.5,), (math.nan,))
def integer_of_a_float(x):
    try:
        return int(x / 2)
    except ValueError:
        return -1


@called_with((1.0, 2.0), (0.0, -1.0), (-8.0, 0.5))
def powers_caught(x, y):
    try:
        return x**2 + x**y if x >= 0 else -1.0
    except ZeroDivisionError:
        return 77.0


# Raised


@called_with((1.0,), (3.0,))
def without_arguments(x):
    if x > 2:
        raise ValueError
    return x


@called_with((1.0,), (3.0,))
def with_numbers(x):
    if x > 2:
        raise ValueError("x", x, 4, 2.5, None)
    return x


@called_with((1.0,), (3.0,))
def with_a_text_of_numbers(x):
    if x > 2:
        raise Diverged(f"x is {x:.3f}", [x, 2])
    return x


@called_with((1.0,), (3.0,))
def of_a_class_of_its_own(x):
    if x > 2:
        raise Coded(7)
    return x


@called_with((1.0,), (3.0,))
def asserted_without_a_message(x):
    assert x < 2
    return x


@called_with((1.0,), (3.0,))
def asserted_with_a_tuple(x):
    assert x < 2, ("too large", 3)
    return x


@called_with((1.0,), (3.0,))
def raised_from_another(x):
    if x > 2:
        raise Diverged("a") from ValueError("b", 2)
    return x


@called_with((1.0,), (3.0,))
def raised_with_a_context(x):
    try:
        if x > 2:
            raise ValueError("b")
    except ValueError:
        raise Diverged("a")  # noqa: B904
    return x


@called_with((1.0,), (3.0,))
def key_error(x):
    if x > 2:
        raise KeyError("k")
    return x


# Paths that do not run


@called_with((1.0,), (3.0,))
def index_of_a_list(x):
    known = [1.0, 2.0]
    if x > 2:
        return known[5]
    return x


@called_with((1.0,), (3.0,))
def missing_key(x):
    known = {"a": 1.0}
    if x > 2:
        x = known["b"]
    return x


@called_with((1.0,), (3.0,))
def wrong_types(x):
    if x > 2:
        x = x + "a"
    return x


@called_with((1.0,), (3.0,))
def wrong_known_types(x):
    if x > 2:
        x = [1] + 3
    return x


@called_with((1.0,), (3.0,))
def missing_name(x):
    if x > 2:
        x = not_there  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    return x


@called_with((1.0,), (3.0,))
def divided_by_a_known_zero(x):
    n = 0
    return 1 / n if x > 2 else x


@called_with((1.0,), (3.0,))
def missing_attribute(x):
    if x > 2:
        x = math.no_such_function(x)
    return x


@called_with((1.0,), (3.0,))
def unbound_local(x):
    if x > 2:
        z = y  # noqa: F821
        y = z
    return x


@called_with((1.0,), (3.0,))
def known_domain_error(x):
    return math.sqrt(-1) if x > 2 else x


@called_with((1.0, 3), (1.0, 0))
def in_a_loop_that_may_not_run(x, n):
    known = [1.0, 2.0]
    for _ in range(n):
        x += known[4]
    return x


@called_with((1.0, 3), (1.0, 0))
def in_a_while_that_may_not_run(x, n):
    while n > 0:
        n -= 1
        x += {}["k"]
    return x


@called_with((1.0,), (3.0,))
def in_an_and(x):
    known = [1.0]
    return 1.0 if x > 2 and known[3] > 0 else 2.0


@called_with((1.0,), (3.0,))
def in_an_or(x):
    known = [1.0]
    return 1.0 if x < 2 or known[3] > 0 else 2.0


def broken(x):
    return x + [][0]


@called_with((1.0,), (3.0,))
def in_a_called_function(x):
    return broken(x) if x > 2 else x


@called_with((1.0,), (3.0,))
def in_a_comprehension(x):
    known = [1.0, 2.0]
    return sum(known[k] * x for k in range(3)) if x > 2 else x


@called_with((1.0,), (3.0,))
def wrong_arguments_of_a_call(x):
    return checked(x, 2) if x > 2 else x


@called_with((1.0,), (3.0,))
def too_many_to_unpack(x):
    if x > 2:
        a, b = (1.0, 2.0, x)
        x = a + b
    return x


@called_with((A, 1.0), (A, 3.0))
def shapes_that_do_not_fit(a, x):
    return (a[:3] + a).sum() if x > 2 else x


@called_with((A, 1.0), (A, 3.0))
def index_of_an_array(a, x):
    return a[7] if x > 2 else x


@called_with((1.0,), (3.0,))
def on_both_sides(x):
    if x > 2:
        raise ValueError("large")
    else:
        raise KeyError("small")


@called_with((1.0,), (3.0,))
def known_error_caught(x):
    known = [1.0]
    try:
        if x > 2:
            x = known[2]
        else:
            x = x * 2
    except IndexError:
        x = -1.0
    return x


@called_with((1.0,), (3.0,), (5.0,))
def known_error_in_a_conditional_expression_caught(x):
    known = [1.0]
    try:
        y = 1.0
        z = known[2] if x > 2 else x * 2
        y = 2.0
    except IndexError:
        z = 10.0
    return z * y


@called_with((1.0,), (3.0,))
def always_raises(x):
    raise ValueError("always", x)


@called_with((1.0,))
def always_raises_a_known_error(x):
    return x + [1.0][3]


# Values that do not fit


@called_with((A,))
def mask_of_the_wrong_length(a):
    return a[np.array([True, False, True])]


@called_with((A, np.array([True, False, True])), (A, np.array([True, False, True, True])))
def given_mask_of_the_wrong_length(a, mask):
    return np.sum(a[mask])


@called_with(
    (A, np.array([True, False, True])),
)
def writing_by_a_mask_of_the_wrong_length(a, mask):
    b = a.copy()
    b[mask] = 0.0
    return b


@called_with((2.0,))
def too_large_for_int8(x):
    return np.int8(300) + x


@called_with((2.0,))
def too_large_to_write(x):
    a = np.zeros(3, np.int8)
    a[0] = 300
    return a


@called_with((100,), (300,), (-129,))
def given_too_large_to_write(n):
    a = np.zeros(3, np.int8)
    a[0] = n
    return a


@called_with((100,), (-1,))
def negative_into_unsigned(n):
    a = np.zeros(3, np.uint8)
    a[1] = n
    return a


@called_with((2.0,))
def full_of_too_large(x):
    return np.full(3, 300, np.int8) + x


@called_with((2.0,))
def array_of_too_large(x):
    return np.array([1, 300], np.uint8) + x


@called_with((np.zeros(3, np.int8),))
def too_large_to_add(a):
    return a + 300


@called_with((A,))
def broadcast_view_written(a):
    b = np.broadcast_to(a, (2, 4))
    b[0] = 1.0
    return b


@called_with((np.arange(9.0).reshape(3, 3),))
def diagonal_written(m):
    d = np.diagonal(m)
    d[0] = 1.0
    return d


@called_with((np.arange(9.0).reshape(3, 3),))
def diag_written(m):
    d = np.diag(m)
    d[0] = 1.0
    return d


@called_with((np.arange(9.0).reshape(3, 3),))
def diagonal_seen_after_a_write(m):
    m = m * 2
    d = np.diagonal(m)
    m[0, 0] = 50.0
    return d * 1.0


@called_with((np.arange(9.0).reshape(3, 3),))
def diagonal_by_einsum_written(m):
    m = m * 2
    d = np.einsum("ii->i", m)
    d[0] = 70.0
    return m


@called_with((2.0,), (0.0,))
def floating_point_errors_raised(x):
    with np.errstate(all="raise"):
        return np.float64(1.0) / x


@called_with((np.array([1.0, 2.0]),), (np.array([0.0, 2.0]),))
def floating_point_errors_of_arrays_raised(a):
    with np.errstate(divide="raise"):
        return 1.0 / a
