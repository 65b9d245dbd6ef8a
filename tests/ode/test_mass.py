"""Mass matrices and differential-algebraic equations of index 1: M y' = f(t, y)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from path_tester import PATHS, check_gradient

import morula as mo
from morula.ode import METHODS, Event, consistent_start, odesolve
from morula.ode.mass import takes_singular

from .problems import akzo_nobel, diffusing_brusselator, driven, driven_exact, published

HALF = np.array([1.0, 0.0])
ABLE = [name for name, method in METHODS.items() if takes_singular(method)]


def akzo_nobel_dae(t, y, *k):
    """The process with the sixth concentration as an algebraic unknown."""
    *others, Ks = k
    slow = akzo_nobel(t, np.stack([y[0], y[1], y[2], y[3], y[4]]), *others, y[5] / (y[0] * y[3]))
    return np.append(slow, Ks * y[0] * y[3] - y[5])


def mixed(t, y, a):
    """x' = -x z + sin t, 0 = z^3 + a z - x - cos t."""
    return np.stack([-y[0] * y[1] + np.sin(t), y[1] ** 3 + a * y[1] - y[0] - np.cos(t)])


def start(x, a):
    return consistent_start(mixed, 0.0, np.stack([x, 0.5]), a, mass=HALF)


def test_the_methods_that_solve_algebraic_equations():
    assert {"rodas4", "rodas5p", "radau5", "radau9", "radau13", "bdf", "kvaerno5", "kencarp4", "trbdf2"} <= set(ABLE)
    assert not {"tsit5", "adams", "ros3p", "rosenbrock23", "auto", "trapezoid"} & set(ABLE)


@pytest.mark.parametrize("method", ["radau5", "radau9", "rodas5p", "kvaerno5", "bdf"])
def test_the_published_end_value_of_a_chemical_process(method):
    """Chemical Akzo Nobel, Test Set for IVP Solvers (Mazzia, Magherini): 6 components, 1 of them algebraic."""
    _, y0, span, k, expected = published("chemakzo_ode")
    y0, expected = np.append(y0, 0.35999964), np.append(expected, 0.004873531310307455)
    mass = np.append(np.ones(5), 0.0)
    y = odesolve(akzo_nobel_dae, y0, span, *k, method=method, mass=mass, rtol=1e-6, atol=1e-9).y[-1]
    assert np.allclose(y, expected, rtol=2e-5, atol=0)


@pytest.mark.parametrize("method, steps", [
    ("radau5", 10), ("rodas4", 20), ("rodas5p", 16), ("kvaerno3", 10), ("kvaerno4", 10), ("kvaerno5", 10),
    ("kencarp3", 10), ("kencarp4", 10), ("kencarp5", 10), ("trbdf2", 10), ("implicit_euler", 20),
])  # fmt: skip
def test_both_kinds_of_components_have_the_order_of_the_method(method, steps):
    exact = odesolve(mixed, start(1.0, 1.3), [0.0, 2.0], 1.3, method="radau13", mass=HALF, rtol=1e-12, atol=1e-13).y[-1]
    errors = [
        abs(
            odesolve(
                mixed, start(1.0, 1.3), [0.0, 2.0], 1.3, method=method, mass=HALF, steps=n, rtol=1e-11, atol=1e-12
            ).y[-1]
            - exact
        )
        for n in (steps, 2 * steps)
    ]
    orders = np.log2(errors[0] / errors[1])
    assert np.all(orders > METHODS[method].order - 0.4) and np.all(orders < METHODS[method].order + 1.5)


def test_bdf_and_dense_output_follow_the_tolerance():
    exact = odesolve(
        mixed, start(1.0, 1.3), [0.0, 2.0], 1.3, method="radau13", mass=HALF, rtol=1e-12, atol=1e-13, is_dense=True
    )
    times = np.linspace(0.0, 2.0, 17)
    for method in ("bdf", "radau5", "rodas5p", "kvaerno5"):
        y = odesolve(mixed, start(1.0, 1.3), times, 1.3, method=method, mass=HALF, rtol=1e-6, atol=1e-7).y
        assert exact.sol is not None and abs(y - exact.sol(times)).max() < 3e-4, method


@pytest.mark.parametrize("method", ["radau5", "rodas4", "bdf"])
def test_a_full_matrix_is_a_change_of_variables_and_equations(method):
    """With y = B u and the equations mixed by A: A M B u' = A f(t, B u)."""
    A, B = np.array([[2.0, 1.0], [-1.0, 1.0]]), np.array([[1.0, 0.5], [0.3, -1.0]])
    mass = A @ np.diag(HALF) @ B
    u = np.linalg.solve(B, start(1.0, 1.3))
    found = odesolve(
        lambda t, u: A @ mixed(t, B @ u, 1.3), u, [0.0, 1.0], method=method, mass=mass, rtol=1e-8, atol=1e-8
    )
    expected = odesolve(mixed, start(1.0, 1.3), [0.0, 1.0], 1.3, method=method, mass=HALF, rtol=1e-8, atol=1e-8)
    assert np.allclose(B @ found.y[-1], expected.y[-1], atol=1e-5)


