"""Forward mode on dual numbers: exact derivatives without step sizes, independent of the engine.

``Dual`` numbers nest: the parts of one may be duals of another level, so that derivatives of derivatives are exact.
``transforms`` provides them under morula's names, to replace ``mo`` in programs that take derivatives inside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

_levels = itertools.count(1)


class Dual:
    """A number with its derivative, or with an array of its derivatives with respect to all inputs."""

    def __init__(self, value: Any, slope: Any, level: int = 0) -> None:
        self.value, self.slope, self.level = value, slope, level

    def _with(self, other: Any, operation: Callable[..., Any]) -> Any:
        """``operation`` on the values and slopes of two numbers, both lifted to the higher of their levels."""
        if isinstance(other, np.ndarray):
            if other.ndim:
                return NotImplemented
            other = other[()]
        if not isinstance(other, (Dual, int, float, np.number)):
            return NotImplemented
        level = max(self.level, other.level) if isinstance(other, Dual) else self.level
        a, b = lift(self, level), lift(other, level)
        value, slope = operation(a.value, a.slope, b.value, b.slope)
        return Dual(value, slope, level)

    def __add__(self, other):
        return self._with(other, lambda a, da, b, db: (a + b, da + db))

    def __mul__(self, other):
        return self._with(other, lambda a, da, b, db: (a * b, da * b + a * db))

    def __sub__(self, other):
        return self._with(other, lambda a, da, b, db: (a - b, da - db))

    def __rsub__(self, other):
        return self._with(other, lambda a, da, b, db: (b - a, db - da))

    def __truediv__(self, other):
        return self._with(other, lambda a, da, b, db: (a / b, (da - a / b * db) / b))

    def __rtruediv__(self, other):
        return self._with(other, lambda a, da, b, db: (b / a, (db - b / a * da) / a))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return Dual(-self.value, -self.slope, self.level)

    def __pos__(self):
        return self

    def __abs__(self):
        return -self if self < 0 else self

    def __pow__(self, n):
        if isinstance(n, Dual):
            return (n * self.log()).exp()
        return Dual(self.value**n, n * self.value ** (n - 1) * self.slope if n else 0 * self.slope, self.level)

    def __rpow__(self, base):
        return (self * math.log(base)).exp()

    def __mod__(self, other):
        return self - (float(primal(self)) // primal(other)) * other

    def __floordiv__(self, other):
        return primal(self) // primal(other)

    def __float__(self):
        return float(primal(self))

    def __int__(self):
        return int(primal(self))

    def __index__(self):
        return primal(self).__index__()

    def __bool__(self):
        return bool(primal(self))

    def __gt__(self, other):
        return primal(self) > primal(other)

    def __lt__(self, other):
        return primal(self) < primal(other)

    def __ge__(self, other):
        return primal(self) >= primal(other)

    def __le__(self, other):
        return primal(self) <= primal(other)

    def __eq__(self, other):
        return primal(self) == primal(other)

    def __hash__(self):
        return hash(primal(self))

    # NumPy's functions call these methods for objects.

    def sin(self):
        return Dual(np.sin(self.value), self.slope * np.cos(self.value), self.level)

    def cos(self):
        return Dual(np.cos(self.value), -self.slope * np.sin(self.value), self.level)

    def tanh(self):
        y = np.tanh(self.value)
        return Dual(y, self.slope * (1 - y * y), self.level)

    def exp(self):
        y = np.exp(self.value)
        return Dual(y, self.slope * y, self.level)

    def log(self):
        return Dual(np.log(self.value), self.slope / self.value, self.level)

    def sqrt(self):
        y = np.sqrt(self.value)
        return Dual(y, self.slope / (2 * y), self.level)

    def conjugate(self):
        return self


def lift(x: Any, level: int = 0) -> Dual:
    if isinstance(x, np.ndarray):  # a 0-dimensional array
        x = x[()]
    return x if isinstance(x, Dual) and x.level == level else Dual(x, 0.0, level)


def primal(x: Any) -> Any:
    """The plain number under all levels."""
    while isinstance(x, Dual):
        x = x.value
    return x


class DualNumPy:
    """NumPy, with arrays of objects instead of arrays of floats, so that they can hold duals."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def zeros(self, shape: Any) -> np.ndarray:
        return np.zeros(shape, object)

    def array(self, items: Any, dtype: Any = None) -> np.ndarray:
        made = np.array(items)
        return made if dtype is None else np.array(items, object if made.dtype == object else dtype)


