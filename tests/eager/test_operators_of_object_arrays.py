"""Operations on object arrays call the operators and methods of the elements' classes once, on the tape."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import numerical_vjp


class Value:
    """Counts what is done with it, and keeps what its last operator has computed."""

    count = 0

    def __init__(self, v):
        self.v, self.kept = v, 0.0

    def _with(self, other, v):
        Value.count += 1
        self.kept = self.v * getattr(other, "v", other)
        return v

    def __add__(self, other):
        return Value(self._with(other, self.v + other.v))

    def __sub__(self, other):
        return Value(self._with(other, self.v - other.v))

    def __mul__(self, other):
        return Value(self._with(other, self.v * other.v))

    def __floordiv__(self, other):
        return Value(self._with(other, self.v / other.v))

    def __neg__(self):
        return Value(self._with(2.0, -self.v))

    def __abs__(self):
        return Value(self._with(3.0, self.v))

    def __eq__(self, other):
        return self._with(other, True)

    def __ne__(self, other):
        return self._with(other, True)

    def __lt__(self, other):
        return self._with(other, True)

    def __ge__(self, other):
        return self._with(other, False)

    __hash__ = None

    def sin(self):
        return Value(self._with(1.5, np.sin(self.v)))


BINARY = ("add", "sub", "mul", "floordiv", "eq", "ne", "lt", "ge")
UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide, "eq": np.equal}
UFUNCS |= {"ne": np.not_equal, "lt": np.less, "ge": np.greater_equal}

CALLS = {
    **{f"operator {name}": getattr(operator, name) for name in BINARY},
    **{f"numpy {name}": UFUNCS[name] for name in BINARY},
    **{f"one object {name}": lambda a, b, f=getattr(operator, name): f(a, b[0]) for name in ("eq", "lt")},
    "in place": lambda a, b: operator.iadd(a, b),
    "minus": lambda a, b: -a,
    "abs": lambda a, b: abs(a),
    "method": lambda a, b: np.sin(a),
    **{f"out {name}": lambda a, b, f=UFUNCS[name]: f(a, b, out=np.empty(2, object)) for name in ("add", "mul", "lt")},
    "out by position": lambda a, b: np.subtract(a, b, np.empty(2, object)),
    "out in its own memory": lambda a, b: np.multiply(a, b, out=a),
    "out of a method": lambda a, b: np.sin(a, out=np.empty(2, object)),
    "where": lambda a, b: np.add(a, b, out=np.array([a[0], b[0]]), where=[True, False]),
    "reduce": lambda a, b: np.add.reduce(a),
    "reduce with out": lambda a, b: np.multiply.reduce(a, out=np.empty((), object)),
    "accumulate with out": lambda a, b: np.add.accumulate(a, out=np.empty(2, object)),
    "sum": lambda a, b: np.sum(a),
    "sum along": lambda a, b: np.sum(a, axis=0),
    "sum as a method": lambda a, b: a.sum(),
    "product": lambda a, b: np.prod(a),
    "running sum": lambda a, b: np.cumsum(a),
    "matmul": lambda a, b: a @ b,
    "dot": lambda a, b: np.dot(a, b),
    "array_equal": lambda a, b: np.array_equal(a, b),
    "sort": lambda a, b: np.sort(a),
}
REFUSED = {"matmul", "dot", "array_equal", "sort", "where"}


def program(call):
    def f(x):
        a = np.array([Value(x), Value(2 * x)], dtype=object)
        b = np.array([Value(x * x), Value(3 * x)], dtype=object)
        entries, Value.count = a.tolist(), 0
        found = call(a, b)
        counted = Value.count
        made = sum(e.v for e in np.ravel(found) if isinstance(e, Value))
        return made + sum(e.kept for e in entries), counted

    return f


@pytest.mark.parametrize("name", CALLS)
def test_what_operators_of_entries_give_and_store_is_recorded_and_they_run_once(name):
    f = program(CALLS[name])
    value, counted = f(1.5)
    try:
        (found, again), gradient = mo.value_and_grad(f, has_aux=True)(1.5)
    except mo.NoDerivative as error:
        text = (
            "(where=) of an array of objects cannot be differentiated"
            if name == "where"
            else "was called by code written in C"
        )
        assert name in REFUSED and text in str(error)
        return
    assert (found, again) == (value, counted)
    expected, error = numerical_vjp(lambda x: f(x)[0], 1.0, 1.5)
    assert abs(gradient - expected[0]) <= 1e-8 + 2 * error[0]


@pytest.mark.parametrize("name", ["operator eq", "numpy lt", "operator ge"])
def test_comparisons_give_arrays_of_bools(name):
    def f(x):
        a = np.array([Value(x), Value(2 * x)], dtype=object)
        found = CALLS[name](a, a)
        return x, found

    _, found = mo.value_and_grad(f, has_aux=True)(1.5)[0]
    assert found.dtype == bool and found.tolist() == f(1.5)[1].tolist()
