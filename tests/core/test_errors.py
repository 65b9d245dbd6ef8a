"""Errors on bad input name the value, what was expected and the remedy, and leave no state behind."""

from __future__ import annotations

import inspect
import math
import struct

import numpy as np
import pytest
from scipy.special import pro_cv  # compiled, and without a rule

import morula as mo
from morula.core.rules.table import RULES, Rule


def test_the_error_tree():
    assert issubclass(mo.NoDerivative, mo.MorulaError) and issubclass(mo.MorulaError, Exception)


@pytest.mark.parametrize("make", [mo.grad, mo.value_and_grad, mo.jacobian, mo.hessian])
def test_what_is_not_callable_is_refused(make):
    with pytest.raises(mo.MorulaError, match="(?s)(function|callable).*float"):
        make(3.5)(1.0)


def test_gradient_and_vjp_refuse_what_is_not_callable():
    for call in (mo.gradient, mo.vjp):
        with pytest.raises(mo.MorulaError, match="(?s)(function|callable).*float"):
            call(3.5, 1.0)
    with pytest.raises(TypeError):
        mo.gradient(3.5, 1.0)


def test_a_function_without_source_says_how_to_fix_it():
    scope = {}
    exec("def made_by_exec(x):\n    for _ in range(2):\n        x = x * x\n    return x", scope)
    with pytest.raises(mo.MorulaError, match="(?s)source of made_by_exec|made_by_exec.*source"):
        mo.gradient(scope["made_by_exec"], 1.0)


def test_a_missing_source_of_a_callee_matters_only_if_a_cotangent_reaches_it():
    scope = {}
    exec("def made_by_exec(x):\n    return x > 1", scope)
    test = scope["made_by_exec"]
    assert mo.gradient(lambda x: x * x if test(x) else x, 2.0) == (4.0,)


@pytest.mark.parametrize("make", [mo.grad, mo.value_and_grad])
def test_a_result_that_is_not_scalar_names_its_shape_and_jacobian(make):
    with pytest.raises(mo.MorulaError, match=r"(?s)\(3,\).*jacobian"):
        make(lambda x: x * np.ones(3))(1.0)


def test_gradient_of_an_array_result_names_its_shape_and_jacobian():
    with pytest.raises(mo.MorulaError, match=r"(?s)\(2, 2\).*jacobian"):
        mo.gradient(lambda a: a * 2, np.ones((2, 2)))


@pytest.mark.parametrize("result", [None, "text", [1.0], {"a": 1.0}])
def test_a_result_of_another_type_is_named(result):
    with pytest.raises(mo.MorulaError, match="None" if result is None else type(result).__name__):
        mo.grad(lambda x: result)(1.0)


def test_a_complex_result_is_refused_by_grad():
    with pytest.raises(mo.MorulaError, match="complex"):
        mo.grad(lambda z: z * z)(1j)


def test_argnums_out_of_range_says_how_many_arguments_there_are():
    with pytest.raises(mo.MorulaError, match="(?s)argnums.*2"):
        mo.grad(lambda x: x, argnums=2)(1.0)
    with pytest.raises(mo.MorulaError, match="argnums"):
        mo.grad(lambda x, y: x * y, argnums=(0, 5))(1.0, 2.0)


def test_argnums_must_be_integers():
    with pytest.raises(mo.MorulaError, match="argnums"):
        mo.grad(lambda x: x, argnums="x")(1.0)


@pytest.mark.parametrize("transform", [mo.grad, mo.value_and_grad, mo.jacobian, mo.hessian])
@pytest.mark.parametrize("point", [2.0, np.ones(2), None, [1.0]], ids=str)
def test_a_point_in_the_place_of_argnums_is_told(transform, point):
    with pytest.raises(
        mo.BadInput,
        match=r"(?s)argnums.*; to evaluate (the gradient at x, write grad|it at x, write jacobian)\(f\)\(x\)",
    ):
        transform(lambda x: x, point)


@pytest.mark.parametrize("path", ["eager", "native"])
def test_what_is_differentiated_is_given_by_position(path):
    gradient = mo.grad(lambda *, x: x * x)
    with pytest.raises(
        mo.BadInput, match="was called with 0 positional arguments; pass differentiated arguments by position"
    ):
        (gradient if path == "eager" else mo.jit(gradient, target=path))(x=2.0)


