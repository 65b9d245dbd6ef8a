"""Programs that leave Python: the gradient is right, or an error names the obstacle."""

from __future__ import annotations

import array
import concurrent.futures
import ctypes
import decimal
import fractions
import gc
import math
import pickle
import random
import statistics
import struct
import weakref

import numpy as np
import pytest

import morula as mo


class Celsius:
    """Converts itself when a C function asks for a float."""

    def __init__(self, x):
        self.x = x

    def __float__(self):
        return float(self.x * self.x)

    def __index__(self):
        return 1

    def __array__(self, dtype=None, copy=None):
        return np.array([self.x, self.x * self.x])


class Tagged(np.ndarray):
    pass


def threaded(x):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: x * x).result() + sum(pool.map(lambda k: x * k, [1.0, 2.0]))


def structured(x):
    table = np.zeros(2, dtype=[("position", float), ("mass", float)])
    table["position"][0] = x * x
    table[1] = (x, 2.0)
    return table["position"].sum() * 3


def through_ctypes(x):
    return ctypes.c_double(x * x).value


def root_by_scipy(x):
    from scipy.optimize import brentq

    return brentq(lambda t: t * t - x, 0.0, 10.0)


def integral_by_scipy(x):
    from scipy.integrate import quad

    return quad(lambda t: x * t, 0.0, 1.0)[0]


def ode_by_scipy(x):
    from scipy.integrate import solve_ivp

    return solve_ivp(lambda t, y: -x * y, (0.0, 0.5), [1.0], rtol=1e-8, atol=1e-10).y[0, -1]


def minimum_by_scipy(x):
    from scipy.optimize import minimize

    return minimize(lambda v: ((v - x) ** 2).sum(), np.zeros(1), tol=1e-10).x[0] ** 2


def sorted_in_c(x):
    values = np.array([3 * x, x, 2 * x])
    values.partition(1)
    return values[0] + 10 * values[1]


def shared_buffer(x):
    a = np.zeros(2)
    memory = memoryview(a)
    memory[0] = x * x
    return a[0] * 2


def from_buffer(x):
    a = np.array([x, x * x])
    return np.frombuffer(a)[1] + np.frombuffer(a.tobytes())[0]


