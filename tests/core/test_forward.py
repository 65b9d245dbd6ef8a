"""Forward mode on every path: ``jvp``, ``linearize``, ``jacfwd``, ``hvp`` and custom tangents."""

from __future__ import annotations

import copy
import gc
import math
import tracemalloc

import numpy as np
import pytest
from forward_programs import PROGRAMS, Oscillator, of_shared_array
from path_tester import PATHS, check_tangent, run_on

import morula as mo
from morula.core.errors import BadInput, NoDerivative


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f, args", PROGRAMS, ids=[getattr(f, "__name__", "f") for f, _ in PROGRAMS])
def test_a_tangent_is_the_product_of_the_gradient_and_the_direction(f, args, path):
    gradient = mo.gradient(f, *copy.deepcopy(args))
    rtol = 1e-4 if any(getattr(a, "dtype", None) == np.float32 for a in args) else 1e-9
    check_tangent(path, f, args, tuple(range(len(args))), gradient, rtol)


def structures(x, n, p):
    return {"sum": x + p["a"], "all": [x * 2, (n, np.arange(2)), "text", None], "flag": True, "still": 3.0}


@pytest.mark.parametrize("path", PATHS)
def test_tangents_have_the_structure_of_arguments_and_results(path):
    y, dy = run_on(path)(along)(2.0, 3)
    assert y["sum"] == 7.0 and y["all"][0] == 4.0 and y["flag"] is True
    assert dy["sum"] == 11.0 and dy["all"][0] == 2.0 and dy["all"][1][1] is None and dy["all"][1][0] == 0
    assert dy["all"][2] is None and dy["all"][3] is None and dy["flag"] is None and dy["still"] == 0.0


def along(x, n):
    return mo.jvp(structures, (x, n, {"a": 5.0, "b": 1.0}), (1.0, None, {"a": 10.0}))


@pytest.mark.parametrize("path", PATHS)
def test_an_int_without_a_tangent_remains_an_int(path):
    assert run_on(path)(power_along)(3.0) == (27.0, 27.0)
    assert mo.jvp(lambda x, n: x**n, (5, 3), (1, 0)) == (125, 75)


def power_along(x):
    return mo.jvp(lambda x, n: math.prod([x for _ in range(n)]), (x, 3), (1.0, None))


@pytest.mark.parametrize("path", PATHS)
def test_two_results_that_are_one_value_have_their_own_derivatives(path):
    assert run_on(path)(twice_forward)(2.0) == ((2.0, 2.0), (1.0, 10.0))
    assert run_on(path)(twice_reverse)(2.0) == (1.0, 10.0)


def twice_forward(a):
    return mo.jvp(lambda x, y: (x, y), (a, a), (1.0, 10.0))


def twice_reverse(a):
    return mo.pullback(lambda x, y: (x, y), a, a)[1]((1.0, 10.0))


# Nested derivatives


def derivative(f):
    return lambda x: mo.jvp(f, (x,), (1.0,))[1]


def mixed(f, order):
    """Derivatives of this order, by forward and reverse mode in turns."""
    for n in range(order):
        f = derivative(f) if n % 2 else mo.grad(f)
    return f


def with_control_flow(x):
    y = x
    for i in range(3):
        y = y * x if i % 2 else y + x * x * x
    return y * x if x > 0 else y


@pytest.mark.parametrize("path", PATHS)
def test_modes_may_be_nested(path):
    on = run_on(path)
    cube = lambda x: x**3  # noqa: E731
    for outer, inner in ((derivative, derivative), (derivative, mo.grad), (mo.grad, derivative), (mo.grad, mo.grad)):
        assert on(outer(inner(cube)))(2.0) == pytest.approx(12.0)


def five_times(f):
    return derivative(derivative(derivative(derivative(derivative(f)))))