def test_an_array_of_ints_is_to_be_made_floats():
    with pytest.raises(mo.BadInput, match=r"differentiate with respect to x.astype\(float\)"):
        mo.grad(np.sum)(np.arange(3))


@pytest.mark.parametrize(
    ("argument", "name"), [("text", "str"), (None, "None"), (True, "bool"), (np.array(["a"]), "array.*<U1")]
)
def test_grad_refuses_an_argument_that_cannot_be_differentiated(argument, name):
    with pytest.raises(mo.MorulaError, match=name):
        mo.grad(lambda x: 1.0)(argument)


def test_grad_refuses_integer_arrays_and_names_the_dtype():
    with pytest.raises(mo.MorulaError, match="int"):
        mo.grad(lambda a: (a * 1.0).sum())(np.arange(3))


def test_a_pullback_refuses_a_cotangent_of_the_wrong_shape():
    _, back = mo.vjp(lambda a: a * 2, np.ones(3))
    with pytest.raises(mo.MorulaError, match=r"(?s)\(3,\)|\(5,\)"):
        back(np.ones(5))


def test_a_pullback_refuses_a_cotangent_of_the_wrong_structure():
    _, back = mo.vjp(lambda x: (x, x * 2), 1.0)
    with pytest.raises(mo.MorulaError):
        back((1.0, 1.0, 1.0))


def test_has_aux_needs_a_pair():
    with pytest.raises(mo.MorulaError, match="aux"):
        mo.grad(lambda x: x * x, has_aux=True)(1.0)


def test_an_adjoint_with_the_wrong_number_of_cotangents():
    def two_arguments(x, y):
        return x * y

    @mo.adjoint(two_arguments)
    def its_adjoint(x, y):
        return x * y, lambda dy: (dy * y, dy * x, dy)

    with pytest.raises(mo.MorulaError, match="(?s)3.*2|2.*3") as info:
        mo.gradient(two_arguments, 1.0, 2.0)
    assert "two_arguments" in str(info.value) or "its_adjoint" in str(info.value)


def test_an_adjoint_with_a_cotangent_of_the_wrong_shape():
    def total(a):
        return a.sum()

    @mo.adjoint(total)
    def its_adjoint(a):
        return a.sum(), lambda dy: (dy * np.ones(5),)

    with pytest.raises(mo.MorulaError, match=r"(?s)\(5,\).*\(3,\)|\(3,\).*\(5,\)"):
        mo.gradient(total, np.ones(3))


def test_an_adjoint_that_returns_no_pair():
    def f(x):
        return x * x

    @mo.adjoint(f)
    def its_adjoint(x):
        return x * x

    with pytest.raises(mo.MorulaError, match="its_adjoint|f_adjoint|pullback|pair"):
        mo.gradient(f, 1.0)


# Missing derivatives


def opaque(x):
    y = x * 2
    return pro_cv(1, 1, y) + x


def test_a_missing_rule_names_the_function_the_line_and_the_remedy():
    with pytest.raises(mo.NoDerivative) as info:
        mo.gradient(opaque, 0.5)
    text = str(info.value)
    line = inspect.getsourcelines(opaque)[1] + 2
    assert "pro_cv" in text and "test_errors.py" in text and f":{line}" in text
    assert "@mo.adjoint" in text or "@morula.adjoint" in text


def test_a_missing_rule_names_the_line_inside_a_loop_of_a_callee():
    def helper(x):
        for _ in range(3):
            x = pro_cv(1, 1, x) / 2
        return x

    def f(x):
        return helper(x) * 2

    with pytest.raises(mo.NoDerivative) as info:
        mo.gradient(f, 0.5)
    line = inspect.getsourcelines(helper)[1] + 2
    assert "pro_cv" in str(info.value) and f"{line}" in str(info.value)


def test_a_missing_rule_matters_only_if_a_cotangent_reaches_it():
    def f(x):
        unused = pro_cv(1, 1, x)
        if pro_cv(1, 1, x) > 0:
            x = x * x
        table = {"a": x, "b": pro_cv(1, 1, x)}
        return table["a"] + len(str(unused)) * 0

    assert mo.gradient(f, 0.5) == (1.0,)
    y, back = mo.vjp(lambda x: (x * x, pro_cv(1, 1, x)), 0.5)
    assert back((1.0, None)) == (1.0,)