@pytest.mark.parametrize("method", ["tsit5", "adams", "auto", "ros3p", "kvaerno5", "radau5", "bdf"])
@pytest.mark.parametrize("mass", [np.array([2.0, 0.5]), np.array([[2.0, 1.0], [0.5, 1.0]])], ids=["diagonal", "full"])
def test_a_regular_mass_for_any_method(method, mass):
    M = np.diag(mass) if mass.ndim == 1 else mass
    y = odesolve(
        lambda t, y: M @ driven(t, y), driven_exact(0.0), [0, 1], method=method, mass=mass, rtol=1e-7, atol=1e-7
    ).y
    assert np.allclose(y[-1], driven_exact(1.0), atol=1e-5)


@pytest.mark.parametrize("method", ["rosenbrock23", "ros3p", "exprb43", "trapezoid", "gauss4", "rodas5p", "radau5"])
@pytest.mark.parametrize("mass", [np.array([2.0, 0.5]), np.array([[2.0, 1.0], [0.5, 1.0]])], ids=["diagonal", "full"])
def test_a_jacobian_of_ones_own_is_that_of_f_with_a_mass_too(method, mass):
    """Methods that take the Jacobian into their formula would lose their order if it were not that of M^-1 f."""
    A = np.array([[-3.0, 1.0], [0.5, -2.0]])

    def end(jacobian):
        f = lambda t, y: A @ y * np.sum(y)  # noqa: E731
        return odesolve(f, np.array([1.0, 0.5]), [0.0, 1.0], method=method, steps=8, mass=mass, jacobian=jacobian).y[-1]

    assert np.allclose(end(lambda t, y: A * np.sum(y) + (A @ y)[:, None]), end(None), rtol=1e-9)


def test_a_mass_that_is_a_function():
    def mass(t, y, k):
        return np.array([[1.0 + y[0] ** 2, 0.0], [k, 1.0]])

    def f(t, y, k):
        return mass(t, y, k) @ driven(t, y)

    y = odesolve(f, driven_exact(0.0), [0, 1], 0.3, mass=mass, rtol=1e-8, atol=1e-8).y
    assert np.allclose(y[-1], driven_exact(1.0), atol=1e-6)


def test_a_mass_in_the_structure_of_the_state():
    def f(t, y):
        return {"x": -y["x"] * y["z"][0], "z": y["z"] - 2.0}

    solution = odesolve(f, {"x": 1.0, "z": np.array([2.0])}, [0, 1], method="radau5", mass={"x": 1.0, "z": np.zeros(1)})
    assert np.isclose(solution.y["x"][-1], np.exp(-2.0), rtol=1e-5) and np.allclose(solution.y["z"], 2.0)


class TestConsistentStart:
    def test_the_nearest_solution_with_the_same_differential_part(self):
        z = start(1.0, 1.3)
        assert z[0] == 1.0 and abs(mixed(0.0, z, 1.3)[1]) < 1e-14

    def test_its_derivative_is_that_of_the_root(self):
        root = start(1.0, 1.3)[1]
        slope = 1 / (3 * root**2 + 1.3)
        dx, da = mo.gradient(lambda x, a: start(x, a)[1], 1.0, 1.3)
        assert np.allclose([dx, da], [slope, -root * slope])

    def test_a_state_change_at_an_event_is_made_consistent(self):
        kick = Event(lambda t, y, a: t - 0.5, change=lambda t, y, a: np.stack([2.0 * y[0], y[1]]))
        after = odesolve(mixed, start(1.0, 1.3), [0.0, 1.0], 1.3, method="radau5", mass=HALF, events=kick, rtol=1e-8)
        half = odesolve(mixed, start(1.0, 1.3), [0.0, 0.5], 1.3, method="radau5", mass=HALF, rtol=1e-8).y[-1]
        again = consistent_start(mixed, 0.5, np.stack([2.0 * half[0], half[1]]), 1.3, mass=HALF)
        rest = odesolve(mixed, again, [0.5, 1.0], 1.3, method="radau5", mass=HALF, rtol=1e-8).y[-1]
        assert np.allclose(after.y[-1], rest, atol=1e-6)


def loss(x, a, m, method, **options):
    mass = np.stack([m, 0.0])
    return np.sum(odesolve(mixed, start(x, a), [0.0, 0.5], a, method=method, mass=mass, **options).y[1] ** 2)


@pytest.mark.parametrize("path, method", [("eager", "radau5"), ("native", "rodas5p"), ("xla", "kvaerno3")])
def test_gradients_agree_with_differences(path, method):
    check_gradient(path, lambda x, a, m: loss(x, a, m, method, steps=2, rtol=1e-12, atol=1e-12), 1.0, 1.3, 0.9)


