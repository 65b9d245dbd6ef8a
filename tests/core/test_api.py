"""The arguments and results of the public functions."""

from __future__ import annotations

import io
import math
import pickle
import subprocess
import sys
import threading
from contextlib import redirect_stdout

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders

approx = pytest.approx


def product(x, y):
    return x * y**2


# gradient, grad, value_and_grad


def test_gradient_returns_one_entry_per_argument():
    assert mo.gradient(product, 2.0, 3.0) == (9.0, 12.0)
    assert mo.gradient(lambda: 1.0) == ()


def test_gradient_passes_keyword_arguments_on():
    assert mo.gradient(product, 2.0, y=3.0) == (9.0,)


def test_grad_differentiates_the_first_argument():
    assert mo.grad(product)(2.0, 3.0) == 9.0


@pytest.mark.parametrize(
    ("argnums", "expected"), [(0, 9.0), (1, 12.0), (-1, 12.0), ((1,), (12.0,)), ((1, 0), (12.0, 9.0))]
)
def test_grad_takes_argnums(argnums, expected):
    assert mo.grad(product, argnums)(2.0, 3.0) == expected
    assert mo.grad(product, argnums=argnums)(2.0, 3.0) == expected


def test_grad_with_aux():
    def f(x, scale):
        return x**2 * scale, {"norm": abs(x), "text": "t"}

    assert mo.grad(f, has_aux=True)(3.0, 2.0) == (12.0, {"norm": 3.0, "text": "t"})
    assert mo.grad(f, argnums=(0, 1), has_aux=True)(3.0, 2.0)[0] == (12.0, 9.0)


def test_value_and_grad():
    assert mo.value_and_grad(product)(2.0, 3.0) == (18.0, 9.0)
    assert mo.value_and_grad(product, argnums=(0, 1))(2.0, 3.0) == (18.0, (9.0, 12.0))


def test_value_and_grad_with_aux():
    (y, aux), g = mo.value_and_grad(lambda x: (x**2, [x]), has_aux=True)(3.0)
    assert (y, aux, g) == (9.0, [3.0], 6.0)


def test_grad_of_a_pytree_returns_a_pytree():
    params = {"w": np.ones((2, 2)), "b": [0.5]}
    g = mo.grad(lambda p, x: (p["w"] @ x).sum() * p["b"][0])(params, np.array([1.0, 2.0]))
    assert g["w"].tolist() == [[0.5, 1.0]] * 2 and g["b"] == [6.0]


def test_grad_has_the_name_and_docstring_of_its_function():
    def energy(x):
        """Half the square."""
        return x * x / 2

    assert "energy" in mo.grad(energy).__name__
    assert mo.grad(energy).__doc__


def test_a_gradient_is_taken_anew_at_each_call():
    df = mo.grad(lambda x: x**3)
    assert [df(x) for x in (1.0, 2.0, 3.0)] == [3.0, 12.0, 27.0]


def test_a_scalar_may_be_a_numpy_number_or_a_zero_dimensional_array():
    assert mo.grad(lambda x: np.float64(x) * 2)(1.5) == 2.0
    assert mo.grad(lambda a: np.asarray(a.sum()))(np.ones(2)).tolist() == [1.0, 1.0]
    assert mo.grad(lambda n: n * n)(3) == 6


# vjp, pullback


def test_vjp_returns_the_value_and_a_pullback():
    y, back = mo.vjp(product, 2.0, 3.0)
    assert y == 18.0 and back(1.0) == (9.0, 12.0) and back(10.0) == (90.0, 120.0)


def test_pullback_is_vjp():
    y, back = mo.pullback(product, 2.0, y=3.0)
    assert y == 18.0 and back(1.0) == (9.0,)


def test_vjp_of_an_array_function_takes_an_array_cotangent():
    a, x = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, -1.0])
    y, back = mo.vjp(lambda a, x: a @ x, a, x)
    dy = np.array([1.0, 10.0])
    da, dx = back(dy)
    assert y.tolist() == (a @ x).tolist()
    assert da.tolist() == np.outer(dy, x).tolist() and dx.tolist() == (a.T @ dy).tolist()