def test_a_missing_rule_on_constants_costs_nothing():
    assert mo.gradient(lambda x: x * pro_cv(1, 1, 0.5), 2.0) == (pro_cv(1, 1, 0.5),)


def test_an_opaque_function_that_writes_its_argument_is_refused_or_right():
    import random

    def f(a):
        random.Random(0).shuffle(a)
        return a[0] * 1.0 + 2 * a[1]

    try:
        (g,) = mo.gradient(f, [1.0, 2.0, 3.0])
    except mo.MorulaError:
        return
    order = [0, 1, 2]
    random.Random(0).shuffle(order)
    assert g[order[0]] == 1.0 and g[order[1]] == 2.0


def test_coroutines_are_refused():
    async def wait(x):
        return x * x

    async def f(x):
        return await wait(x)

    with pytest.raises(mo.MorulaError, match="(?s)async|coroutine"):
        mo.gradient(f, 1.0)


# Nothing is left behind


def test_a_failing_gradient_leaves_no_state_behind():
    def fails(x):
        y = x * x
        raise RuntimeError("on purpose")

    def nested(x):
        return x * mo.grad(fails)(x)

    for f in (fails, nested, opaque):
        with pytest.raises((RuntimeError, mo.MorulaError)):
            mo.gradient(f, 0.5)
        assert mo.nestlevel() == 0
        assert mo.gradient(lambda x: x * x, 3.0) == (6.0,)
        assert math.sin(1.0) == math.sin(1.0) and type(math.sin(0.0)) is float


def test_a_pullback_that_failed_can_be_called_again():
    y, back = mo.vjp(lambda a: a * 2, np.ones(2))
    with pytest.raises(mo.MorulaError):
        back(np.ones(7))
    assert back(np.ones(2))[0].tolist() == [2.0, 2.0]


def test_an_error_caught_by_the_user_inside_a_gradient():
    def inner(x):
        raise ValueError("on purpose")

    def f(x):
        try:
            return mo.grad(inner)(x)
        except ValueError:
            return x * x * mo.nestlevel()

    assert mo.gradient(f, 3.0) == (6.0,)


def test_arguments_are_as_python_leaves_them_when_f_raises():
    def f(a):
        a[0] = 7.0
        raise RuntimeError

    a = np.ones(2)
    with pytest.raises(RuntimeError):
        mo.gradient(f, a)
    assert a.tolist() == [7.0, 1.0]


def test_checkpoint_and_hook_refuse_what_is_not_callable():
    for call in (
        lambda: mo.checkpoint(3.0, 1.0),
        lambda: mo.hook(3.0, 1.0),
        lambda: mo.adjoint(3.0)(lambda x: (x, lambda dy: dy)),
    ):
        with pytest.raises(mo.MorulaError, match="(?s)(function|callable).*float"):
            call()


def test_jacobian_of_a_result_without_numbers_is_refused():
    with pytest.raises(mo.MorulaError):
        mo.jacobian(lambda x: "text")(1.0)


def half_known(n, x):
    return x**n


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: [half_known(x, 2.0)][0], "half_known"),
        (lambda x: half_known(x, 2.0) * 1.0, "half_known"),
        (lambda x: struct.unpack("d", struct.pack("d", x * x))[0], "unpack"),
    ],
)
def test_a_missing_derivative_names_the_call_and_its_line_and_shows_how_to_give_one(f, name, monkeypatch):
    partial = Rule(half_known, partials=(None, lambda y, n, x: n * y / x))
    monkeypatch.setitem(RULES, half_known, partial)
    line = f.__code__.co_firstlineno
    with pytest.raises(mo.NoDerivative) as error:
        mo.grad(f)(1.5)
    text = str(error.value)
    assert f"called at {__file__}:{line}" in text
    assert f"    @morula.adjoint({name})\n    def _(*args):\n        return {name}(*args), lambda dy: ..." in text
    assert "morula.stop_gradient" in text


def test_the_lines_that_the_message_shows_give_the_derivative():
    def double(x):
        return struct.unpack("d", struct.pack("d", 2 * x))[0]

    @mo.adjoint(double)
    def _(*args):
        return double(*args), lambda dy: 2 * dy

    assert mo.grad(lambda x: [double(x * x)][0])(1.5) == 6.0
