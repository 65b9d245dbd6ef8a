"""All calling forms of Python's built-in functions and of array iterators."""

from __future__ import annotations

import cmath
import linecache
import math

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders

FORMS = """
round(x * 1.3)
round(x * 1.3, 1)
round(x * 1.3, ndigits=1)
round(number=x * 1.3, ndigits=1)
round(number=x * 1.3)
round(x * 1.3, None)
complex(x, 2 * x)
complex(real=x, imag=2 * x)
complex(imag=x)
complex(real=x)
complex(x, imag=x)
complex(1, real=x)
complex(x, real=x)
complex(x, unknown=x)
float(x)
float(x=x)
pow(x, 2)
pow(base=x, exp=2)
pow(x, exp=2)
sum([x, x * x])
sum([x, x * x], x)
sum([x, x * x], start=x)
sum(iterable=[x])
max(x, 0.2)
max([x, 0.2], key=abs)
max([], default=x)
max([x], default=0.0)
min(x * x, x, key=lambda y: -y)
min((), default=x * x)
sorted([x, -x], reverse=True)[0]
sorted([x, -x], key=lambda y: -y)[0]
list(enumerate([x, 2 * x], start=1))[1][0] * x
list(enumerate([x, 2 * x], 1))[1][1]
list(enumerate(iterable=[x, 2 * x]))[1][1]
list(zip([x], [2 * x], strict=True))[0][1]
list(map(lambda a, b: a * b, [x], [x]))[0]
divmod(x * 7, 2)[1]
abs(x)
math.prod([x, x])
math.prod([x, x], start=x)
math.fsum([x, x])
math.hypot(x, 2 * x)
math.dist([x, 1.0], [0.0, x])
math.log(x, 2)
math.isclose(x, x, rel_tol=1e-3) * x
math.sumprod([x, 1.0], [x, x]) if hasattr(math, "sumprod") else x
cmath.log(x, 2).real
cmath.rect(x, x).imag
list(a.__iter__())[1] * x
list(iter(a))[1] * x
a.__iter__().__next__() * x
next(a.__iter__(), x)
a.flat.__next__() * x
next(a.flat) * x
next(iter(a.flat)) * x
list(a.flat.__iter__())[2]
a.flat.copy()[1]
a.flat.__array__()[1]
a.data.tolist()[1] * x
list(a.data)[2] * x
a.data[1] * x
a.tolist()[1] * x
a.item(1) * x
a.__getitem__(1) * x
a.__getitem__(slice(0, 2)).sum()
a.__add__(x).sum()
a.__radd__(x).sum()
a.dot([1, x, 2.0])
a.dot([1, 0, 2])
a.dot((1.0, x, 2.0))
np.dot([1, x, 2.0], a)
np.dot(a, [1.0, 2.0, x])
np.inner([x, 1, 1], a)
np.matmul([[x, 1.0, 2.0]], a)[0]
np.tensordot([x, 1, 1], a, 1)
np.linalg.norm([x, 2.0])
np.where([True, False, True], [x, x, x], a).sum()
np.abs([x, -x]).sum()
np.maximum([x, 2], [0.1, x]).sum()
np.sum([x, 2 * x])
np.take([x, 2 * x], [1, 1]).sum()
np.outer([x, 1], (x, 2)).sum()
np.kron([x, 1], [1, x]).sum()
""".strip().split("\n")


def program(text: str, recorded: bool):
    body = ["a = np.array([1.0, 2.0, 3.0]) * x", f"r = {text}", "return abs(r) + 0.5 * x"]
    if recorded:
        body = ["try:", *("    " + line for line in body), "finally:", "    pass"]
    lines = ["def f(x):\n", *(f"    {line}\n" for line in body)]
    filename = f"<{text} {recorded}>"
    linecache.cache[filename] = (0, None, lines, filename)
    scope = {"np": np, "math": math, "cmath": cmath}
    exec(compile("".join(lines), filename, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("recorded", [False, True], ids=["structured", "recorded"])
@pytest.mark.parametrize("text", FORMS)
def test_a_call_is_right_or_raises_as_in_python(text, recorded):
    f = program(text, recorded)
    try:
        expected = f(0.63)
    except TypeError:
        with pytest.raises(TypeError):
            mo.grad(f)(0.63)
        return
    value, slope = mo.value_and_grad(f)(0.63)
    assert value == pytest.approx(expected, rel=1e-12)
    assert slope == pytest.approx(ridders(lambda h: f(0.63 + h), 0.01)[0], rel=1e-7)


class Both:
    """An object with a value as a real and another as a complex number."""

    def __init__(self, x):
        self.x = x

    def __float__(self):
        return 7.0 * self.x

    def __complex__(self):
        return 2.0 * self.x + 0.3j


ONE_ARGUMENT = [
    f
    for name, f in vars(cmath).items()
    if callable(f) and not name.startswith("_") and name not in ("isclose", "rect", "isfinite", "isinf", "isnan")
]


@pytest.mark.parametrize("function", [*ONE_ARGUMENT, complex, np.complex128], ids=lambda f: f.__name__)
def test_complex_functions_ask_an_object_for_its_complex_value(function):
    def f(x):
        y = function(Both(x))
        y = y[0] + 0.3 * y[1] if isinstance(y, tuple) else y
        return y.real + 0.7 * y.imag

    value, slope = mo.value_and_grad(f)(0.3)
    assert value == f(0.3)
    assert slope == pytest.approx(ridders(lambda h: f(0.3 + h), 0.01)[0], rel=1e-6)


def test_real_functions_ask_an_object_for_its_real_value():
    assert mo.value_and_grad(lambda x: math.exp(Both(x)))(0.1) == (math.exp(0.7), pytest.approx(7 * math.exp(0.7)))
    assert mo.value_and_grad(lambda x: float(Both(x)))(0.1) == (pytest.approx(0.7), 7.0)
