"""Derivatives of derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo

approx = pytest.approx


def iterate(f, n):
    for _ in range(n):
        f = mo.grad(f)
    return f


def power_by_loop(x):
    y = 1.0
    for _ in range(5):
        y = y * x
    return y


def power_by_while(x):
    y, n = 1.0, 5
    while n > 0:
        y, n = y * x, n - 1
    return y


def power_by_recursion(x, n=5):
    return 1.0 if n == 0 else x * power_by_recursion(x, n - 1)


def power_in_a_list(x):
    v = [x]
    for _ in range(4):
        v.append(v[-1] * v[0])
    return v[4]


def power_in_an_array(x):
    a = np.zeros(6)
    a[0] = 1.0
    for i in range(1, 6):
        a[i] = a[i - 1] * x
    return a[5]


def power_in_place(x):
    a = np.ones(1)
    for _ in range(5):
        a *= x
    return a[0]


def power_in_an_object(x):
    class Box:
        pass

    box = Box()
    box.y = x
    for _ in range(4):
        box.y *= x
    return box.y


def power_by_generator(x):
    def powers():
        y = 1.0
        while True:
            y *= x
            yield y

    for n, y in enumerate(powers(), 1):
        if n == 5:
            return y


def power_with_exceptions(x):
    y = x
    try:
        for n in range(10):
            if n == 4:
                raise StopIteration
            y = y * x
    except StopIteration:
        return y


def power_by_closure(x):
    def times(y):
        return y * x

    return times(times(times(times(x))))


POWERS = [
    lambda x: x**5,
    lambda x: pow(x, 5),
    lambda x: np.prod(x * np.ones(5)),
    power_by_loop,
    power_by_while,
    power_by_recursion,
    power_in_a_list,
    power_in_an_array,
    power_in_place,
    power_in_an_object,
    power_by_generator,
    power_with_exceptions,
    power_by_closure,
]


@pytest.mark.parametrize("f", POWERS, ids=lambda f: f.__name__)
def test_the_first_three_derivatives_of_a_fifth_power(f):
    x = 1.3
    assert mo.grad(f)(x) == approx(5 * x**4)
    assert iterate(f, 2)(x) == approx(20 * x**3)
    assert iterate(f, 3)(x) == approx(60 * x**2)


@pytest.mark.parametrize(
    ("f", "derivatives"),
    [
        (math.sin, (math.cos(0.7), -math.sin(0.7), -math.cos(0.7))),
        (lambda x: math.exp(2 * x), tuple(2**n * math.exp(1.4) for n in (1, 2, 3))),
        (lambda x: math.log(x), (1 / 0.7, -1 / 0.7**2, 2 / 0.7**3)),
        (lambda x: 1 / x, (-1 / 0.7**2, 2 / 0.7**3, -6 / 0.7**4)),
        (lambda x: x * abs(x), (1.4, 2.0, 0.0)),
        (lambda x: max(x**3, 0.1), (3 * 0.49, 4.2, 6.0)),
        (lambda x: x**2 if x > 0 else 0.0, (1.4, 2.0, 0.0)),
        (lambda x: 3 * x + 1, (3.0, 0.0, 0.0)),
    ],
    ids=["sin", "exp", "log", "inverse", "x|x|", "max", "if", "linear"],
)
def test_three_derivatives_of_scalars(f, derivatives):
    for n, expected in enumerate(derivatives, start=1):
        assert iterate(f, n)(0.7) == approx(expected, abs=1e-12)


def test_mixed_partials_commute():
    def f(x, y):
        return x**2 * y**3 + math.sin(x * y)

    x, y = 0.7, 1.3
    xy = mo.grad(lambda x, y: mo.grad(f, 1)(x, y))(x, y)
    yx = mo.grad(lambda x, y: mo.grad(f, 0)(x, y), 1)(x, y)
    assert xy == approx(6 * x * y**2 + math.cos(x * y) - x * y * math.sin(x * y))
    assert yx == approx(xy)


def rosenbrock(v):
    return (1 - v[0]) ** 2 + 100 * (v[1] - v[0] ** 2) ** 2


def test_the_hessian_of_rosenbrock():
    x, y = v = np.array([0.7, 1.2])
    expected = [[2 - 400 * (y - 3 * x**2), -400 * x], [-400 * x, 200]]
    assert mo.hessian(rosenbrock)(v) == approx(np.array(expected))
    assert mo.jacobian(mo.grad(rosenbrock))(v) == approx(np.array(expected))


def test_the_hessian_of_a_quadratic_form():
    a = np.array([[1.0, 2.0], [0.5, -1.0]])
    assert mo.hessian(lambda x: x @ a @ x)(np.array([0.3, 0.4])) == approx(a + a.T)


def test_the_hessian_through_in_place_writes():
    def f(v):
        a = np.zeros(3)
        a[0] = v[0] * v[1]
        a[1:] = v * a[0]
        a[0] *= a[2]
        return a.sum()  # x y * x y**2 + x**2 y + x y**2

    x, y = v = np.array([0.7, 1.2])
    expected = [[2 * y**3 + 2 * y, 6 * x * y**2 + 2 * x + 2 * y], [0, 6 * x**2 * y + 2 * x]]
    expected[1][0] = expected[0][1]
    assert mo.hessian(f)(v) == approx(np.array(expected))


def test_the_hessian_of_a_matrix_argument_has_four_axes():
    h = mo.hessian(lambda m: (m**3).sum())(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert h.shape == (2, 2, 2, 2)
    assert h[1, 0, 1, 0] == approx(18.0) and h[1, 0, 0, 1] == 0.0


def test_a_hessian_vector_product_by_reverse_over_reverse():
    v, w = np.array([0.7, 1.2]), np.array([2.0, -1.0])
    product = mo.grad(lambda v: mo.grad(rosenbrock)(v) @ w)(v)
    assert product == approx(mo.hessian(rosenbrock)(v) @ w)


def test_the_third_derivative_tensor():
    t = mo.jacobian(mo.hessian(lambda v: v[0] ** 2 * v[1] ** 2))(np.array([0.7, 1.2]))
    assert t.shape == (2, 2, 2)
    assert t[0, 0, 1] == approx(4 * 1.2) and t[0, 1, 1] == approx(4 * 0.7) and t[1, 1, 1] == approx(0.0)


# Perturbation confusion: Siskind and Pearlmutter, Nesting forward-mode AD in a functional framework,
# Higher-Order Symb. Comput. 21 (2008) 361.


def test_perturbation_confusion():
    assert mo.grad(lambda x: x * mo.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert mo.grad(lambda x: x * mo.grad(lambda y: x * y)(2.0))(3.0) == 6.0


def test_perturbation_confusion_with_equal_values():
    assert mo.grad(lambda x: x * mo.grad(lambda y: x * y)(x))(1.0) == 2.0
    assert mo.grad(lambda x: mo.grad(lambda x: x * x)(x) * x)(1.0) == 4.0


def test_perturbation_confusion_through_a_closure_that_escapes():
    def f(x):
        def g(y):
            return lambda z: x * y * z

        inner = mo.grad(lambda y: g(y)(2.0))
        return inner(3.0) * x

    assert mo.grad(f)(5.0) == 20.0


def test_perturbation_confusion_by_a_shift_operator():
    # Manzyuk et al., Perturbation confusion in forward AD of higher-order functions, JFP 29 (2019) e12.
    def shift(u):
        return lambda g: lambda x: g(x + u)

    def derivative_at_zero(k):
        return lambda g: lambda x: mo.grad(lambda u: k(u)(g)(x))(0.0)

    d = derivative_at_zero(shift)
    assert d(d(math.exp))(1.0) == approx(math.e)


def test_the_outer_variable_in_the_state_of_the_inner_gradient():
    def f(x):
        log = []

        def g(y):
            log.append(x * y)
            return log[-1] * y

        slope = mo.grad(g)(2.0)  # 2 x y = 4 x
        return slope * log[0]  # 4 x * 2 x

    assert mo.grad(f)(3.0) == approx(48.0)


def test_the_inner_gradient_takes_a_container():
    def f(x):
        p = {"a": x, "b": [x * x]}
        g = mo.grad(lambda p: p["a"] ** 2 * p["b"][0])(p)
        return g["a"] + g["b"][0]  # 2 x^3 + x^2

    assert mo.grad(f)(1.5) == approx(6 * 1.5**2 + 3.0)


def test_a_gradient_inside_a_loop():
    def f(x):
        def loss(w):
            return (w - x) ** 2 * w

        w = 1.0
        for _ in range(3):
            w = w - 0.1 * mo.grad(loss)(w)
        return w

    def by_hand(x):
        w, dw = 1.0, 0.0
        for _ in range(3):
            # loss' = (w-x)^2 + 2 w (w-x)
            slope = 2 * (w - x) * (dw - 1) + 2 * dw * (w - x) + 2 * w * (dw - 1)
            w, dw = w - 0.1 * ((w - x) ** 2 + 2 * w * (w - x)), dw - 0.1 * slope
        return dw

    assert mo.grad(f)(0.5) == approx(by_hand(0.5))


def test_learning_the_learning_rate():
    def train(rate, w):
        for _ in range(5):
            w = w - rate * mo.grad(lambda w: (w * w).sum())(w)
        return (w * w).sum()

    # w -> (1 - 2 r) w each step, so the loss is (1 - 2 r)^10 |w|^2
    assert mo.grad(train)(0.1, np.array([1.0, 2.0])) == approx(-20 * 0.8**9 * 5)


def test_newtons_method_with_a_gradient_inside():
    def root(a):
        def f(x):
            return x * x - a

        x = 1.5
        while abs(f(x)) > 1e-13:
            x = x - f(x) / mo.grad(f)(x)
        return x

    assert root(2.0) == approx(math.sqrt(2))
    assert mo.grad(root)(2.0) == approx(0.5 / math.sqrt(2))


def test_a_gradient_of_value_and_grad():
    def f(x):
        y, dy = mo.value_and_grad(lambda t: t**3 * x)(x)
        return y * dy  # x^4 * 3 x^3

    assert mo.grad(f)(1.2) == approx(21 * 1.2**6)


def test_a_gradient_through_vjp_and_its_back():
    def f(x, dy):
        y, back = mo.vjp(lambda a, b: (a * b, a**2), x, x * x)
        da, db = back((dy, x))
        return da * y[1] + db  # (dy x^2 + 2 x^2) x^2 + dy x

    x, dy = 1.2, 0.7
    gx, gdy = mo.gradient(f, x, dy)
    assert gx == approx(4 * (dy + 2) * x**3 + dy) and gdy == approx(x**4 + x)


def test_a_gradient_through_jacobian():
    def f(v):
        return mo.jacobian(lambda v: v**2 * v[0])(v).sum()  # 3 x^2 + y^2 + 2 x y

    x, y = v = np.array([0.7, 1.2])
    assert mo.grad(f)(v) == approx(np.array([6 * x + 2 * y, 2 * y + 2 * x]))


def test_a_gradient_penalty():
    def loss(w, x):
        slope = mo.grad(lambda x: np.tanh(w @ x).sum())(x)
        return (slope @ slope) ** 2

    w, x = np.array([[0.5, -0.3], [0.2, 0.8]]), np.array([0.4, -0.6])
    t = np.tanh(w @ x)
    s = 1 - t**2
    slope = w.T @ s
    dslope = 4 * (slope @ slope) * slope
    expected = np.outer(s, dslope) + np.outer((w @ dslope) * -2 * t * s, x)
    assert mo.grad(loss)(w, x) == approx(expected)


def test_the_derivative_of_a_user_adjoint_is_the_derivative_of_its_pullback():
    def cube(x):
        return x**3

    @mo.adjoint(cube)
    def cube_adjoint(x):
        return x**3, lambda dy: (dy * 3 * x**2,)

    assert mo.grad(cube)(1.2) == approx(3 * 1.2**2)
    assert iterate(cube, 2)(1.2) == approx(6 * 1.2)
    assert iterate(cube, 3)(1.2) == approx(6.0)


def test_second_derivatives_of_a_complex_program():
    def f(x):
        z = x + 1j
        return (z**3 * z.conjugate()).real  # x^4 - 1

    assert iterate(f, 2)(0.7) == approx(12 * 0.7**2)


def test_a_laplacian():
    def u(x, y):
        return math.exp(x) * math.sin(y)  # harmonic

    xx = mo.grad(mo.grad(u, 0), 0)(0.3, 0.4)
    yy = mo.grad(mo.grad(u, 1), 1)(0.3, 0.4)
    assert xx == approx(u(0.3, 0.4)) and xx + yy == approx(0.0, abs=1e-12)


def test_hamiltons_equations_from_the_gradient():
    def energy(q, p):
        return p**2 / 2 + (1 - math.cos(q))

    def final_angle(q):
        p = 0.0
        for _ in range(4):
            p = p - 0.1 * mo.grad(energy, 0)(q, p)
            q = q + 0.1 * mo.grad(energy, 1)(q, p)
        return q

    def plain(q):
        p = 0.0
        for _ in range(4):
            p = p - 0.1 * math.sin(q)
            q = q + 0.1 * p
        return q

    assert final_angle(1.0) == approx(plain(1.0))
    assert mo.grad(final_angle)(1.0) == approx(mo.grad(plain)(1.0))


def test_second_order_with_cancellation_of_the_first():
    assert iterate(lambda x: x * mo.stop_gradient(x), 2)(1.5) == 0.0
    assert iterate(lambda x: mo.checkpoint(lambda t: t**4, x), 2)(1.5) == approx(12 * 1.5**2)


def test_the_inner_function_has_an_unused_outer_variable():
    assert mo.grad(lambda x: mo.grad(lambda y: y * y)(2.0) + x)(3.0) == 1.0
    assert mo.grad(lambda x: mo.grad(lambda y: x)(2.0))(3.0) == 0.0
