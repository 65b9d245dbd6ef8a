"""Objects of library classes that hold the program's numbers, or call its functions, in compiled programs."""

import numpy as np
import pytest
from path_tester import check_gradient
from scipy.integrate import DOP853, RK23, RK45
from scipy.optimize import newton

SOLVERS = {"RK23": RK23, "RK45": RK45, "DOP853": DOP853}


def stepped_once(k, y):
    solver = RK45(lambda t, y: -k * y, 0.0, y, 1.0)
    solver.step()
    return np.sum(solver.y) + solver.t


def integrated(k, y, name):
    solver = SOLVERS[name](lambda t, y: np.array([y[1], -k * y[0]]), 0.0, y, 1.0)
    while solver.status == "running":
        solver.step()
    return solver.y[0] * solver.y[1]


class Counted:
    def __init__(self, k):
        self.k, self.calls = k, 0

    def __call__(self, x):
        self.calls += 1
        return x**3 - self.k


def root(k):
    f = Counted(k)
    return newton(f, 1.0) + 0.0 * f.calls


Y = np.array([1.0, -0.5])


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_a_step_of_a_solver(path):
    check_gradient(path, stepped_once, 1.3, Y, argnums=(0, 1), rtol=1e-5)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("path", ["eager", "native"])
def test_a_solver_stepped_to_the_end(path, name):
    check_gradient(path, integrated, 1.3, Y, name, argnums=(0, 1), rtol=1e-4)


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_a_root_of_a_callable_object(path):
    check_gradient(path, root, 1.3, rtol=1e-5)