MATH = SimpleNamespace(sin=np.sin, cos=np.cos, tanh=np.tanh, exp=np.exp, log=np.log, sqrt=np.sqrt, pi=math.pi)
"""``math`` for dual numbers: NumPy's functions call the methods of objects."""


def forward_gradient(f: Callable[..., Any], args: tuple[Any, ...]) -> list[np.ndarray]:
    """The gradient by forward mode, in the structure of args: floats and float arrays."""
    size = sum(np.size(x) for x in args)
    units = iter(np.eye(size))
    duals = [np.vectorize(lambda v: Dual(float(v), next(units)), otypes=[object])(x) for x in args]
    y = f(*(d if d.ndim else d[()] for d in duals))
    ends = list(itertools.accumulate(np.size(x) for x in args))
    slope = np.broadcast_to(lift(y).slope, (size,))
    return [s.reshape(np.shape(x)) for s, x in zip(np.split(slope, ends), args)]


def derivative(f: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """The value and the derivative of a function of one number; both may be duals of enclosing levels."""
    level = next(_levels)
    y = f(Dual(x, 1, level))
    y = y[()] if isinstance(y, np.ndarray) else y
    return (y.value, y.slope) if isinstance(y, Dual) and y.level == level else (y, 0)


def _gradient(f: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    return tuple(_partial(f, args, i) for i in range(len(args)))


def _partial(f: Callable[..., Any], args: tuple[Any, ...], i: int) -> Any:
    def along(t: Any, k: Any = None) -> Any:
        x = args[i]
        if k is not None:
            x = type(x)(t if j == k else e for j, e in enumerate(x)) if isinstance(x, (list, tuple)) else _set(x, k, t)
        return f(*args[:i], t if k is None else x, *args[i + 1 :])

    if isinstance(args[i], (list, tuple)):
        return type(args[i])(derivative(lambda t, k=k: along(t, k), e)[1] for k, e in enumerate(args[i]))
    if isinstance(args[i], np.ndarray):
        return np.array([derivative(lambda t, k=k: along(t, k), e)[1] for k, e in enumerate(args[i])], object)
    return derivative(along, args[i])[1]


def _set(x: np.ndarray, k: int, t: Any) -> np.ndarray:
    result = x.astype(object)
    result[k] = t
    return result


def _grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    one = isinstance(argnums, int)
    return lambda *args: _partial(f, args, argnums) if one else tuple(_partial(f, args, i) for i in argnums)


def _hessian(f: Callable[..., Any]) -> Callable[..., Any]:
    def of(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return _grad(_grad(f))(x)
        rows = [_grad(lambda v, k=k: _grad(f)(v)[k])(x) for k in range(len(x))]
        return np.array(rows, object)

    return of


def _jacobian(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: np.array([_grad(lambda v, k=k: f(v)[k])(x) for k in range(len(f(x)))], object)


transforms = SimpleNamespace(
    grad=_grad,
    gradient=_gradient,
    value_and_grad=lambda f, argnums=0: lambda *args: (f(*args), _grad(f, argnums)(*args)),
    hessian=_hessian,
    jacobian=_jacobian,
    pullback=lambda f, *args: (f(*args), lambda dy: tuple(dy * g for g in _gradient(f, *args))),
    forwarddiff=lambda f, x: f(x),
    checkpoint=lambda f, *args, **kwargs: f(*args, **kwargs),
    nestlevel=lambda: 0,
)