@pytest.mark.parametrize("path", PATHS)
def test_five_levels(path):
    """y = (2 x^3 + x) x, written with a loop and a branch, for the x^8 and lower terms: differences of exact derivatives."""
    polynomial = np.polynomial.Polynomial([0, 1])
    y = polynomial
    for i in range(3):
        y = y * polynomial if i % 2 else y + polynomial**3
    expected = (y * polynomial).deriv(5)(1.3)
    assert run_on(path)(five_times(with_control_flow))(1.3) == pytest.approx(expected)
    assert run_on(path)(mixed(with_control_flow, 5))(1.3) == pytest.approx(expected)


# Memory, and what forward mode goes through


def long_run(x, n):
    y, history = x, np.zeros(4)
    for i in range(n):
        y = y - 0.01 * math.sin(y) * x
        history[i % 4] = y * x
    return y + history.sum()


def test_memory_does_not_grow_with_the_program():
    peaks = []
    mo.jvp(long_run, (1.1, 100), (1.0, None))
    for n in (5_000, 30_000):
        gc.collect()
        tracemalloc.start()
        _, dy = mo.jvp(long_run, (1.1, n), (1.0, None))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert dy == pytest.approx(mo.jit(mo.grad(long_run))(1.1, n), abs=1e-12)
    assert peaks[1] < 1.5 * peaks[0] < 3e6


def test_large_arrays_are_freed_while_the_program_runs():
    def f(x):
        a = x * np.ones(100_000)
        for _ in range(50):
            a = np.sin(a) + x
        return a.sum()

    mo.jvp(f, (1.0,), (1.0,))
    gc.collect()
    tracemalloc.start()
    mo.jvp(f, (1.0,), (1.0,))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 800_000


def test_a_solver_of_scipy_is_differentiated_by_the_linearised_equation():
    optimize = pytest.importorskip("scipy.optimize")

    def f(a):
        x = optimize.brentq(lambda x: x**3 + a * x - 1.0, 0.0, 1.0)
        y = optimize.root(lambda v: np.array([v[0] + v[1] - a, v[0] * v[1] - 0.2]), np.array([0.3, 0.7]), tol=1e-13).x
        return x * y[0]

    assert mo.jvp(f, (1.2,), (1.0,))[1] == pytest.approx(mo.grad(f)(1.2))


@pytest.mark.parametrize("path", PATHS)
def test_implicit_functions(path):
    assert run_on(path)(derivative(square_root))(4.0) == pytest.approx(0.25)
    assert run_on(path)(derivative(derivative(square_root)))(4.0) == pytest.approx(-1 / 32)


def square_root(a):
    x = mo.constant(lambda a: a**0.5)(a)
    return mo.implicit(x, lambda x: x * x - a)


def test_an_iterative_solver_of_an_implicit_function_is_given_the_jacobian_itself():
    m = np.array([[3.0, 1.0], [0.5, 2.0]])

    def solve(apply, b):
        return np.linalg.solve(np.stack([apply(e) for e in np.eye(2)], axis=1), b)

    def f(b):
        x = mo.constant(lambda b: np.linalg.solve(m, b))(b)
        return mo.implicit(x, lambda x: m @ x - b, solve)

    np.testing.assert_allclose(mo.jvp(f, (np.ones(2),), (np.array([1.0, 3.0]),))[1], np.linalg.solve(m, [1.0, 3.0]))


@pytest.mark.parametrize("path", PATHS)
def test_zero_is_zero(path):
    def f(x, y):
        return np.sum(np.sqrt(x) * y) + np.sum(np.where(x > 0, np.log(x), 0.0))

    with np.errstate(all="ignore"):
        push = run_on(path)(lambda dx, dy: mo.jvp(f, (np.array([0.0, 4.0]), np.ones(2)), (dx, dy))[1])
        assert push(np.array([0.0, 1.0]), np.array([1.0, 1.0])) == pytest.approx(0.25 + 2.0 + 0.25)