def test_gradients_of_the_adaptive_loop():
    expected = mo.gradient(lambda *p: loss(*p, method="radau5", rtol=1e-8, atol=1e-9), 1.0, 1.3, 0.9)
    gradient = mo.grad(lambda *p: loss(*p, method="bdf", rtol=1e-7, atol=1e-8), (0, 1, 2))
    assert np.allclose(mo.jit(gradient, target="native")(1.0, 1.3, 0.9), expected, rtol=1e-4)


@pytest.mark.parametrize("path", PATHS)
def test_an_inconsistent_start_is_refused_with_its_residual(path):
    solve = lambda z: odesolve(mixed, np.stack([1.0, z]), [0.0, 1.0], 1.3, method="rodas4", mass=HALF).y[-1]  # noqa: E731
    run = solve if path == "eager" else mo.jit(solve, target=path)
    with pytest.raises(
        mo.BadInput, match=r"does not satisfy the algebraic equations at t = 0: .* residual is 1.23.*consistent_start"
    ):
        run(0.5)


@pytest.mark.parametrize("form", ["banded", "sparse", "krylov"])
def test_forms_of_the_jacobian(form):
    """A diffusing reaction, one of whose components is at rest at each time: v'' and the reaction are in balance."""
    pattern = scipy.sparse.diags_array([np.ones(12 - abs(k)) for k in range(-2, 3)], offsets=range(-2, 3))
    given = {"banded": (2, 2), "sparse": pattern, "krylov": "krylov"}[form]
    mass = np.tile([1.0, 0.0], 6)

    def end(form):
        f = lambda t, y: diffusing_brusselator(t, y, 1.0, 3.0, 0.02)  # noqa: E731
        y0 = consistent_start(f, 0.0, np.tile([1.2, 3.0], 6), mass=mass)
        return odesolve(f, y0, [0.0, 0.1], method="bdf", mass=mass, jacobian=form, rtol=1e-5, atol=1e-6).y[-1]

    assert np.allclose(end(given), end(None), rtol=1e-6)


@pytest.mark.parametrize("options, message", [
    ({"mass": HALF}, "mass is singular, and tsit5 solves no algebraic equations; choose one of .*rodas4.*radau5.*bdf"),
    ({"mass": np.ones((2, 2)), "method": "auto"}, "mass is singular, and auto solves no algebraic equations"),
    ({"mass": np.ones((2, 3))}, r"mass has shape \(2, 3\) and dtype float64; the state has 2 components"),
    ({"mass": np.ones(3)}, r"mass has shape \(3,\) .* the state there has shape \(2,\)"),
    ({"mass": np.array([1.0, np.nan])}, "mass holds a value that is not finite"),
    ({"mass": np.array([1.0, 1j])}, "mass is complex; expected real numbers"),
    ({"mass": np.eye(2), "method": "rodas4", "jacobian": (1, 1)}, "the Jacobian is banded or sparse: give the diagonal"),
    ({"mass": lambda t, y, a: np.ones(2)}, r"mass returned shape \(2,\); the state has 2 components: expected \(2, 2\)"),
    ({"mass": lambda t, y, a: np.eye(2), "method": "ros3p", "jacobian": (0, 1)}, "mass is a function, so that the Jacobian of"),
    ({"mass": lambda t, y, a: np.eye(2), "method": "ros3p", "jacobian": lambda t, y, a: np.eye(2)}, "leave out jacobian"),
])  # fmt: skip
def test_what_is_wrong_with_a_mass_is_said(options, message):
    with pytest.raises(mo.BadInput, match=message):
        odesolve(mixed, np.array([1.0, 0.8]), [0.0, 1.0], 1.3, **options)


def test_a_function_for_the_mass_needs_a_vector():
    with pytest.raises(mo.BadInput, match="mass is a function, which needs a state that is a vector"):
        odesolve(lambda t, y: -y, 1.0, [0.0, 1.0], mass=lambda t, y: np.eye(1))


def test_equations_of_a_higher_index_are_refused():
    """The pendulum with its constraint on positions has index 3."""

    def pendulum(t, y):
        x, v, tension = y[:2], y[2:4], y[4]
        return np.concatenate([v, -tension * x - np.array([0.0, 9.81]), [np.sum(x * x) - 1.0]])

    with pytest.raises(
        mo.BadInput, match="do not determine the state at t = 0: their Jacobian is singular.* of index 1"
    ):
        odesolve(pendulum, np.array([1.0, 0, 0, 0, 0]), [0, 1], method="radau5", mass=np.array([1.0, 1, 1, 1, 0]))


def test_a_start_that_cannot_be_made_consistent():
    with pytest.raises(
        mo.BadInput, match="no state that satisfies the algebraic equations at t = 0 was found by Newton"
    ):
        consistent_start(lambda t, y: np.stack([y[0], 1.0 + y[1] ** 2]), 0.0, np.array([1.0, 0.5]), mass=HALF)
    with pytest.raises(mo.BadInput, match="consistent_start needs a mass"):
        consistent_start(mixed, 0.0, np.array([1.0, 0.5]), 1.3, mass=None)
