"""Two names for one object: a compiled program does what Python does, or is refused with the remedy, a copy."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import check_value, run_on

import morula as mo

A = np.array([0.5, -1.0, 1.5, 2.0])


def list_made_and_changed_in_a_branch(x):
    if x > 0:
        v = [x]
        v.append(x * 2)
    else:
        v = [1.0, 2.0]
    return v[0] * v[1]


def list_made_and_changed_in_a_loop(x, n):
    v = [x, 1.0]
    for _ in range(n):
        v = [v[0], v[1]]
        v[0] = v[0] * 2
    return v[0]


def one_of_two_dicts(x):
    p, q = {"a": x}, {"a": 1.0}
    if x > 0:
        r = p
        p["a"] = 2.0
    else:
        r = q
    return r["a"] * p["a"]


def the_best(x, n):
    best = {"v": x, "w": [1.0]}
    p = {"v": x, "w": [2.0]}
    for i in range(n):
        p = {"v": p["v"] * 0.5 + i, "w": [p["w"][0] + 1]}
        if p["v"] > best["v"]:
            best = p
    return best["v"] * best["w"][0]


def the_best_array(a, n):
    best = a
    for i in range(n):
        b = a * (i - 1.0)
        if b[0] > best[0]:
            best = b
    return best.sum()


@pytest.mark.parametrize(
    "program",
    [
        (list_made_and_changed_in_a_branch, 2.0),
        (list_made_and_changed_in_a_branch, -2.0),
        (list_made_and_changed_in_a_loop, 1.5, 3),
        (one_of_two_dicts, 1.5),
        (one_of_two_dicts, -1.5),
        (the_best, 1.5, 4),
        (the_best_array, A, 4),
    ],
    ids=lambda p: p[0].__name__,
)
def test_what_has_one_meaning(check, program):
    check(*program)


def changed_after_it_may_be_one_of_two(x):
    p, q = {"a": x}, {"a": 1.0}
    r = p if x > 0 else q
    p["a"] = 3.0
    return r["a"]


def one_object_after_a_loop(x, n):
    v = best = [x, 1.0]
    for _ in range(n):
        best = v = [x, x]
    v[0] = 5.0
    return best[0]


def changed_and_assigned_in_a_loop(x, n):
    v, other = [x, 1.0], [2.0, 3.0]
    for _ in range(n):
        v = other
        other[0] = other[0] * 2
    return v[0]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_another_name_that_the_first_iteration_gives(value, n):
    value(changed_and_assigned_in_a_loop, 1.5, n)


def written_after_it_may_be_one_of_two(a, x):
    b = a
    if x > 0:
        b = a * 2.0
    a[0] = 5.0
    return b.sum()


@pytest.mark.parametrize("x", [1.5, -1.5])
def test_what_may_be_one_of_two_is_changed_on_each_way(path, x):
    check_value(path, changed_after_it_may_be_one_of_two, x)
    check_value(path, written_after_it_may_be_one_of_two, A, x)


def test_what_would_need_pointers(path):
    if path == "eager":
        check_value(path, one_object_after_a_loop, 1.5, 3)
    else:
        with pytest.raises(mo.BadInput, match="copy"):
            run_on(path)(one_object_after_a_loop)(1.5, 3)


def bound_anew(a, n):
    x = a
    for _ in range(n):
        x = x + 1
    x[0] = 5.0
    return x.sum()


def bound_anew_beside_another_name(a, n):
    x = a.copy()
    y = x
    for _ in range(n):
        x = x + 1
    x[0] = 5.0
    return x.sum() + y.sum()


def a_list_bound_anew(a, n):
    v = [a[0], a[1]]
    w = v
    for _ in range(n):
        v = [v[1], v[0] + 1]
    v[0] = 7.0
    return v[0] + v[1] + w[0]


def exchanged_beside_another_name(a, n):
    u, v = a.copy(), a * 2
    w = u
    for _ in range(n):
        v[0] += u[1]
        u, v = v, u
    return u.sum() - v.sum() + w[0]


@pytest.mark.parametrize(
    "f", [bound_anew, bound_anew_beside_another_name, a_list_bound_anew, exchanged_beside_another_name]
)
def test_what_a_loop_binds_anew_and_changes_may_have_no_other_name(f, target):
    with pytest.raises(mo.BadInput, match="copy"):
        mo.jit(f, target=target)(A.copy(), 2)


def bound_anew_alone(a, n):
    u, v = a.copy(), a * 2
    x = [a[0], a[1]]
    for _ in range(n):
        v[0] += u[1]
        u, v = v, u
        x = [x[1], x[0] + 1]
    x[0] = u[2]
    u[1] = 3.0
    return u.sum() - v.sum() + x[0] * x[1]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_what_a_loop_binds_anew_and_has_no_other_name(value, n):
    value(bound_anew_alone, A, n)


def reshaped_and_written(m, x):
    w = m.reshape(-1)
    w[0] = x
    v = m.T.reshape(-1)
    v[1] = 2 * x
    return m.sum() + w[1] + v[2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.ones((2, 3)),
        lambda: np.ones((2, 3), order="F"),
        lambda: np.ones((3, 6))[:, ::2],
        lambda: np.ones((2, 6))[:, :3],
    ],
    ids=["in order", "by columns", "with steps", "a part"],
)
def test_a_reshape_is_a_view_where_that_of_the_given_array_is(make, target):
    given, expected = make(), make()
    value = reshaped_and_written(expected, 9.0)
    assert mo.jit(reshaped_and_written, target=target)(given, 9.0) == value
    assert np.array_equal(given, expected)


def returned_from_a_loop_whose_first_iteration_is_another(b, n):
    x, r, p = np.zeros_like(b), b.copy(), None
    for i in range(n):
        if np.linalg.norm(r) < 0.01:
            return x, i
        if i > 0:
            p *= 0.5
            p += r
        else:
            p = np.empty_like(r)
            p[:] = r[:]
        x += p
        r -= 0.5 * p
    return x, n


def returned_from_a_loop_inside(b, n):
    x, total, q = np.zeros_like(b), 0.0, None
    for i in range(n):
        q = b * 0.5 if q is None else q * 0.5
        for j in range(3):
            if total > 2.0:
                return x, i + j
            total += np.sum(q)
        x += q
    return x, n


@pytest.mark.parametrize("n", [0, 1, 20])
@pytest.mark.parametrize("f", [returned_from_a_loop_whose_first_iteration_is_another, returned_from_a_loop_inside])
def test_an_attempt_at_a_loop_that_is_given_up_ties_nothing(value, f, n):
    """The first attempts take what is returned in the loop for a second name of an array that iterations write to."""

    def of(b, n):
        x, i = f(b, n)
        return np.sum(np.sin(x)) + i

    value(of, A, n)
