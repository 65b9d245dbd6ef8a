"""An error message names the mistake, the user's line and the remedy."""

from __future__ import annotations

import heapq
import inspect
import re
import statistics

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.spatial
import scipy.special
import scipy.stats

import morula as mo


def forgets_to_return(x):
    y = x * x
    y * 2


def returns_on_one_path(x):
    if x > 10:
        return x * x


TRANSFORMS = {
    "grad": lambda f: mo.grad(f)(2.0),
    "gradient": lambda f: mo.gradient(f, 2.0),
    "value_and_grad": lambda f: mo.value_and_grad(f)(2.0),
    "has_aux": lambda f: mo.grad(f, has_aux=True)(2.0),
    "jacobian": lambda f: mo.jacobian(f)(2.0),
    "hessian": lambda f: mo.hessian(f)(2.0),
    "grad of grad": lambda f: mo.grad(lambda x: mo.grad(f)(x))(2.0),
    "native": lambda f: mo.jit(mo.grad(f), target="native")(2.0),
    "native jacobian": lambda f: mo.jit(mo.jacobian(f), target="native")(2.0),
    "xla": lambda f: mo.jit(mo.grad(f), target="xla")(2.0),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", [forgets_to_return, returns_on_one_path], ids=lambda f: f.__name__)
def test_a_forgotten_return(f, transform):
    if f is returns_on_one_path and transform in ("native", "native jacobian", "xla"):
        f = forgets_to_return  # compiled code refuses a function that returns on one path only
    with pytest.raises(mo.BadInput, match="returned None.*is a `return` missing") as error:
        TRANSFORMS[transform](f)
    assert f"{f.__name__} ({__file__}:{f.__code__.co_firstlineno})" in str(error.value)


@pytest.mark.parametrize("f", [forgets_to_return, returns_on_one_path], ids=lambda f: f.__name__)
def test_a_cotangent_of_nothing(f):
    y, back = mo.vjp(f, 2.0)
    assert y is None and back(None) == (0.0,)
    with pytest.raises(mo.BadInput, match="the result is None.*is a `return` missing"):
        back(1.0)


@pytest.mark.parametrize("transform", ["grad", "gradient", "value_and_grad", "hessian", "native", "xla"])
def test_a_tuple_mentions_has_aux(transform):
    def f(x):
        return x * x, x

    with pytest.raises(
        mo.BadInput,
        match="returned a tuple of length 2; if it returns \\(value, aux\\), pass has_aux=True.*morula.pullback",
    ):
        TRANSFORMS[transform](f)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_return_on_one_path_only_in_compiled_code(target):
    with pytest.raises(mo.BadInput, match="returned None, which has no derivative; is a `return` missing") as error:
        mo.jit(mo.grad(returns_on_one_path), target=target)(2.0)
    assert f"{__file__}:{returns_on_one_path.__code__.co_firstlineno}" in str(error.value)


@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "native", "xla"])
def test_a_truth_and_a_generator_are_no_losses(transform):
    def generates(x):
        yield x * x

    for f, text in ((lambda x: x > 1, "bool"), (generates, "a generator")):
        with pytest.raises(mo.BadInput, match=f"real scalar output.*{text}"):
            TRANSFORMS[transform](f)


def test_a_tuple_that_is_no_pair():
    with pytest.raises(mo.BadInput, match="must return a pair .value, aux., not a tuple of length 3"):
        mo.value_and_grad(lambda x: (x, 1, 2), has_aux=True)(2.0)


def test_a_solution_without_derivative_names_the_line_that_asked_for_it():
    def f(x):
        return scipy.optimize.minimize(lambda u: (x * u[0] + u[1]) ** 2, np.ones(2), method="L-BFGS-B").x[0]

    with pytest.raises(mo.NoDerivative, match="Jacobian of .* is singular there") as error:
        mo.grad(f)(2.0)
    assert f"{__file__}:{f.__code__.co_firstlineno + 1}" in str(error.value)