def test_vjp_of_a_structured_result_takes_a_structured_cotangent():
    def f(x):
        return {"square": x * x, "rest": (np.array([x, 2 * x]), None, "name")}

    y, back = mo.vjp(f, 3.0)
    assert y["square"] == 9.0 and y["rest"][2] == "name"
    assert back({"square": 1.0, "rest": (np.array([10.0, 100.0]), None, None)}) == (216.0,)


def test_a_pullback_may_be_called_after_others_were_made():
    y1, back1 = mo.vjp(lambda x: x**2, 2.0)
    y2, back2 = mo.vjp(lambda x: x**3, 3.0)
    assert (back1(1.0), back2(1.0), back1(1.0)) == ((4.0,), (27.0,), (4.0,))


# jacobian, hessian


@pytest.mark.parametrize(
    ("f", "x", "shape"),
    [
        (lambda x: x**2, 2.0, ()),
        (lambda v: (v**2).sum(), np.ones(3), (3,)),
        (lambda x: x * np.ones(4), 2.0, (4,)),
        (lambda v: np.outer(v, v), np.ones(3), (3, 3, 3)),
        (lambda m: m[0] * m[1], np.ones((2, 5)), (5, 2, 5)),
        (lambda v: v[:0], np.ones(3), (0, 3)),
    ],
    ids=["scalar-scalar", "scalar-vector", "vector-scalar", "matrix-vector", "vector-matrix", "empty"],
)
def test_a_jacobian_has_the_results_shape_then_the_arguments(f, x, shape):
    assert np.shape(mo.jacobian(f)(x)) == shape


def test_a_jacobian_of_a_linear_map_is_its_matrix():
    a = np.arange(6.0).reshape(2, 3)
    assert mo.jacobian(lambda x: a @ x)(np.ones(3)).tolist() == a.tolist()


def test_a_jacobian_by_the_second_argument():
    j = mo.jacobian(lambda a, x: np.sin(a) * x, argnums=1)(np.array([0.5, 1.0]), np.array([1.0, 2.0]))
    assert j == approx(np.diag(np.sin([0.5, 1.0])))


def test_a_hessian_has_the_arguments_shape_twice():
    assert mo.hessian(lambda x: x**3)(2.0) == approx(12.0)
    h = mo.hessian(lambda s, v: s * (v**3).sum(), argnums=1)(2.0, np.array([1.0, 2.0]))
    assert h == approx(np.diag([12.0, 24.0]))


# adjoint


def test_adjoint_replaces_the_derivative():
    def f(x):
        return x * x

    @mo.adjoint(f)
    def f_adjoint(x):
        return x * x, lambda dy: (100.0 * dy,)

    assert f(3.0) == 9.0
    assert mo.gradient(f, 3.0) == (100.0,)
    assert mo.gradient(lambda x: f(x) * x, 3.0) == (309.0,)


def test_adjoint_of_one_argument_may_return_the_cotangent_alone():
    def f(x):
        return x * x

    @mo.adjoint(f)
    def f_adjoint(x):
        return x * x, lambda dy: 100.0 * dy

    assert mo.gradient(f, 3.0) == (100.0,)


def test_adjoint_makes_an_opaque_function_differentiable():
    from scipy.special import pro_cv  # compiled, and without a rule

    characteristic = type("Opaque", (), {"__call__": lambda self, x: float(pro_cv(1, 1, x))})()

    def f(x):
        return characteristic(x)

    def slope(x):
        return ridders(lambda h: float(pro_cv(1, 1, x + h)), 0.01)[0]

    @mo.adjoint(f)
    def f_adjoint(x):
        return f(x), lambda dy: (dy * slope(x),)

    assert mo.gradient(lambda x: f(x) ** 2, 0.5)[0] == approx(2 * f(0.5) * slope(0.5))


def test_adjoint_with_arrays_keywords_and_arguments_without_derivative():
    def f(a, mode, scale, *, shift=0.0):
        return (a * scale).sum() + shift if mode == "sum" else 0.0

    @mo.adjoint(f)
    def f_adjoint(a, mode, scale, *, shift=0.0):
        return f(a, mode, scale, shift=shift), lambda dy: (dy * 7 * np.ones_like(a), None, dy * 9)

    a = np.ones(2)
    da, dmode, dscale = mo.gradient(lambda a, m, s: f(a, m, s, shift=1.0), a, "sum", 2.0)
    assert da.tolist() == [7.0, 7.0] and dmode is None and dscale == 9.0


