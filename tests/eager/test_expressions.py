"""Every form of Python's expression grammar, one to a test."""

from __future__ import annotations

import cmath
import math
from types import SimpleNamespace

import numpy as np
import pytest

import morula as mo


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: x**y,
        lambda x, y: x // y + x,
        lambda x, y: x % y,
        lambda x, y: -x * +y,
        lambda x, y: 2 - x * 3 / y**2 + 1,
        lambda x, y: x**-y,
        lambda x, y: -(x**2),
        lambda x, y: 2**x + y**3,
    ],
    ids=[
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "floordiv",
        "mod",
        "signs",
        "mixed",
        "power-of-negative",
        "neg",
        "int-base",
    ],
)
def test_arithmetic(check, f):
    check(f, 2.7, 1.3)


def test_matrix_product_operator(check):
    check(lambda a, b: (a @ b @ a).sum(), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.5, -1.0], [2.0, 0.3]]))


def test_integers_stay_integers_and_have_gradients():
    def f(x, n):
        return x * n // 1 + n**2

    y, back = mo.vjp(f, 3, 4)
    assert y == 28 and type(y) is int
    assert mo.gradient(lambda x, n: x * n, 3, 4) == (4, 3)


def test_bitwise_operators_on_integers_select_without_a_gradient(check):
    def f(x, flags):
        if flags & 1 and not flags >> 2 & 1 and flags ^ 7:
            return x * (flags << 1) + (~flags | 1)
        return x

    check(f, 1.5, 3)


@pytest.mark.parametrize("x", [0.5, 1.5, 2.5])
def test_a_chained_comparison_selects(check, x):
    def f(x):
        if 0 < x < 1 <= 2:
            return x * x
        if 1 <= x < 2 != 3:
            return 3 * x
        return math.sin(x)

    check(f, x)


def test_a_chained_comparison_evaluates_its_middle_once(check):
    def f(x):
        calls = []

        def middle():
            calls.append(x * len(calls))
            return x

        inside = 0 < middle() < 10
        return inside * x * len(calls) + calls[0]

    assert check(f, 1.5) == (1.0,)


def test_and_returns_the_deciding_operand(check):
    assert mo.gradient(lambda x, y: x and y, 0.0, 2.0) == (1.0, 0.0)  # the path that ran returned x
    assert check(lambda x, y: x and y, 3.0, 2.0) == (0.0, 1.0)


def test_or_returns_the_deciding_operand(check):
    assert check(lambda x, y: x * x or y, 3.0, 2.0) == (6.0, 0.0)
    assert mo.gradient(lambda x, y: x * 0 or y, 3.0, 2.0) == (0.0, 1.0)


def test_short_circuit_skips_the_side_effect(check):
    def f(x):
        seen = []
        x > 0 or seen.append(x)
        x > 0 and seen.append(x * x)
        return sum(seen)

    assert check(f, 1.5) == (3.0,)


def test_and_or_chains_mix_with_not(check):
    def f(x, y, z):
        return (x and y and z) + (None or 0 or y) * (not x) + (not (x and not y)) * z

    check(f, 1.5, 2.0, 0.5)


def test_a_conditional_expression_runs_only_the_branch_taken(check):
    def f(x):
        return math.sqrt(x) if x > 0 else math.sqrt(-x) if x < 0 else 0.0

    check(f, 2.0)
    check(f, -2.0)


def test_conditional_expressions_nest_in_arguments(check):
    check(lambda x, y: max(x if x > y else y * 2, y**2 if y > 3 else x * y) + (x if True else 1 / 0), 1.5, 2.0)


def test_starred_displays(check):
    def f(x, y):
        pair = (x * y, y)
        row = [*pair, x, *[x**2, y**2]]
        both = (*row, *pair)
        table = {"a": x, **{"b": y, "a": x * x}}
        return sum(i * value for i, value in enumerate(both)) + table["a"] * table["b"]

    check(f, 1.5, 2.0)


def test_unpacking_nested_targets(check):
    def f(p):
        (a, [b, c]), *rest, (d, *_) = p
        return a * b + c * d + sum(r * r for r in rest)

    check(f, [(1.0, [2.0, 3.0]), 4.0, 5.0, (6.0, 7.0)])


def test_unpacking_an_array(check):
    def f(v):
        x, y, z = v
        first, *others = v * v
        return x * y + z + first * sum(others)

    check(f, np.array([1.0, 2.0, 3.0]))


def test_swapping_by_unpacking(check):
    def f(x, y):
        for _ in range(3):
            x, y = y, x + y * x
        return x * y

    check(f, 0.7, 0.4)


def test_chained_assignment_binds_one_object(check):
    def f(x):
        a = b = [x]
        a.append(x * x)
        i = c, d = b[1], b[0]
        return sum(b) * len(i) + c * d

    check(f, 1.5)


