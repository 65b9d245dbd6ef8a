"""Functions of arrays whose lengths or classes are known only at run time, and unique parts of arrays."""

import numpy as np
import pytest
import scipy.linalg
from path_tester import check_gradient, check_value, run_on

from morula import BadInput

M = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [0.0, 5.0]])
A = np.array([[1.0, 0.1], [-0.2, 0.9]])
PATHS = ["native", "xla"]


class Derived(np.ndarray):
    pass


def convolved(x, k):
    a = np.array([x, 2.0, x * x, 5.0])[k:]
    return np.sum(np.convolve(a, np.array([1.0, x])) ** 2)


def convolved_with_itself(x, k):
    a = np.array([x, 2.0, x * x, 5.0])[k:]
    b = np.convolve(a, a)
    return len(b) * np.sum(b**2)


def multiplied(x, k):
    return np.sum(np.polymul(np.array([x, 2.0, x * x, 5.0])[k:], [1.0, x]) ** 2) + np.sum(np.polymul(2.0, [x, x]))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f", [convolved, convolved_with_itself, multiplied], ids=lambda f: f.__name__)
def test_products_of_polynomials(f, path):
    for k in (1, 2):
        check_gradient(path, f, 1.3, k)


@pytest.mark.parametrize("path", PATHS)
def test_a_polynomial_whose_first_coefficient_is_zero(path):
    with pytest.raises(BadInput, match="whose first coefficient is zero"):
        run_on(path)(lambda x: np.polymul(np.array([x, 1.0]), np.array([1.0, x])))(0.0)


@pytest.mark.parametrize("path", PATHS)
def test_the_rank_of_some_rows(path):
    check_value(path, lambda m: np.linalg.matrix_rank(m[m[:, 0] > 0.5]), M)
    check_value(path, lambda m: np.linalg.matrix_rank(m[m[:, 0] == 1.0]), M)
    check_value(path, lambda m: np.linalg.matrix_rank(m[m[:, 0] > 0.5], tol=2.0), M)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique_with_indices_and_counts(axis, path):
    check_value(path, lambda m: np.unique(m, True, True, True, axis=axis), M)
    check_value(path, lambda m: np.unique(m, return_inverse=True, axis=axis), M)
    check_value(path, lambda m: np.unique(m, return_counts=True, axis=axis), M)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("solve", [scipy.linalg.solve_discrete_are, scipy.linalg.solve_continuous_are])
def test_riccati_equations_with_a_mixed_term(solve, path):
    def f(w):
        q, s = np.array([[w, 0.0], [0.0, 1.0]]), np.array([[0.1 * w], [0.0]])
        return np.sum(solve(A, np.array([[0.0], [1.0]]), q, np.array([[1.0]]), s=s) ** 2)

    check_gradient(path, f, 2.0)


@pytest.mark.parametrize("path", PATHS)
def test_a_branch_that_tests_for_none_knows_the_number(path):
    def f(x):
        for i in range(3):
            a = np.array([x + i, x])
            place = None
            for k in range(2):
                if a[k]:
                    place = k
                    break
            if place is None:
                y = np.zeros(1).sum()
            else:
                y = a[place:].sum()
            x = x + y
        return x

    check_gradient(path, f, 2.0)


@pytest.mark.parametrize("path", PATHS)
def test_an_item_that_may_be_of_two_classes(path):
    def f(x, n):
        total = 0.0
        for _ in range(n):
            y = (2.0 * x).view(Derived) if x[0] > total else 3.0 * x
            z = np.hstack((2 * y, np.ones(2)))
            total = total + np.sum(np.asarray(z) ** 2)
        return total

    check_gradient(path, f, np.array([0.5, 0.7, 1.3]), 3)