PROGRAMS = {
    "a C container": lambda x: array.array("d", [x, x * x])[1],
    "struct": lambda x: struct.unpack("d", struct.pack("d", x * x))[0],
    "ctypes": through_ctypes,
    "pickle": lambda x: pickle.loads(pickle.dumps([x * x]))[0],
    "text": lambda x: float(repr(x)) * x,
    "eval": lambda x: eval("x * x"),
    "exec": lambda x: (scope := {"x": x}, exec("y = x * x", scope), scope["y"])[2],
    "compile": lambda x: eval(compile("x * x", "<text>", "eval"), {"x": x}),
    "locals": lambda x: locals()["x"] * 2,
    "globals": lambda x: (globals().update(shared_x=x * x), globals()["shared_x"])[1],
    "Decimal": lambda x: float(decimal.Decimal(x) * 2),
    "Fraction": lambda x: float(fractions.Fraction(x) * 2),
    "Fraction product": lambda x: float(fractions.Fraction(1, 2) * x),
    "statistics": lambda x: statistics.mean([x, x * x, 3.0]) + statistics.fmean([x, 1.0]),
    "statistics.stdev": lambda x: statistics.stdev([x, x * x, 3.0]),
    "random.gauss": lambda x: random.Random(0).gauss(x, 1.0),
    "random.uniform": lambda x: random.Random(0).uniform(x, 2 * x),
    "random.choices": lambda x: random.Random(0).choices([x, x * x], k=2)[0],
    "rng.normal": lambda x: np.random.default_rng(0).normal(x, 2 * x),
    "rng.permutation": lambda x: np.random.default_rng(0).permutation(np.array([x, x * x, 1.0]))[0] * x,
    "rng.shuffle": lambda x: (a := np.array([x, x * x, 1.0]), np.random.default_rng(0).shuffle(a), a[0] * x)[2],
    "__float__": lambda x: math.sin(Celsius(x)),
    "float()": lambda x: float(Celsius(x)) * 2,
    "__array__": lambda x: np.sum(Celsius(x)),
    "__index__": lambda x: [1.0, x][Celsius(x)],
    "an ndarray subclass": lambda x: float((np.array([x, x * x]).view(Tagged) * 2).sum()),
    "np.matrix": lambda x: (np.asmatrix([[x, 1.0], [0.0, x]]) ** 2)[0, 1],
    "a masked array": lambda x: np.ma.masked_greater(np.array([x, x * x, 100.0]), 50.0).sum(),
    "a structured array": structured,
    "an object array": lambda x: np.array([x, x * x], dtype=object).sum() * x,
    "a view as integers": lambda x: np.array([x * x]).view(np.int64).view(np.float64)[0],
    "a view as complex": lambda x: abs(np.array([x, x * x]).view(complex)[0]),
    "a memoryview": shared_buffer,
    "frombuffer": from_buffer,
    "as_strided": lambda x: np.lib.stride_tricks.as_strided(np.array([x, x * x]), (2,), (8,))[1],
    "fromiter": lambda x: np.fromiter((x * k for k in range(3)), float).sum(),
    "fromfunction": lambda x: np.fromfunction(lambda i, j: x * i + j, (2, 2)).sum(),
    "apply_along_axis": lambda x: np.apply_along_axis(lambda r: r * x, 0, np.array([x, 1.0])).sum(),
    "piecewise": lambda x: np.piecewise(np.array([x, -x]), [[True, False]], [lambda t: t * t, lambda t: 3 * t]).sum(),
    "frompyfunc": lambda x: np.frompyfunc(lambda a, b: a * b, 2, 1)(x, 2.0),
    "a ufunc of objects": lambda x: np.add(np.array([x], dtype=object), 1.0)[0],
    "nditer": lambda x: sum(float(t) for t in np.nditer(np.array([x, x * x]))),
    "partition": sorted_in_c,
    "histogram": lambda x: np.histogram([x, 2 * x], bins=2)[1][1],
    "polyfit": lambda x: np.polyfit([0.0, 1.0, 2.0], [x, x * x, 3.0], 1)[0],
    "polyval": lambda x: np.polyval([x, 2.0, x * x], 1.3),
    "Polynomial": lambda x: np.polynomial.Polynomial([x, 2.0, x * x])(1.3),
    "np.nan_to_num": lambda x: np.nan_to_num(np.array([x, np.nan])).sum() * x,
    "modf": lambda x: math.modf(x)[0] * x + math.frexp(x)[0],
    "ldexp": lambda x: math.ldexp(x, 3) * x,
    "fma-like sumprod": lambda x: sum(map(math.prod, [[x, x], [x, 2.0]])),
    "as_integer_ratio": lambda x: x.as_integer_ratio()[0] / x.as_integer_ratio()[1],
    "fromhex": lambda x: float.fromhex(x.hex()),
    "threads": threaded,
    "brentq": root_by_scipy,
    "quad": integral_by_scipy,
    "solve_ivp": ode_by_scipy,
    "minimize": minimum_by_scipy,
    "setattr on a class": lambda x: (setattr(Celsius, "shared", x * x), Celsius.shared)[1],
    "vars update": lambda x: (c := Celsius(x), vars(c).update(x=x * x), c.x)[2],
    "object.__setattr__": lambda x: (c := Celsius(x), object.__setattr__(c, "x", x * x), c.x)[2],
    "type()": lambda x: type("Made", (), {"value": x * x})().value,
    "property object": lambda x: property(lambda self: self.x * 2).fget(Celsius(x)),
    "functools on a C function": lambda x: __import__("functools").reduce(math.hypot, [x, x * x, 3.0]),
    "sorted by a C key": lambda x: sorted([x, -x * x], key=math.fabs)[0],
    "max by a C key": lambda x: max([x, -x * x], key=math.fabs),
    "map of a C function": lambda x: sum(map(math.sin, [x, x * x])),
    "str.join round trip": lambda x: sum(float(s) for s in ",".join([str(2.0), str(3.0)]).split(",")) * x,
}