def test_adjoint_is_not_called_where_nothing_is_differentiated():
    def f(x):
        return x * x

    calls = []

    @mo.adjoint(f)
    def f_adjoint(x):
        calls.append(x)
        return x * x, lambda dy: (dy,)

    assert f(3.0) == 9.0 and calls == []


def test_adjoint_in_a_loop_accumulates():
    def square(x):
        return x * x

    @mo.adjoint(square)
    def square_adjoint(x):
        return x * x, lambda dy: (dy * 2 * x,)

    def f(x):
        for _ in range(3):
            x = square(x) * 0.9
        return x

    assert mo.gradient(f, 1.1)[0] == approx(8 * 0.9**7 * 1.1**7)


def test_adjoint_of_a_method():
    class Model:
        def __init__(self, k):
            self.k = k

        def square(self, x):
            return self.k * x * x

    @mo.adjoint(Model.square)
    def square_adjoint(self, x):
        return self.k * x * x, lambda dy: (None, dy * 50.0)

    assert mo.gradient(lambda x: Model(2.0).square(x), 3.0) == (50.0,)


# hook, checkpoint, stop_gradient, nestlevel, forwarddiff


def test_hook_sees_the_cotangent():
    seen = []

    def see(dy):
        seen.append(dy)
        return dy

    def f(x):
        y = mo.hook(see, x * x)
        return 3 * y

    assert f(2.0) == 12.0 and seen == []
    assert mo.gradient(f, 2.0) == (12.0,) and seen == [3.0]


def test_hook_changes_the_cotangent():
    assert mo.gradient(lambda x: mo.hook(lambda dy: -dy, x) * 2 + x, 5.0) == (-1.0,)
    (g,) = mo.gradient(lambda a: (mo.hook(lambda dy: np.clip(dy, -1, 1), a) ** 2).sum(), np.array([0.1, 3.0, -3.0]))
    assert g.tolist() == [0.2, 1.0, -1.0]


def test_checkpoint_recomputes_and_changes_nothing_else():
    class Calls:
        count = 0

    def g(x, y, k=2):
        Calls.count += 1
        return math.sin(x) * y**k

    y, back = mo.vjp(lambda x, y: mo.checkpoint(g, x, y) * x, 0.7, 1.3)
    assert Calls.count == 1
    expected = mo.gradient(lambda x, y: math.sin(x) * y**2 * x, 0.7, 1.3)
    assert back(1.0) == approx(expected) and Calls.count == 2
    assert mo.checkpoint(g, 0.7, 1.3) == math.sin(0.7) * 1.3**2


def test_checkpoint_of_a_closure_over_an_active_value():
    def f(x):
        return mo.checkpoint(lambda y: x * y * y, x + 1)

    assert mo.gradient(f, 2.0)[0] == approx(9.0 + 12.0)


def test_checkpoint_of_arrays_in_a_loop():
    w = np.array([[0.5, -0.3], [0.2, 0.8]])

    def run(wrap):
        def f(w, x):
            for _ in range(4):
                x = wrap(lambda w, x: np.tanh(w @ x + 0.1), w, x)
            return (x * x).sum()

        return mo.gradient(f, w, np.array([1.0, -1.0]))

    for a, b in zip(run(mo.checkpoint), run(lambda g, *args: g(*args)), strict=True):
        assert a == approx(b)


def test_stop_gradient_passes_the_value_and_no_cotangent():
    assert mo.stop_gradient(3.0) == 3.0
    assert mo.gradient(lambda x: x * mo.stop_gradient(x * x), 3.0) == (9.0,)
    (g,) = mo.gradient(lambda a: (a * mo.stop_gradient({"k": [a]})["k"][0]).sum(), np.array([1.0, 2.0]))
    assert g.tolist() == [1.0, 2.0]


def test_nestlevel_counts_the_gradients_around_it():
    levels = []

    def f(x):
        levels.append(mo.nestlevel())
        return x * x

    f(1.0)
    mo.grad(f)(1.0)
    mo.grad(lambda x: x * mo.grad(f)(x))(1.0)
    assert levels == [0, 1, 2] and mo.nestlevel() == 0