def test_other_results_are_told_what_they_are():
    for y, text in (([1.0], "a list"), ({"a": 1.0}, "a dict"), (np.ones(2), "of shape"), ("a", "str")):
        with pytest.raises(mo.BadInput, match=f"real scalar output.*{text}.*morula.pullback"):
            mo.grad(lambda x: y)(2.0)  # noqa: B023


# Where a call stands that has no derivative: each of these ends in code of a library


def sampled(x):
    kernel = scipy.stats.gaussian_kde(np.array([1.0, 2.0, 4.0]) * x)
    return kernel.resample(3, seed=0).sum()


def distributed(x):
    return scipy.stats.gamma(x).rvs(random_state=0) * 2


def optimised(x):
    c = np.array([1.0, 2.0]) * x
    return scipy.optimize.linprog(c, A_ub=-np.eye(2), b_ub=-np.ones(2)).fun


def hull(x):
    return scipy.spatial.ConvexHull(x * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).volume


def tree(x):
    return scipy.spatial.cKDTree(x * np.eye(2)).query(np.zeros(2))[0]


def fractions(x):
    return float(statistics.mean([statistics.Fraction(x), statistics.Fraction(1)]))


def called_back(x):
    def loss(u):
        return np.random.default_rng(0).normal(u[0])

    return sum(map(lambda u: loss([u]), heapq.nsmallest(2, [x, 2 * x, 3 * x])))


def in_a_thread(x):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(distributed, x).result()


@pytest.mark.parametrize(
    "f",
    [sampled, distributed, optimised, hull, tree, fractions, called_back, in_a_thread],
    ids=lambda f: f.__name__,
)
def test_a_call_deep_in_a_library_is_told_by_the_users_line(f):
    with pytest.raises(mo.NoDerivative) as error:
        mo.grad(f)(3.0)
    assert lines_of(error) & lines_in(distributed if f is in_a_thread else f), str(error.value)


def lines_of(error):
    """The lines of this file that a message names."""
    return {int(n) for n in re.findall(rf"{re.escape(__file__)}:(\d+)", str(error.value))}


def lines_in(f):
    """The lines of a function except its first, which a message names when it means the function itself."""
    source, first = inspect.getsourcelines(f)
    return {*range(first + 1, first + len(source))}


def singular(x):
    y = np.linalg.norm(np.linalg.pinv(np.diag(np.stack([x, 1e-3 * x])), rcond=0.1))
    return y * 2


def unsupported_mode(x):
    a = x * np.array([[2.0, 1.0], [1.0, 3.0]])
    (qr, tau), _ = scipy.linalg.qr(a, mode="raw")
    return qr.sum() + tau.sum()


def unsupported_type(x):
    a = x * np.array([[2.0, 1.0], [1.0, 3.0]])
    return scipy.linalg.cossin(a / 4.0, 1, 1)[1].sum()


def unsupported_in_a_call(x):
    return unsupported_type(x) * 2


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("wrap", [lambda y: y, lambda y: [y][0]], ids=["structured", "recorded"])
@pytest.mark.parametrize(
    "f", [singular, unsupported_mode, unsupported_type, unsupported_in_a_call], ids=lambda f: f.__name__
)
def test_a_rule_that_refuses_names_the_users_line(f, wrap, order):
    g = mo.grad(lambda x: wrap(f(x)))
    with pytest.raises(mo.NoDerivative) as error:
        (g if order == 1 else mo.grad(g))(3.0)
    assert lines_of(error) & lines_in(unsupported_type if f is unsupported_in_a_call else f), str(error.value)


def test_an_iterator_over_arrays_names_the_users_line():
    def f(x):
        return sum(float(v) for v in np.nditer(x, flags=["buffered"], op_dtypes=["f4"], casting="same_kind"))

    with pytest.raises(mo.NoDerivative, match=r"numpy\.nditer, called at") as error:
        mo.grad(f)(np.ones(3))
    assert lines_of(error) & lines_in(f)