def test_an_infinite_factor_beside_a_tangent_of_zero():
    m = np.array([[1.0, np.inf], [2.0, 3.0]])
    assert mo.jvp(lambda x: (m @ x)[1] + 0 * x[0], (np.ones(2),), (np.array([1.0, 0.0]),))[1] == 2.0
    np.testing.assert_array_equal(mo.jvp(lambda x: m @ x, (np.ones(2),), (np.array([1.0, 0.0]),))[1], [1.0, 2.0])


# Linear maps and matrices


@pytest.mark.parametrize("path", PATHS)
def test_linearize_runs_once_and_maps_any_tangent(path):
    y, columns = run_on(path)(linearized)(np.array([1.0, 2.0, 0.5]), 3.0)
    x = np.array([1.0, 2.0, 0.5])
    np.testing.assert_allclose(y["a"], 3 * np.sin(x))
    np.testing.assert_allclose(columns[0], [3 * np.cos(1.0), 0, 0])
    np.testing.assert_allclose(columns[1], np.sin(x))


def linearized(x, s):
    y, push = mo.linearize(lambda x, s: {"a": s * np.sin(x), "n": 2}, x, s)
    return y, [push(np.array([1.0, 0.0, 0.0]), None)["a"], push(None, 1.0)["a"]]


def test_linearize_calls_its_function_once():
    calls = []

    def f(x):
        calls.append(x)
        return x**2

    _, push = mo.linearize(f, 3.0)
    assert push(1.0) == 6.0 and push(2.0) == 12.0 and len(calls) == 1


def model(p):
    return {"y": p["w"] @ p["x"], "s": np.sum(p["w"]) * p["b"]}


PARAMETERS = {"w": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "x": np.array([0.5, -1.0]), "b": 2.0}


@pytest.mark.parametrize("path", PATHS)
def test_jacobians_by_either_mode_agree(path):
    expected = mo.jacobian(model, mode="reverse")(PARAMETERS)
    for f in (mo.jacfwd(model), mo.jacobian(model)):
        found = run_on(path)(f)(PARAMETERS)
        for leaf in ("y", "s"):
            for key in PARAMETERS:
                np.testing.assert_allclose(found[leaf][key], expected[leaf][key])


@pytest.mark.parametrize("path", PATHS)
def test_hessians_and_products_with_them(path):
    def f(x):
        return np.sum(np.exp(x) * x[::-1] ** 2)

    x, v = np.array([0.2, 1.0, -0.4]), np.array([1.0, 2.0, 0.5])
    expected = mo.hessian(f, mode="reverse")(x)
    np.testing.assert_allclose(run_on(path)(mo.hessian(f, mode="forward"))(x), expected)
    np.testing.assert_allclose(run_on(path)(mo.hessian(f))(x), expected)
    np.testing.assert_allclose(run_on(path)(lambda x, v: mo.hvp(f, x, v))(x, v), expected @ v)


def test_hvp_takes_dicts_and_objects():
    def f(p):
        return p["k"] * np.sum(p["m"].x ** 3) * p["m"].k

    p = {"k": 2.0, "m": Oscillator(0.5, np.array([1.0, 2.0]))}
    v = {"k": 1.0, "m": Oscillator(0.0, np.array([0.0, 1.0]))}
    found = mo.hvp(f, p, v)
    expected = mo.grad(lambda p: mo.grad(f)(p)["k"] + mo.grad(f)(p)["m"].x[1])(p)
    assert found["k"] == pytest.approx(expected["k"])
    np.testing.assert_allclose(found["m"].x, expected["m"].x)
    assert found["m"].k == pytest.approx(expected["m"].k)


@pytest.mark.parametrize("path", PATHS)
def test_forwarddiff_within_reverse_mode(path):
    def f(x):
        return np.sum(mo.forwarddiff(lambda u: np.array([u[0] * u[1], u[1] ** 2, u[0]]), x) ** 2)

    x = np.array([2.0, 3.0])
    np.testing.assert_allclose(run_on(path)(mo.grad(f))(x), [2 * 6 * 3 + 4, 2 * 6 * 2 + 4 * 27])