def test_walrus_binds_in_a_condition(check):
    def f(x):
        total = 0.0
        while (x := x * 0.5) > 0.1:
            total += x * (y := x + 1)
        return total * y

    check(f, 3.0)


def test_a_list_comprehension_filters_and_nests(check):
    def f(v, x):
        table = [[a * b * x for b in v if b > a] for a in v if not 1.5 < a < 2.5]
        return sum(sum(row) for row in table)

    check(f, [1.0, 2.0, 3.0, 4.0], 0.5)


def test_a_comprehension_with_two_fors_and_a_condition_between(check):
    check(lambda v: sum([a * b**2 for a in v if a > 1.5 for b in (a, *v) if b < 3.5]), [1.0, 2.0, 3.0, 4.0])


def test_a_dict_comprehension(check):
    def f(v):
        d = {k: x * x for k, x in enumerate(v)}
        inverse = {name: d[k] * 2 for k, name in enumerate("abc") if k}
        return d[0] * inverse["b"] + inverse["c"]

    check(f, [1.0, 2.0, 3.0])


def test_a_set_comprehension(check):
    check(lambda x: sum({x * k for k in (1, 2, 2, 3)}), 1.5)


def test_a_generator_expression_is_lazy(check):
    def f(x):
        k = 2.0
        terms = (k * x**n for n in range(4))
        k = 3.0  # late bound: the terms are made after this
        return sum(terms)

    check(f, 0.7)


def test_a_walrus_inside_a_comprehension_leaks_to_the_function(check):
    def f(v):
        running = 0.0
        partial = [running := running + x * x for x in v]
        return partial[1] * running

    check(f, [1.0, 2.0, 3.0])


def test_a_comprehension_has_its_own_scope(check):
    def f(x):
        i = x * 2
        squares = [i * i for i in (x, x + 1)]
        return i * sum(squares)

    check(f, 1.5)


def test_lambdas_in_a_comprehension_bind_late(check):
    check(lambda x: sum(g(x) for g in [lambda y: y * k for k in (1, 2, 3)]), 1.5)  # noqa: B023


def test_subscripts_and_slices_of_lists(check):
    def f(v):
        return v[0] * v[-1] + sum(v[1:3]) * v[::2][1] + v[slice(1, None, 2)][0] + v[::-1][0] ** 2

    check(f, [1.0, 2.0, 3.0, 4.0, 5.0])


def test_subscripts_and_slices_of_arrays(check):
    def f(a):
        return a[0, 1] * a[-1][0] + (a[1:, ::2] * a[:-1, 1:]).sum() + a[..., 0].sum() * a[None, 1, 2][0]

    check(f, np.arange(1.0, 7.0).reshape(2, 3))


def test_an_index_may_be_computed_from_an_active_value(check):
    def f(v, x):
        return v[int(x)] * x + v[math.floor(x * 2) % 3]

    check(f, [1.0, 2.0, 3.0], 1.7)


def test_attributes_of_a_namespace(check):
    def f(p):
        q = SimpleNamespace(r=p.a * p.b)
        q.s = q.r**2
        return q.s + p.a

    check(f, SimpleNamespace(a=1.5, b=2.0))


def test_getattr_setattr_by_name(check):
    def f(p):
        setattr(p, "c", getattr(p, "a") * 3)  # noqa: B009, B010
        return p.c * getattr(p, "missing", p.b)

    check(f, SimpleNamespace(a=1.5, b=2.0))


def test_an_fstring_formats_an_active_value(check):
    def f(x):
        name = f"{x * 2:.1f}|{x!r:>5}|{'a'!s}{{}}"
        return x * len(name) * float(f"{x:.2f}")

    assert mo.gradient(f, 1.5) == (len(f"{3.0:.1f}|{1.5!r:>5}|a{{}}") * 1.5,)


def test_print_shows_the_value(capsys):
    def f(x):
        print("x is", x, x > 1, sep="-", end="!")
        return x * x

    assert mo.gradient(f, 1.5) == (3.0,)
    assert capsys.readouterr().out == "x is-1.5-True!"


def test_is_and_in_compare_without_gradients(check):
    def f(x, y):
        pool = [x, 7.0]
        return x * (x in pool) + y * (y not in pool) + x * (pool is not None) + y * (x is y)

    check(f, 1.5, 2.0)


def test_comparisons_give_plain_bools(check):
    def f(x):
        return x * sum([x > 1, x == 1.5, x != 1.5, not x, x <= 1])

    assert mo.gradient(f, 1.5) == (2.0,)


def test_complex_literals_and_cmath(check):
    def f(x):
        z = (1 + 2j) * x + 3j
        return (z * z.conjugate()).real + abs(cmath.exp(1j * z)) + z.imag

    check(f, 0.7)