def test_forwarddiff_gives_the_same_gradient():
    def f(v):
        return (np.sin(v) * v[0]).sum()

    v = np.array([0.5, 1.0])
    assert mo.forwarddiff(f, v) == approx(f(v))
    assert mo.gradient(lambda v: mo.forwarddiff(f, v) * 2, v)[0] == approx(2 * mo.gradient(f, v)[0])
    assert mo.gradient(lambda x: mo.forwarddiff(lambda t: t**3, x) * x, 1.5)[0] == approx(4 * 1.5**3)


# show, ir, testing


def captured(call):
    with redirect_stdout(io.StringIO()) as out:
        result = call()
    return out.getvalue() + ("" if result is None else str(result))


def polynomial(coefficient, point):
    total = 0.0
    for power in range(3):
        total += coefficient * point**power
    return total


def test_show_prints_runnable_python_with_the_users_names():
    text = captured(lambda: mo.show(polynomial))
    compile(text, "<shown>", "exec")
    for name in ("polynomial", "coefficient", "point", "total", "power"):
        assert name in text


def test_show_of_a_lambda_and_of_a_function_with_branches():
    def f(x):
        if x > 0:
            return x * x
        while x < 0:
            x += 1.0
        return x

    for g in (f, lambda x: x * 2):
        compile(captured(lambda: mo.show(g)), "<shown>", "exec")  # noqa: B023


def test_ir_prints_operations_and_names():
    text = captured(lambda: mo.ir(polynomial))
    for word in ("polynomial", "coefficient", "point", "total"):
        assert word in text


def test_check_gradients_accepts_a_right_gradient_and_rejects_a_wrong_one():
    mo.testing.check_gradients(lambda x, v: (np.sin(v) * x).sum(), 0.7, np.array([1.0, 2.0]), order=2)

    def f(x):
        return x * x

    @mo.adjoint(f)
    def f_adjoint(x):
        return x * x, lambda dy: (dy * 2.01 * x,)

    with pytest.raises(AssertionError):
        mo.testing.check_gradients(f, 1.5, order=1)


# the surroundings


def test_functions_of_a_file_read_at_run_time_are_differentiated(tmp_path):
    (tmp_path / "user_module.py").write_text(
        "def f(x):\n    return helper(x) * x\n\n\ndef helper(x):\n    return x ** 2\n"
    )
    program = (
        "import sys; sys.path.insert(0, '.'); import user_module, morula as mo; print(mo.gradient(user_module.f, 2.0))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(p for p in sys.path if p), "PATH": ""},
    )
    assert run.stdout.strip() == "(12.0,)", run.stderr


def test_gradients_are_taken_in_several_threads_at_once():
    def f(x, n):
        y = 1.0
        for i in range(n):
            y = y * x + mo.nestlevel() - 1 + i * 0
        return y

    results = {}

    def work(k):
        results[k] = [mo.gradient(f, 1.0 + k / 10, 50)[0] for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        assert results[k] == approx([50 * (1.0 + k / 10) ** 49] * 5)


def test_gradients_pickle_like_their_arguments():
    (g,) = mo.gradient(lambda p: (p["w"] ** 2).sum(), {"w": np.ones(2)})
    assert pickle.loads(pickle.dumps(g))["w"].tolist() == [2.0, 2.0]


def test_a_function_keeps_working_undifferentiated_after_a_gradient():
    def f(x):
        return x * x

    mo.gradient(f, 2.0)
    assert f(3) == 9 and f("a" and 2.0) == 4.0 and type(f(3)) is int


def test_the_standard_streams_are_silent(capsys):
    mo.gradient(lambda x: x * math.sin(x), 1.0)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "")


def cube(x):
    return x**3


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (mo.grad(cube), "grad(cube)"),
        (mo.value_and_grad(cube, (0, 1)), "value_and_grad(cube, (0, 1))"),
        (mo.jacobian(mo.grad(cube, 1), 1), "jacobian(grad(cube, 1), 1)"),
        (mo.hessian(cube), "jacobian(grad(cube))"),
        (mo.grad(np.sin), "grad(sin)"),
    ],
)
def test_a_derivative_shows_of_what_it_is(made, text):
    assert repr(made) == text


def test_a_pullback_shows_what_it_is():
    assert repr(mo.pullback(cube, 2.0)[1]) == "<pullback of one run>"


def test_public_names_are_those_that_are_completed():
    assert dir(mo.core) == sorted(mo.core.__all__)
    assert dir(mo) == sorted(mo.__all__)