# Custom tangents


def softplus(x):
    return np.log1p(np.exp(x))


@mo.tangent(softplus)
def _(x):
    return np.logaddexp(0.0, x), lambda dx: dx / (1 + np.exp(-x))


def scaled(x, p):
    return [x * p["a"], {"b": p["a"]}]


@mo.tangent(scaled)
def _(x, p):
    return scaled(x, p), lambda dx, dp: [100 * dx * p["a"] + x * dp["a"], {"b": 7 * dp["a"]}]


both = lambda x: x * 1.0  # noqa: E731


@mo.tangent(both)
def _(x):
    return x * 1.0, lambda dx: 2 * dx


@mo.adjoint(both)
def _(x):
    return x * 1.0, lambda dy: 3 * dy


@pytest.mark.parametrize("path", PATHS)
def test_a_custom_tangent_serves_both_modes(path):
    on = run_on(path)
    slope = 1 / (1 + math.exp(-0.3))
    for derive in (derivative, mo.grad):
        assert on(derive(softplus))(0.3) == pytest.approx(slope)
        assert on(derivative(derive(softplus)))(0.3) == pytest.approx(slope * (1 - slope))
    assert on(derivative(softplus))(800.0) == 1.0


@pytest.mark.parametrize("path", PATHS)
def test_a_custom_tangent_of_structures(path):
    assert run_on(path)(scaled_along)(3.0, 2.0) == ((203.0, 7.0), (200.0, 10.0))


def scaled_along(x, a):
    dy = mo.jvp(lambda x, a: scaled(x, {"a": a}), (x, a), (1.0, 1.0))[1]
    gradient = mo.pullback(lambda x, a: scaled(x, {"a": a}), x, a)[1]([1.0, {"b": 1.0}])
    return (dy[0], dy[1]["b"]), gradient


@pytest.mark.parametrize("path", PATHS)
def test_with_both_each_mode_uses_its_own(path):
    assert run_on(path)(derivative(lambda x: both(x)))(1.0) == 2.0
    assert run_on(path)(mo.grad(lambda x: both(x)))(1.0) == 3.0


@pytest.mark.parametrize("path", PATHS)
def test_an_adjoint_is_transposed_in_forward_mode(path):
    assert run_on(path)(derivative(lambda x: reversed_only(x) * x))(3.0) == pytest.approx(10 * 3 + 6)


def reversed_only(x):
    return 2 * x


@mo.adjoint(reversed_only)
def _(x):
    return 2 * x, lambda dy: 10 * dy


# Bad input


@pytest.mark.parametrize(
    "primals, tangents, message",
    [
        (2.0, (1.0,), "takes primals as a tuple with one entry for each positional argument, not a float"),
        ((2.0,), 1.0, "takes tangents as a tuple"),
        ((2.0, 3.0), (1.0,), "was given 2 primals and 1 tangents"),
        ((np.ones(2),), (np.ones(3),), r"tangents\[0\] has shape \(3,\), but the argument has shape \(2,\)"),
        ((np.ones(2),), (1.0,), r"tangents\[0\] has shape \(\), but the argument has shape \(2,\)"),
        ((2.0,), (1j,), r"tangents\[0\] is complex, but the argument is real"),
        (({"a": 1.0},), ({"b": 1.0},), r"tangents\[0\]\['b'\] has no counterpart in primals"),
        (({"a": 1.0},), ([1.0],), r"tangents\[0\] is a list: expected the structure of primals, a dict"),
        (([1.0, 2.0],), ([1.0],), r"tangents\[0\] has 1 entries: expected 2"),
    ],
)
@pytest.mark.parametrize("path", PATHS[:2])
def test_tangents_that_do_not_fit(primals, tangents, message, path):
    with pytest.raises(BadInput, match=message):
        run_on(path)(lambda p: mo.jvp(lambda *args: args[0], p, tangents))(primals)


