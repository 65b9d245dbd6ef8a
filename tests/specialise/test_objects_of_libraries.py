"""Objects of library classes that hold the program's numbers, or call its functions, in compiled programs."""

import importlib.util
from array import array

import numpy as np
import pytest
from path_tester import check_gradient
from scipy.integrate import DOP853, RK23, RK45
from scipy.optimize import newton

import morula as mo

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


def test_a_callable_object_of_a_library_that_holds_numbers_of_the_program_is_interpreted():
    def program(x):
        return np.poly1d([x, 1.0, x * x])(2.0)

    value, slope = mo.jit(mo.value_and_grad(program))(1.5)
    assert (value, slope) == pytest.approx((program(1.5), 4.0 + 3.0))


def test_a_module_is_imported_while_compiling():
    def program(x):
        module = importlib.import_module("xml.etree")
        absent = importlib.util.find_spec("a_module_that_does_not_exist") is None
        return x * len(module.__name__) * absent

    assert mo.jit(program)(1.5) == 1.5 * 9


def bytes_changed(x):
    found = bytearray(b"ab")
    if x > 0:
        found[0] = 5
        found.append(7)
        return x * sum(found)
    return x * sum(found)


def numbers_changed(x):
    found = array("d", [1.0, 2.0])
    if x > 0:
        found[0] = 5.0
    else:
        found[0] = 5.0
    found.append(2.0)
    return x * sum(found)


@pytest.mark.parametrize("f", [bytes_changed, numbers_changed])
@pytest.mark.parametrize("x", [1.5, -1.5])
def test_bytes_and_arrays_of_pythons_are_changed_on_their_path_only(f, x):
    assert mo.jit(f)(x) == f(x)


def test_bytes_that_change_in_a_loop_are_refused():
    def in_a_loop(x):
        found = bytearray(b"ab")
        while x > 0:
            found[0] = 5
            x = x - 1.0
        return x * found[0]

    with pytest.raises(mo.BadInput, match="a bytearray that changes in a loop"):
        mo.jit(in_a_loop)(1.5)


def test_map_without_an_iterable_raises_what_python_raises():
    def program(x):
        try:
            return sum(map(lambda v: v * x))
        except TypeError as error:
            return x * len(str(error))

    assert mo.jit(program)(1.5) == program(1.5)


def test_a_cached_property_of_an_object_that_numpy_keeps_is_not_stored_while_compiling():
    """``np.finfo`` returns one object at every call."""

    def f(x):
        return np.finfo(np.float32).tiny + x if x > 0.0 else x

    assert mo.jit(f, target="native")(1.0) == f(1.0)
    assert isinstance(np.finfo(np.float32).tiny, np.float32)