def test_math_functions_compose(check):
    check(lambda x: math.exp(math.sin(x)) * math.log(x) + math.atan2(x, 2) - math.hypot(x, 1.0), 1.3)


def test_constants_of_modules_and_globals(check):
    check(lambda x: math.pi * x**2 + GLOBAL_RATE * x + np.e, 1.5)


GLOBAL_RATE = 0.25


def test_ellipsis_newaxis_and_tuple_indices(check):
    def f(a):
        key = (slice(None), 1)
        return (a[key] * a[..., np.newaxis, 0].T).sum()

    check(f, np.arange(1.0, 5.0).reshape(2, 2))


def test_very_long_expressions_keep_their_gradients():
    def f(x):
        return (
            1 * x + 2 * x + 3 * x + 4 * x + 5 * x + 6 * x + 7 * x + 8 * x + 9 * x + 10 * x
            + 11 * x + 12 * x + 13 * x + 14 * x + 15 * x + 16 * x + 17 * x + 18 * x + 19 * x + 20 * x
        )  # fmt: skip

    assert mo.gradient(f, 1.0) == (210.0,)


def test_a_value_used_many_times_accumulates(check):
    def f(x):
        y = x * x
        y = y + y
        y = y * y + y
        return y + x

    check(f, 1.1)


def test_names_may_be_reused_for_other_things(check):
    def f(x):
        y = x * 2
        x = "text"
        z = len(x) * y
        y = None
        x = z * z if y is None else y
        return x

    check(f, 1.5)


def test_names_that_shadow_builtins(check):
    def f(sum, len):
        max = sum * len
        list = [max, sum]
        return list[0] * list[1]

    check(f, 1.5, 2.0)


def test_names_that_the_generated_code_might_use(check):
    def f(dy, back, d_x, np, tape):
        y = dy * back
        grad = y + d_x * np
        pullback = grad * tape
        return pullback * y

    check(f, 1.5, 2.0, 3.0, 4.0, 5.0)


def test_names_beyond_ascii(check):
    def f(θ, λ):
        Δ = θ * λ
        return Δ**2

    check(f, 1.5, 2.0)


@pytest.mark.parametrize("kind", [float, np.float32, complex])
def test_subscripts_of_a_numpy_number(check, kind):
    def f(x):
        total = (x * x).sum()  # a number of NumPy, as is each of these
        return float(np.real(total[()] + 2 * total[...] + 3 * total[None][0] + 4 * total[(None, ...)].sum()))

    check(f, np.array([1.5, -0.5], kind), rtol=1e-8 if kind is not np.float32 else 1e-2)


def test_a_list_beside_a_numpy_number_or_array_is_read_as_an_array(check):
    def f(x, a):
        y, both = np.float64(x), [x, 2.0]
        total = (y + both) * (both - y) / (both**y) + (both @ a) * np.dot(y, both) + np.divmod(a, both)[1]
        return np.sum(total) + len(np.int64(2) * both)

    check(f, 1.5, np.array([0.7, 3.1]))


def test_an_expression_that_saves_many_values(check):
    def conductivity(T, rho, s, Q):
        [T].clear()
        return (
            (0.0701309 / (T**10) + 0.0118520) * (rho ** (9 / 5)) * math.exp(0.642857 * (1 - rho ** (14 / 5)))
            + 0.00169937 * s * (rho**Q) * math.exp((Q / (1 + Q)) * (1 - rho ** (1 + Q)))
            - 1.02 * math.exp(-4.11717 * (T ** (3 / 2)) - 6.17937 / (rho**5))
        )

    check(conductivity, 0.9, 1.1, 2.5, 2.2)


def test_targets_are_assigned_from_left_to_right(check):
    def f(x, y):
        a, i = np.zeros(3), 0
        a[i], i = x * x, 1
        i, a[i] = 2, y
        a[i - 1], a[i] = a[i] + x, a[i - 1]
        p = kept = [x, 2.0]
        p[0], p = 5.0 * x, [y]
        entries, k = [0.0, 0.0], 0
        for k, entries[k] in [(0, x), (1, x * y)]:  # noqa: B007, B020
            pass
        return a[0] + 2 * a[1] * a[2] + a[1] * i + kept[0] * p[0] + entries[0] * entries[1]

    check(f, 1.5, 0.7)


def test_a_list_is_reversed_by_one_assignment(check):
    class Node:
        def __init__(self, x, following):
            self.x, self.next = x, following

    def f(x, y):
        node, before = Node(x, Node(x * y, Node(y, None))), None
        while node is not None:
            node.next, before, node = before, node, node.next
        return before.x * 3 + before.next.x * 2 * before.next.next.x

    check(f, 1.5, 0.7)