def test_a_tangent_that_is_no_number():
    with pytest.raises(BadInput, match=r"tangents\[0\] is a str: a tangent is a number or an array of numbers"):
        mo.jvp(lambda x: x, (2.0,), ("1",))
    with pytest.raises(BadInput, match=r"has dtype bool: a tangent is a number"):
        mo.jvp(lambda x: x, (np.ones(2),), (np.ones(2, bool),))
    with pytest.raises(BadInput, match="expected a function, not a float"):
        mo.jvp(2.0, (2.0,), (1.0,))


def test_two_tangents_for_one_array():
    x = np.ones(2)
    with pytest.raises(
        BadInput, match=r"primals\[0\]\[0\] and primals\[0\]\[1\] are the same array, which has one tangent"
    ):
        mo.jvp(of_shared_array, ([x, x],), ([np.ones(2), np.zeros(2)],))
    once = mo.jvp(of_shared_array, ([x, x],), ([np.ones(2), None],))
    assert once == (2.0, 6.0)


def wrong(x):
    return x, x


@mo.tangent(wrong)
def _(x):
    return (x, x), lambda dx: (dx, dx, dx)


def of_wrong_shape(x):
    return x * 1


@mo.tangent(of_wrong_shape)
def _(x):
    return x * 1, lambda dx: dx[:1]


def no_pair(x):
    return x


@mo.tangent(no_pair)
def _(x):
    return x


@pytest.mark.parametrize("path", PATHS[:2])
def test_a_custom_tangent_that_does_not_fit(path):
    with pytest.raises(
        BadInput, match=r"the tangent of wrong .* does not fit its result: .* has 3 entries: expected 2"
    ):
        run_on(path)(derivative(lambda x: wrong(x)[0]))(1.0)
    with pytest.raises(
        BadInput, match=r"does not fit its result: it has shape \(1,\), and the result has shape \(2,\)"
    ):
        run_on(path)(lambda x: mo.jvp(of_wrong_shape, (x,), (x,)))(np.ones(2))
    with pytest.raises(BadInput, match=r"the tangent of no_pair .* must return \(y, push\)"):
        run_on(path)(derivative(no_pair))(1.0)


def test_what_has_no_derivative_is_refused_where_it_reaches_the_result():
    with pytest.raises(NoDerivative, match="changes or looks at a cotangent, and forward mode has none"):
        mo.jvp(lambda x: mo.hook(lambda dx: 2 * dx, x), (1.0,), (1.0,))
    assert mo.jvp(lambda x: x * mo.stop_gradient(x), (3.0,), (1.0,)) == (9.0, 3.0)
    special = pytest.importorskip("scipy.special")
    with pytest.raises(NoDerivative, match="has no known derivative"):
        mo.jvp(lambda v: special.jve(v, 2.0), (1.5,), (1.0,))
    assert mo.jvp(lambda v: (special.jve(v, 2.0), v)[1], (1.5,), (1.0,)) == (1.5, 1.0)


def test_modes_of_a_jacobian():
    with pytest.raises(BadInput, match="mode of jacobian must be 'auto', 'forward' or 'reverse', not 'fwd'"):
        mo.jacobian(lambda x: x, mode="fwd")
    with pytest.raises(BadInput, match="jacobian needs real numbers"):
        mo.jacfwd(lambda z: z)(1j)


def test_tangents_go_through_compiled_functions_with_any_result():
    x, dx = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    f = mo.jit(lambda a: (np.sum(a[0]), {"cubes": a[0] ** 3 * a[1]}))
    (total, cubes), (dtotal, dcubes) = mo.jvp(lambda x: f([x, 2.0]), (x,), (dx,))
    assert (total, dtotal) == (3.0, 1.0) and dcubes["cubes"].tolist() == [6.0, 0.0]
    energy = mo.jit(lambda x: np.sum(x**3))
    assert mo.hvp(energy, x, dx).tolist() == [6.0, 0.0]
    assert mo.jvp(mo.grad(energy), (x,), (dx,))[1].tolist() == [6.0, 0.0]
