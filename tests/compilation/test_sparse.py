"""``sparse_jacobian`` and ``sparse_hessian`` give the entries of the dense matrices, on every path, from few runs."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu, spsolve
from sparse_programs import HESSIANS, JACOBIANS, N, arrow, heat, hub, rosenbrock, rosenbrock_by_elements

import morula as mo
from morula.core.testing.differences import numerical_vjp

RNG = np.random.default_rng(5)


def groups(made, *args):
    return made.found(*args).plan.counts


@pytest.mark.parametrize("f", JACOBIANS, ids=lambda f: f.__name__)
def test_a_sparse_jacobian_is_the_dense_one(f, target):
    made = mo.sparse_jacobian(f, target=target)
    for _ in range(2):
        x = RNG.random(N)
        found, before = made(x), x.copy()
        assert isinstance(found, sparse.csr_array) and found.nnz == JACOBIANS[f]
        assert np.array_equal(x, before)
        np.testing.assert_allclose(found.toarray(), mo.jacobian(f)(x).reshape(-1, N), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", HESSIANS, ids=lambda f: f.__name__)
def test_a_sparse_hessian_is_the_dense_one(f, target):
    made = mo.sparse_hessian(f, target=target)
    for _ in range(2):
        x = RNG.random(N)
        found = made(x)
        assert isinstance(found, sparse.csr_array) and found.nnz == HESSIANS[f]
        np.testing.assert_allclose(found.toarray(), mo.hessian(f)(x), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f", [heat, arrow], ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_each_mode_gives_the_same_matrix(f, mode, target):
    x = RNG.random(N)
    found = mo.sparse_jacobian(f, mode=mode, target=target)(x).toarray()
    np.testing.assert_allclose(found, mo.jacobian(f)(x), atol=1e-12)


def test_a_sparse_jacobian_agrees_with_differences():
    x = RNG.random(N)
    found = mo.sparse_jacobian(arrow)(x).toarray()
    rows = [numerical_vjp(arrow, dy, x)[0][0] for dy in np.eye(N)]
    np.testing.assert_allclose(found, np.stack(rows), atol=1e-8)


def test_a_sparse_hessian_agrees_with_differences():
    x = RNG.random(N)
    found = mo.sparse_hessian(hub)(x).toarray()
    rows = [numerical_vjp(mo.grad(hub), dy, x)[0][0] for dy in np.eye(N)]
    np.testing.assert_allclose(found, np.stack(rows), atol=1e-8)


# Colours


def tridiagonal(x):
    return 2 * x[1:-1] - x[:-2] * x[2:]


def five_points(x):
    n = int(np.sqrt(len(x)))
    u = np.pad(x.reshape(n, n), 1)
    return 4 * u[1:-1, 1:-1] ** 2 - u[2:, 1:-1] - u[:-2, 1:-1] - u[1:-1, 2:] - u[1:-1, :-2]


@pytest.mark.parametrize("n", [10, 1000])
def test_a_tridiagonal_matrix_has_three_groups_of_columns(n):
    assert groups(mo.sparse_jacobian(tridiagonal), np.ones(n)) == (3, 0)


@pytest.mark.parametrize("side, most", [(12, 5), (13, 5), (14, 8), (40, 8)])
def test_a_stencil_of_five_points_has_few_groups_of_columns(side, most):
    assert groups(mo.sparse_jacobian(five_points), np.ones(side * side))[0] <= most


@pytest.mark.parametrize("n", [30, 2000])
def test_an_arrow_is_computed_from_both_sides(n):
    assert groups(mo.sparse_jacobian(arrow), np.ones(n)) == (2, 1)
    assert groups(mo.sparse_jacobian(arrow, mode="forward"), np.ones(30)) == (30, 0)


@pytest.mark.parametrize("n", [30, 2000])
def test_a_star_colouring_has_two_groups_for_an_arrow_and_three_for_a_chain(n):
    assert groups(mo.sparse_hessian(hub), np.ones(n)) == (2, 0)
    assert groups(mo.sparse_hessian(rosenbrock), np.ones(n)) == (3, 0)


def test_one_full_row_is_one_run_of_reverse_mode():
    assert groups(mo.sparse_jacobian(lambda x: np.sum(x**2)), np.ones(50)) == (0, 1)


def test_a_loop_over_100_000_elements_is_analysed_at_once():
    n = 100_000
    made = mo.sparse_hessian(rosenbrock_by_elements)
    assert made.pattern(np.ones(n)).nnz == 3 * n - 2
    assert made.found(np.ones(n)).seconds["pattern"] < 2.0


# Arguments


def test_shapes_are_flattened():
    x = RNG.random((3, 4))
    found = mo.sparse_jacobian(lambda x: x.T**2)(x)
    assert found.shape == (12, 12)
    np.testing.assert_allclose(found.toarray(), mo.jacobian(lambda x: x.T**2)(x).reshape(12, 12))


def test_other_arguments_are_constants():
    def f(scale, x, *, shift, names):
        return scale["a"] * x[1:] ** 2 + shift * x[:-1] + len(names)

    given = {"shift": 3.0, "names": ["u", "v"]}
    for argnums in (1, -1):
        found = mo.sparse_jacobian(f, argnums)({"a": 2.0}, np.arange(3.0), **given)
        assert found.toarray().tolist() == [[3.0, 4.0, 0.0], [0.0, 3.0, 8.0]]


def test_the_dtype_is_that_of_the_argument():
    x = np.ones(5, np.float32)
    assert mo.sparse_jacobian(lambda x: x**2)(x).dtype == np.float32
    assert mo.sparse_hessian(lambda x: np.sum(x**2))(x).dtype == np.float32


@pytest.mark.parametrize("f", [lambda x: np.ones(3), lambda x: np.round(x)])
def test_a_matrix_without_entries_is_empty(f):
    found = mo.sparse_jacobian(f)(np.ones(3))
    assert found.shape == (3, 3) and found.nnz == 0


def test_arguments_of_length_zero():
    assert mo.sparse_jacobian(lambda x: 2 * x)(np.ones(0)).shape == (0, 0)


def test_methods_and_closures():
    class Chain:
        stiffness = 3.0

        def force(self, x):
            return self.stiffness * np.diff(x)

    assert mo.sparse_jacobian(Chain().force)(np.ones(3)).toarray().tolist() == [[-3.0, 3.0, 0.0], [0.0, -3.0, 3.0]]


# What is kept


def indexed(x, places):
    return x[places] ** 2


def test_a_pattern_depends_on_the_values_of_indices():
    made, x = mo.sparse_jacobian(indexed), np.arange(1.0, 5.0)
    for places in ([0, 1], [3, 3], [0, 1]):
        found = made(x, np.array(places)).toarray()
        assert np.array_equal(np.nonzero(found), ([0, 1], places))
    (_, plans), *others = made.kept.found.values()
    assert len(plans) == 2 and not others


def test_a_pattern_depends_on_the_zeros_of_a_factor_and_not_on_its_numbers():
    made = mo.sparse_jacobian(lambda x, a: a @ x)
    for a in (np.eye(3), 2 * np.eye(3), np.tri(3)):
        np.testing.assert_array_equal(made(np.ones(3), a).toarray(), a)
    ((_, plans),) = made.kept.found.values()
    assert len(plans) == 2


def test_an_index_from_outside_may_change():
    places = np.array([0, 1])
    made = mo.sparse_jacobian(lambda x: x[places])
    assert made(np.ones(3)).toarray().tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    places[:] = 2
    assert made(np.ones(3)).toarray().tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]


def test_floats_and_arguments_that_are_no_indices_are_not_looked_at():
    made = mo.sparse_jacobian(lambda x, k, n: k * n * x**2)
    for k in range(3):
        made(np.ones(3), float(k), np.array(k))
    ((_, plans),) = made.kept.found.values()
    assert len(plans) == 1


def test_plans_are_kept_for_each_type_and_found_again_when_it_is_made_again():
    def f(x):
        return x**2

    made = mo.sparse_jacobian(f)
    for n in (3, 4, 3):
        made(np.ones(n))
    assert len(made.kept.found) == 2
    assert mo.sparse_jacobian(f).kept is not made.own or mo.sparse_jacobian(f).kept is made.kept
    again = mo.sparse_jacobian(f)
    again(np.ones(3))
    assert not again.own.found and again.kept is made.kept


def test_matrices_share_their_index_arrays_which_cannot_be_changed():
    made = mo.sparse_jacobian(lambda x: x[1:] * x[:-1])
    first, second = made(np.array([0.0, 1.0, 0.0])), made(np.array([1.0, 2.0, 3.0]))
    first.data[:] = 7.0
    assert second.toarray().tolist() == [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
    with pytest.raises(ValueError, match="read-only"):
        second.eliminate_zeros()
    copied = made(np.array([0.0, 1.0, 0.0])).copy()
    copied.eliminate_zeros()
    assert copied.nnz == 2


def test_a_step_of_an_implicit_method():
    x = RNG.random(N)
    jacobian = mo.sparse_jacobian(heat)(x)
    system = sparse.eye_array(N) - 0.1 * jacobian
    np.testing.assert_allclose(splu(system.tocsc()).solve(x), np.linalg.solve(system.toarray(), x))
    np.testing.assert_allclose(spsolve(jacobian, x), np.linalg.solve(jacobian.toarray(), x))


def test_it_is_copied_and_pickled_like_a_function():
    made = mo.sparse_jacobian(heat, 0, "forward")
    assert copy.deepcopy(made) is made
    x = RNG.random(N)
    for again in (pickle.loads(pickle.dumps(made)), pickle.loads(pickle.dumps(mo.sparse_jacobian(heat)))):
        np.testing.assert_array_equal(again(x).toarray(), made(x).toarray())
    assert repr(mo.sparse_hessian(hub)) == "sparse_hessian(hub)"


# Derivatives


def test_the_entries_have_derivatives():
    def f(x, c):
        return c * x[1:] ** 3 * x[:-1]

    x = RNG.random(5)
    sparse_loss = lambda x, c: np.sum(np.sin(mo.sparse_jacobian(f)(x, c).data))  # noqa: E731
    dense_loss = lambda x, c: np.sum(np.sin(mo.jacobian(f)(x, c)))  # noqa: E731
    for found, wanted in zip(mo.gradient(sparse_loss, x, 2.0), mo.gradient(dense_loss, x, 2.0), strict=True):
        np.testing.assert_allclose(found, wanted)


# Reports


def test_a_gradient_through_a_sum_of_the_matrix_with_an_int_argument():
    def f(x, k):
        return np.concatenate([x[:k] ** 2, 2.0 * x[k:]])

    found = mo.gradient(lambda x, k: mo.sparse_jacobian(f)(x, k).sum(), np.arange(1.0, 7.0), 2)
    assert found[0].tolist() == [2.0, 2.0, 0.0, 0.0, 0.0, 0.0] and found[1] == 0


def test_the_explanation_says_groups_mode_and_fill(capsys):
    text = mo.sparse_jacobian(arrow).explain(np.ones(100))
    assert capsys.readouterr().out == text + "\n"
    first, how, target, seconds = text.splitlines()
    assert first == "sparse_jacobian of arrow: 100 x 100, 298 entries (3 % full)"
    assert how == "2 groups of columns by forward mode and 1 group of rows by reverse mode"
    assert target.startswith("for the target native: ")
    assert all(word in seconds for word in ("pattern", "colouring", "compile"))
    text = mo.sparse_hessian(hub, target="xla").explain(np.ones(100))
    assert "2 groups of columns, a star colouring, by forward over reverse mode\nfor the target xla: as asked" in text


def test_the_pattern_can_be_looked_at():
    made = mo.sparse_jacobian(lambda x: x[1:] - x[:-1])
    pattern = made.pattern(np.ones(3))
    assert pattern.dtype == bool and pattern.toarray().tolist() == [[True, True, False], [False, True, True]]
    pattern.data[:] = False
    assert made.pattern(np.ones(3)).toarray().any()


# Bad input


def returned(x):
    return open("/dev/null").read() and x


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda: mo.sparse_jacobian(np.sin, np.ones(3)),
            "argnums of sparse_jacobian must be an integer, .*sparse_jacobian\\(f\\)\\(x\\)",
        ),
        (lambda: mo.sparse_jacobian(np.sin, mode="both"), "must be 'auto', 'forward' or 'reverse', not 'both'"),
        (lambda: mo.sparse_hessian(np.sum, target="gpu"), "target must be one of"),
        (lambda: mo.sparse_jacobian(3.0), "expected a function, not a float"),
        (
            lambda: mo.sparse_jacobian(np.sin)(np.arange(3)),
            "array of dtype int64, which has no derivative; .*x.astype\\(float\\)",
        ),
        (lambda: mo.sparse_jacobian(np.sin)(1.0), "needs an array of real floats in argument 0, not a float"),
        (lambda: mo.sparse_jacobian(np.sin)(np.ones(2) + 1j), "in argument 0, not an array of complex128"),
        (lambda: mo.sparse_jacobian(np.sin)(), "argnums 0 is out of range"),
        (lambda: mo.sparse_jacobian(lambda x: "text")(np.ones(3)), "needs a result that is an array of real floats"),
        (lambda: mo.sparse_jacobian(lambda x: 1j * x)(np.ones(3)), "returns complex numbers"),
        (
            lambda: mo.sparse_hessian(lambda x: x)(np.ones(3)),
            "needs a real number as result; .* an array of shape \\(3,\\)",
        ),
        (
            lambda: mo.sparse_jacobian(np.cumsum)(np.ones(100)),
            "the Jacobian is 50 % full, so it is not sparse; use jacobian",
        ),
        (
            lambda: mo.sparse_hessian(np.linalg.norm)(np.ones(30)),
            "the Hessian is 100 % full, so it is not sparse; use hessian",
        ),
        (
            lambda: mo.sparse_jacobian(lambda x: x / np.sum(x))(np.ones(10**5)),
            "the Jacobian is not sparse, .*, at line \\d+; use jacobian",
        ),
        (
            lambda: mo.sparse_jacobian(returned)(np.ones(3)),
            "the function cannot be compiled, which is needed to find the entries; use jacobian",
        ),
    ],
)
def test_bad_input_is_an_error_that_says_what_to_do(call, text):
    with pytest.raises(mo.BadInput, match=text):
        call()


def test_a_function_that_changes_a_constant_argument_is_refused():
    def f(x, total):
        total += x
        return total

    with pytest.raises(mo.BadInput, match="changes an argument that is held constant; copy it"):
        mo.sparse_jacobian(f)(np.ones(3), np.zeros(3))


def test_a_direction_that_is_zero_contributes_nothing_beside_an_infinite_slope(target):
    found = mo.sparse_jacobian(lambda x: np.sqrt(x[1:]) + x[:-1], target=target)(np.array([1.0, 0.0, 4.0]))
    assert found.toarray().tolist() == [[1.0, np.inf, 0.0], [0.0, 1.0, 0.25]]


def test_a_function_compiled_again_and_again_is_warned_of_by_its_own_name():
    def differences(u, scale, more=None):
        return scale[0] * (u[1:] - u[:-1])

    jacobian = mo.sparse_jacobian(differences)
    with pytest.warns(RuntimeWarning) as caught:
        for n in range(2, 12):
            jacobian(np.ones(3), np.ones(n))
        for n in range(2, 12):
            mo.sparse_hessian(lambda v, more: (v**2).sum() * more["k"][0])(np.ones(n), more={"k": np.ones(n)})
    texts = [str(w.message) for w in caught]
    assert len(texts) == 2 and all(w.filename == __file__ for w in caught)
    assert re.match(
        r"sparse_jacobian of .*differences .* was compiled 8 times: the argument scale was float64\[2\]", texts[0]
    )
    assert re.match(r"sparse_hessian of .*<lambda> .* was compiled 8 times: the argument v was float64\[2\]", texts[1])
