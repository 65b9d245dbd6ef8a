"""JAX's functions inside of morula, and morula's functions inside of JAX, on every path and to second order."""

from __future__ import annotations

import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from path_tester import PATHS, check_gradient  # noqa: E402

import morula as mo  # noqa: E402

X = np.array([0.3, 0.7])


def run_on(path):
    return (lambda f: f) if path == "eager" else (lambda f: mo.jit(f, target=path))


inner = mo.foreign.jax(lambda d, n: {"a": jnp.sin(d["w"]) * d["s"], "n": n, "z": [jnp.sum(d["w"] ** 2)]})


sine, not_holomorphic = mo.foreign.jax(jnp.sin), mo.foreign.jax(lambda z: z**2 * jnp.conj(z))


def outer(w, s):
    r = inner({"w": w, "s": s, "name": None}, 3)
    return np.sum(r["a"] * r["z"][0]) + r["n"] * s


@pytest.mark.parametrize("path", PATHS)
def test_a_function_of_jax(path):
    check_gradient(path, outer, X, 2.0)
    check_gradient(path, lambda w: np.sum(mo.grad(outer)(w, 2.0) ** 2), X)
    single = run_on(path)(mo.grad(lambda x: np.sum(sine(x))))(np.ones(2, np.float32))
    assert single.dtype == np.float32
    check_gradient(path, lambda z: np.abs(not_holomorphic(z)), 1 + 2j)
    tangent = run_on(path)(lambda w, dw: mo.jvp(outer, (w, 2.0), (dw, 1.0))[1])(X, X)
    assert np.isclose(tangent, np.sum(mo.grad(outer)(X, 2.0) * X) + mo.grad(outer, 1)(X, 2.0))


def test_every_mode():
    mo.testing.check_gradients(outer, X, 2.0, mode="all")
    mo.testing.check_gradients(mo.foreign.jax(lambda z: jnp.exp(z) * z), 0.3 + 0.2j, mode="all")


def test_results_whose_structure_depends_on_the_shape():
    parts = mo.foreign.jax(lambda x: tuple(x))
    for n in (2, 3, 2):
        assert len(parts(np.ones(n))) == n
        assert mo.grad(lambda x: sum(parts(x)))(np.ones(n)).tolist() == [1.0] * n


# ---- to_jax


def program(d, n):
    total = np.zeros_like(d["x"])
    for i in range(4):
        total[i % 2] = total[i % 2] + d["x"][i % 2] ** 3 * n
    return {"y": np.sum(total), "k": [total * 2, 5]}


@pytest.mark.parametrize("compiled", [False, True])
def test_to_jax(compiled):
    f = mo.to_jax(mo.jit(program) if compiled else program)
    x = jnp.array([1.0, 2.0])
    g = jax.grad(lambda x: f({"x": x}, 3.0)["y"])
    assert f({"x": x}, 3.0)["k"][1] == 5
    assert g(x).tolist() == jax.jit(g)(x).tolist() == [18.0, 72.0]
    assert jax.jit(jax.jacrev(g))(x).tolist() == [[36.0, 0.0], [0.0, 72.0]]
    assert jax.vmap(g)(jnp.stack([x, 2 * x])).tolist() == [[18.0, 72.0], [72.0, 288.0]]


def test_to_jax_with_ints_double_precision_and_a_told_result():
    f = mo.to_jax(lambda x, i: x[i] * 2, result_like=0.0)
    assert jax.grad(f)(jnp.array([1.0, 3.0]), 1).tolist() == [0.0, 2.0]
    with jax.enable_x64(True):
        y = mo.to_jax(lambda x: np.exp(x))(jnp.array([0.5]))
        assert y.dtype == np.float64 and y[0] == np.exp(0.5)


def test_to_jax_of_complex_numbers_follows_jaxs_convention():
    f = mo.to_jax(lambda z: np.abs(z**2 * np.conj(z)))
    z = jnp.array(1.0 + 2j)
    assert np.allclose(jax.grad(f)(z), jax.grad(lambda z: jnp.abs(z**2 * jnp.conj(z)))(z), rtol=1e-5)


def test_both_ways_around():
    g = mo.foreign.jax(mo.to_jax(lambda x: x**2 * 3))
    assert mo.grad(lambda x: g(x) * x)(2.0) == 36.0


@pytest.mark.parametrize("call", [lambda: mo.foreign.jax(3.0), lambda: mo.to_jax("f")])
def test_bad_input(call):
    with pytest.raises(mo.BadInput, match="expected a function"):
        call()


def test_jax_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    for call in (mo.foreign.jax, mo.to_jax):
        with pytest.raises(mo.BadInput, match=r"needs JAX, which is not installed; run: pip install morula\[xla\]"):
            call(np.sin)