CONSTANT = {"text": 1.3, "fromhex": 0.0, "as_integer_ratio": 0.0, "struct": 0.0, "pickle": 0.0, "ctypes": 0.0}
"""The derivative of what is written as text, bytes or integers, and read back: none passes, by definition."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_or_refused(check, name):
    f = PROGRAMS[name]
    try:
        (gradient,) = mo.gradient(f, 1.3)
    except mo.MorulaError:
        return
    if gradient == CONSTANT.get(name):
        return
    check(f, 1.3, rtol=1e-5)


def test_arguments_that_are_views_of_one_base_are_right_or_refused():
    def f(a, b):
        a *= 2
        return (a * b).sum()

    base = np.array([1.0, 2.0, 3.0])
    try:
        mo.gradient(f, base[:2], base[1:])
    except mo.MorulaError:
        return
    assert base.tolist() == [2.0, 4.0, 3.0]


def test_a_view_given_as_argument_writes_to_its_base():
    def f(v, x):
        v[0] = x
        v *= 2
        return v.sum()

    base = np.arange(6.0).reshape(2, 3)
    gv, gx = mo.gradient(f, base[:, 1], 5.0)
    assert gv.tolist() == [0.0, 2.0] and gx == 2.0
    assert base[:, 1].tolist() == [10.0, 8.0]


@pytest.mark.parametrize("a", [np.arange(6.0).reshape(2, 3).T, np.asfortranarray(np.ones((2, 3))), np.ones(6)[::-2]])
def test_arguments_of_any_memory_layout(check, a):
    def f(a):
        b = a.reshape(-1)
        c = a.ravel(order="K")
        b[0] = 3.0
        a[..., 0] *= 2
        return (a * a).sum() + (b * b).sum() + c.sum()

    g = a.copy(order="K")
    check(f, g)


def test_a_read_only_argument(check):
    a = np.arange(3.0)
    a.flags.writeable = False
    assert mo.gradient(lambda a: (a * a).sum(), a)[0].tolist() == [0.0, 2.0, 4.0]

    def write(a):
        a[0] = 1.0
        return a.sum()

    with pytest.raises(ValueError, match="read-only"):
        mo.gradient(write, a)


def test_the_cotangent_that_passes_straight_through_is_not_shared():
    _, back = mo.vjp(lambda a: a, np.ones(2))
    dy = np.array([1.0, 2.0])
    (da,) = back(dy)
    da *= 100
    assert dy.tolist() == [1.0, 2.0]
    _, back = mo.vjp(lambda a: (a, a[:1], a.T), np.ones(2))
    (da,) = back((dy, dy[:1], dy))
    assert da.tolist() == [3.0, 4.0] and dy.tolist() == [1.0, 2.0]


def test_a_result_that_appears_twice_collects_both_cotangents():
    _, back = mo.vjp(lambda x: [x * x] * 2, 3.0)
    assert back([1.0, 10.0]) == (66.0,)
    _, back = mo.vjp(lambda a: (a, a), np.ones(2))
    assert back((np.ones(2), 10 * np.ones(2)))[0].tolist() == [11.0, 11.0]


def test_a_result_that_is_overwritten_by_the_caller_is_right_or_refused():
    y, back = mo.vjp(lambda a: np.exp(a), np.zeros(2))
    y *= 0
    try:
        (g,) = back(np.ones(2))
    except mo.MorulaError:
        return
    assert g.tolist() == [1.0, 1.0]


def test_opaque_results_of_constants_are_constants():
    counts = [random.Random(k).random() for k in range(2)]

    def f(x):
        a = array.array("d", [1.0, 2.0])
        d = float(decimal.Decimal("1.5"))
        return x * a[1] * d * counts[0] * struct.unpack("d", struct.pack("d", 2.0))[0] * math.erf(0.5)

    assert mo.gradient(f, 1.0)[0] == pytest.approx(f(1.0))


def test_what_is_called_back_after_the_run_is_no_part_of_it():
    """A weak reference's callback runs when its object dies, and an iterator when it is used, be that much later."""
    kept, log = [], []

    class Body:
        def __init__(self, x):
            self.x = x

    def f(x):
        body, bodies = Body(x * x), weakref.WeakSet()
        bodies.add(body)
        functions = weakref.WeakSet()
        functions.add(f)
        by_name = weakref.WeakValueDictionary({"body": body})
        reference = weakref.ref(body, lambda r: log.append(x * 2))
        assert weakref.proxy(body, log.append) is not None and weakref.ref(f)() is f
        kept.extend((body, bodies, by_name, reference, map(lambda k: x * k, [1.0, 2.0])))
        return reference().x * len(bodies) * len(functions) + by_name["body"].x

    y, back = mo.vjp(f, 3.0)
    records = len(back.tape.records)
    bodies, by_name, reference, lazy = kept[1:]
    kept.clear()
    assert list(lazy) == [3.0, 6.0] and len(back.tape.records) == records
    assert y == 18.0 and back(1.0) == (12.0,)
    del back
    gc.collect()
    assert reference() is None and not bodies and not by_name and 6.0 in log


@pytest.mark.parametrize("x", [0.0, 2.0])
@pytest.mark.parametrize("make", [np.zeros, np.ones, np.empty], ids=lambda f: f.__name__)
def test_what_opaque_code_writes_is_refused_though_it_is_what_was_there(make, x):
    def f(x):
        stale = np.array([x, 7.0])  # its memory is what np.empty is likely to give next
        del stale
        a = make(2)
        struct.pack_into("2d", a, 0, x, 7.0)
        return a[0] + a[1]

    with pytest.raises(mo.NoDerivative, match="pack_into"):
        mo.grad(f)(x)


def test_opaque_code_that_may_have_written_leaves_a_differentiated_array_its_derivative():
    def f(x):
        a = np.array([x, 7.0])
        struct.pack_into("d", a, 8, 7.0)
        return a[0] * x

    assert mo.grad(f)(3.0) == 6.0


def test_numbers_in_lists_in_an_array_of_objects_are_followed_into_opaque_code():
    def f(x):
        lists = np.empty(1, object)
        lists[0] = []
        lists[0] = x.tolist()
        a, b = np.zeros(2), np.zeros(2)
        a[:] = lists[0]
        struct.pack_into("2d", b, 0, *a)
        return np.sum(b)

    with pytest.raises(mo.NoDerivative, match="pack_into"):
        mo.grad(f)(np.array([3.0, 7.0]))
