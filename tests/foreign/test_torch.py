"""PyTorch's modules inside of morula, and morula's functions inside of PyTorch, on every path and to second order."""

from __future__ import annotations

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from path_tester import PATHS, check_gradient  # noqa: E402

import morula as mo  # noqa: E402

torch.manual_seed(1)
NETWORK = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()
X = np.array([[0.1, 0.2], [0.3, -0.4]])
network = mo.foreign.torch(NETWORK)
sine, not_holomorphic = mo.foreign.torch(torch.sin), mo.foreign.torch(lambda z: z**2 * torch.conj(z))


def run_on(path):
    return (lambda f: f) if path == "eager" else (lambda f: mo.jit(f, target=path))


def loss(net, x):
    return np.sum(net(2 * x) ** 2)


def by_torch(x=X):
    x = torch.tensor(x, requires_grad=True)
    parameters = list(NETWORK.parameters())
    y = (NETWORK(2 * x) ** 2).sum()
    dx, *dp = torch.autograd.grad(y, [x, *parameters])
    return y.item(), dx.numpy(), [g.numpy() for g in dp]


@pytest.mark.parametrize("path", PATHS)
def test_a_module_has_pytorchs_gradients(path):
    y, dx, dp = by_torch()
    value, gradient = run_on(path)(mo.value_and_grad(loss))(network, X)
    assert np.isclose(value, y) and type(gradient) is type(network)
    assert list(gradient.parameters) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    for found, expected in zip(gradient.parameters.values(), dp):
        assert np.allclose(found, expected)
    assert np.allclose(run_on(path)(mo.grad(loss, 1))(network, X), dx)
    assert np.allclose(run_on(path)(mo.grad(lambda x: loss(network, x)))(X), dx)


@pytest.mark.parametrize("path", PATHS)
def test_second_derivatives_and_tangents(path):
    check_gradient(path, lambda x: np.sum(mo.grad(loss, 1)(network, x) ** 2), X)
    tangent = run_on(path)(lambda x, dx: mo.jvp(lambda x: loss(network, x), (x,), (dx,))[1])(X, X)
    assert np.isclose(tangent, np.sum(by_torch()[1] * X))


def test_every_mode_to_third_order():
    mo.testing.check_gradients(lambda x: loss(network, x), X, mode="all")
    cube = mo.foreign.torch(lambda x: x**3)
    mo.testing.check_gradients(cube, 1.5, order=3, mode="all")


@pytest.mark.parametrize("path", PATHS)
def test_structures_dtypes_and_ints(path):
    def f(d, n, scale=None):
        return {"a": torch.sin(d["x"]) * n, "n": n, "b": [d["y"][0] ** 2, None, d["y"][1]]}

    g = mo.foreign.torch(f)

    def total(x, y):
        r = g({"x": x, "y": (y, 2.0)}, 3)
        return np.sum(r["a"]) + r["b"][0] * r["b"][2] + r["n"]

    check_gradient(path, total, np.array([0.3, 0.4]), 1.5)
    single = run_on(path)(mo.grad(lambda x: np.sum(sine(x))))(np.ones(2, np.float32))
    assert single.dtype == np.float32
    check_gradient(path, lambda z: np.abs(not_holomorphic(z)), 1 + 2j)


def test_an_operand_that_is_not_used_has_gradient_zero():
    f = mo.foreign.torch(lambda x, y: (x * 2, y.detach() * 3))
    assert mo.gradient(lambda x, y: f(x, y)[0] + f(x, y)[1], 1.0, 2.0) == (2.0, 0.0)
    assert mo.grad(mo.foreign.torch(lambda x: torch.ones(2, dtype=torch.float64).sum()))(1.0) == 0.0


def test_parameters_are_trained_as_those_of_any_object():
    net = mo.foreign.torch(torch.nn.Linear(1, 1).double())
    x = np.array([[1.0], [2.0]])
    for _ in range(400):
        g = mo.grad(lambda net: np.mean((net(x) - 3 * x - 1) ** 2))(net)
        net.parameters = {k: p - 0.2 * g.parameters[k] for k, p in net.parameters.items()}
    assert np.allclose([net.parameters["weight"][0, 0], net.parameters["bias"][0]], [3.0, 1.0], atol=1e-3)
    assert repr(net) == "<foreign Linear>"


@pytest.mark.parametrize("layer", [torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(2).double()])
def test_modules_that_are_not_functions_are_refused(layer):
    with pytest.raises(mo.BadInput, match=r"(draws random numbers|changes its buffers).*call module.eval\(\)"):
        mo.foreign.torch(layer.train())(X)
    assert mo.foreign.torch(layer.eval())(X).shape == X.shape


# ---- to_torch


def program(d, n):
    total = np.zeros_like(d["x"])
    for i in range(n):
        total[i % 2] = total[i % 2] + d["x"][i % 2] ** 3
    return {"y": np.sum(total), "k": [total * 2, 5, "text"]}


@pytest.mark.parametrize("compiled", [False, True])
def test_to_torch(compiled):
    f = mo.to_torch(mo.jit(program) if compiled else program)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = f({"x": x}, 3)
    assert y["k"][2] == "text" and y["k"][1].item() == 5
    (y["y"] + y["k"][0][1]).backward()
    assert x.grad.tolist() == [6.0, 36.0]
    assert torch.autograd.gradcheck(lambda x: f({"x": x}, 3)["k"][0], (x,))


def test_to_torch_twice_and_thrice():
    f = mo.to_torch(lambda x, y: np.sum(x**3 * y))
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1.0, 2.0], 3.0))
    assert torch.autograd.gradgradcheck(f, (x, y))
    (g,) = torch.autograd.grad(f(x, y), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(h.sum(), x)
    assert h.tolist() == [18.0, 36.0] and third.tolist() == [18.0, 18.0]


def test_to_torch_keeps_dtypes_and_what_needs_no_gradient():
    f = mo.to_torch(lambda x, i: (x[i] * 2, np.argmax(x)))
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    y, place = f(x, torch.tensor(1))
    assert y.dtype == torch.float32 and place.item() == 1 and not place.requires_grad
    y.backward()
    assert x.grad.tolist() == [0.0, 2.0]
    assert not f(x.detach(), 0)[0].requires_grad
    assert mo.to_torch(lambda: 3.0)().item() == 3.0


def test_both_ways_around():
    g = mo.foreign.torch(mo.to_torch(lambda x: x**2 * 3))
    assert mo.grad(lambda x: g(x) * x)(2.0) == 36.0


@pytest.mark.parametrize("call", [lambda: mo.foreign.torch(3.0), lambda: mo.to_torch("f")])
def test_bad_input(call):
    with pytest.raises(mo.BadInput, match="expected a .*function"):
        call()


def test_pytorch_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for call in (mo.foreign.torch, mo.to_torch):
        with pytest.raises(mo.BadInput, match="needs PyTorch, which is not installed; run: pip install torch"):
            call(np.sin)
