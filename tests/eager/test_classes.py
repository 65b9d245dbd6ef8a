"""Classes: attribute protocols, inheritance, operators, and the standard library's class makers."""

from __future__ import annotations

import abc
import enum
import functools
import linecache
import math
import weakref
from collections import namedtuple
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np
import pytest

import morula as mo
from morula.core.values.reachable import reached


class Body:
    """A user's class: mutable state, methods that call methods."""

    def __init__(self, position, velocity):
        self.position = position
        self.velocity = velocity

    def accelerate(self, a, dt):
        self.velocity = self.velocity + a * dt

    def move(self, dt):
        self.accelerate(-self.position, dt)
        self.position += self.velocity * dt
        return self


def test_methods_that_mutate_their_object(check):
    def f(x, dt):
        body = Body(x, 0.5)
        for _ in range(5):
            body.move(dt)
        return body.position * body.velocity

    check(f, 1.0, 0.1)


def test_an_object_as_argument_has_an_object_as_gradient(check):
    def f(body, dt):
        return body.move(dt).move(dt).position ** 2

    gradient, _ = check(f, Body(1.0, 0.5), 0.1)
    assert type(gradient) is Body and set(vars(gradient)) == {"position", "velocity"}


def test_a_gradient_object_is_made_without_init():
    class Strict:
        made = 0

        def __init__(self, x, name):
            Strict.made += 1
            self.x, self.name, self.unused = x, name, np.ones(2)

    (gradient,) = mo.gradient(lambda s: s.x**2, Strict(3.0, "name"))
    assert Strict.made == 1
    assert gradient.x == 6.0 and gradient.name is None and gradient.unused.tolist() == [0.0, 0.0]


def test_class_attributes_are_shared_constants(check):
    class Model:
        gravity = 9.81

        def fall(self, t):
            return 0.5 * self.gravity * t**2 + Model.gravity

    check(lambda t: Model().fall(t), 1.5)


def test_a_class_attribute_written_with_an_active_value(check):
    class Model:
        rate = 1.0

    def f(x):
        Model.rate = x * x
        y = Model().rate * x
        Model.rate = 1.0
        return y

    check(f, 1.5)


def test_a_property_and_its_setter(check):
    class Circle:
        def __init__(self, radius):
            self.radius = radius

        @property
        def area(self):
            return math.pi * self.radius**2

        @area.setter
        def area(self, value):
            self.radius = math.sqrt(value / math.pi)

    def f(x):
        c = Circle(x)
        y = c.area
        c.area = y * x
        c.area += 1.0
        return c.radius * y

    check(f, 1.5)


def test_class_and_static_methods(check):
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

        @classmethod
        def polar(cls, r, t):
            return cls(cls.scale(r) * math.cos(t), r * math.sin(t))

        @staticmethod
        def scale(r):
            return r * 2

        def flip(self):
            return type(self)(self.y, self.x)

    def f(r, t):
        p = Point.polar(r, t).flip()
        return p.x * p.y + Point.scale(r) * p.scale(t)

    check(f, 1.5, 0.7)


def test_inheritance_and_super(check):
    class Base:
        def __init__(self, x, **rest):
            super().__init__(**rest)
            self.x = x

        def value(self, y):
            return self.x * y

    class Left(Base):
        def __init__(self, x, left, **rest):
            super().__init__(x * 2, **rest)
            self.left = left

        def value(self, y):
            return super().value(y) + self.left * y

    class Right(Base):
        def __init__(self, x, right, **rest):
            super(Right, self).__init__(x + 1, **rest)
            self.right = right

        def value(self, y):
            return super().value(y * self.right) ** 2

    class Both(Left, Right):
        def __init__(self, x):
            super().__init__(x, left=x * x, right=x)

    check(lambda x: Both(x).value(x), 0.7)


def test_an_abstract_base_class(check):
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

        def double(self):
            return 2 * self.area()

    class Square(Shape):
        def __init__(self, side):
            self.side = side

        def area(self):
            return self.side**2

    check(lambda x: Square(x).double(), 1.5)


class Dual:
    """Dunder operators of a user's number, reflected and in-place ones included."""

    def __init__(self, a, b=0.0):
        self.a, self.b = a, b

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.a + other.a, self.b + other.b)

    __radd__ = __add__

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return (-self) + other

    def __neg__(self):
        return Dual(-self.a, -self.b)

    def __mul__(self, other):
        if isinstance(other, Dual):
            return Dual(self.a * other.a, self.a * other.b + self.b * other.a)
        if isinstance(other, str):
            return NotImplemented
        return Dual(self.a * other, self.b * other)

    __rmul__ = __mul__

    def __imul__(self, other):
        self.a *= other
        self.b *= other
        return self

    def __pow__(self, n):
        return self if n == 1 else self * self ** (n - 1)

    def __matmul__(self, other):
        return self.a * other.a + self.b * other.b

    def __abs__(self):
        return math.hypot(self.a, self.b)

    def __lt__(self, other):
        return self.a < other.a

    def __eq__(self, other):
        return self.a == other.a

    def __hash__(self):
        return hash(self.a)

    def __float__(self):
        return float(self.a)

    def __bool__(self):
        return self.a != 0

    def __invert__(self):
        return Dual(self.b, self.a)


def test_dunder_operators(check):
    check(lambda x: (Dual(x, 1.0) ** 3 * 2 + Dual(x) * Dual(1.0, x) - Dual(x, x)).b, 1.5)


def test_reflected_operators(check):
    def f(x):
        d = 2 * Dual(x, 1.0)
        d = 1.0 - d
        d = x * d + (x + d)
        return abs(~d) + sum([d, d]).a

    check(f, 1.5)


def test_in_place_operators_keep_identity(check):
    def f(x):
        d = e = Dual(x, 1.0)
        d *= x
        d += 1.0
        return e.a * d.a + e.b

    check(f, 1.5)


def test_a_user_matmul_and_comparison_choose(check):
    def f(x):
        d, e = Dual(x, 2.0), Dual(x * x, 3.0)
        big = max(d, e)
        return (d @ e) * big.a if d < e and d and d != e else d.a

    check(f, 1.5)


def test_not_implemented_falls_back(check):
    class Text(str):
        def __rmul__(self, other):
            return other.a * len(self)

    check(lambda x: Dual(x * x) * Text("abc"), 1.5)


def test_container_protocol(check):
    class Ring:
        def __init__(self, values):
            self.values = list(values)

        def __len__(self):
            return len(self.values)

        def __getitem__(self, i):
            return self.values[i % len(self)]

        def __setitem__(self, i, value):
            self.values[i % len(self)] = value

        def __delitem__(self, i):
            del self.values[i]

        def __contains__(self, value):
            return value in self.values

        def __iter__(self):
            return iter(self.values)

        def __reversed__(self):
            return (2 * v for v in self.values[::-1])

    def f(x):
        ring = Ring([x, x * x, 3.0])
        ring[4] = ring[-2] * x
        ring[5] += ring[0]
        y = sum(ring) + len(ring) * ring[7]
        a, b, c = ring
        del ring[0]
        return y * a + b * c * (x in ring) + next(iter(reversed(ring))) + [v * x for v in ring][0]

    check(f, 1.5)


def test_iteration_by_getitem_alone(check):
    class Powers:
        def __init__(self, x):
            self.x = x

        def __getitem__(self, i):
            if i > 3:
                raise IndexError
            return self.x**i

    check(lambda x: sum(p * p for p in Powers(x)), 1.2)


def test_an_iterator_class(check):
    class Halving:
        def __init__(self, x):
            self.x = x

        def __iter__(self):
            return self

        def __next__(self):
            if self.x < 0.1:
                raise StopIteration
            self.x /= 2
            return self.x

    check(lambda x: sum(h * x for h in Halving(x)), 1.5)


def test_call(check):
    class Polynomial:
        def __init__(self, *c):
            self.c = c

        def __call__(self, x):
            y = 0.0
            for c in reversed(self.c):
                y = y * x + c
            return y

    check(lambda a, x: Polynomial(1.0, a, a * x)(x), 2.0, 1.5)


def test_getattr_answers_for_what_is_missing(check):
    class Lazy:
        def __init__(self, data):
            self.data = data

        def __getattr__(self, name):
            if name.startswith("twice_"):
                return 2 * self.data[name[6:]]
            raise AttributeError(name)

    def f(x):
        lazy = Lazy({"a": x, "b": x * x})
        return lazy.twice_a * lazy.twice_b * (1 + hasattr(lazy, "other"))

    check(f, 1.5)


def test_setattr_hook(check):
    class Logged:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            if name != "total":
                self.total = getattr(self, "total", 0.0) + value

    def f(x):
        p = Logged()
        p.a = x
        p.b = x * p.a
        p.a = p.b
        return p.total * p.a

    check(f, 1.5)


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def grow(self):
        self.x *= self.y
        return self.x


def test_slots(check):
    def f(s):
        s.grow()
        return s.grow() + s.y

    (gradient,) = check(f, Slotted(1.5, 2.0))
    assert type(gradient) is Slotted


def test_a_descriptor(check):
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner=None):
            return math.exp(getattr(instance, self.name))

        def __set__(self, instance, value):
            setattr(instance, self.name, math.log(value))

    class Model:
        rate = Positive()

    def f(x):
        m = Model()
        m.rate = x
        m.rate = m.rate * x
        return m.rate + m._rate

    check(f, 1.5)


def test_new_and_init_subclass(check):
    class Registered:
        kinds = []

        def __init_subclass__(cls, **kw):
            super().__init_subclass__(**kw)
            Registered.kinds.append(cls)

        def __new__(cls, x):
            self = super().__new__(cls)
            self.made = x * 2
            return self

    class Child(Registered):
        def __init__(self, x):
            self.x = x

    def f(x):
        c = Registered.kinds[0](x)
        return c.made * c.x

    assert Child in Registered.kinds
    check(f, 1.5)


def test_a_metaclass_call(check):
    class Meta(type):
        def __call__(cls, x):
            self = super().__call__(x * 2)
            self.extra = x
            return self

    class Model(metaclass=Meta):
        def __init__(self, x):
            self.x = x

    def f(x):
        m = Model(x)
        return m.x * m.extra

    check(f, 1.5)


@dataclass
class Particle:
    mass: float
    place: np.ndarray
    name: str = "p"
    history: list = field(default_factory=list)
    energy: float = field(init=False)

    def __post_init__(self):
        self.energy = self.mass * (self.place**2).sum()

    def step(self, dt):
        self.history.append(self.place)
        self.place = self.place * (1 - dt * self.mass)
        return self


def test_a_dataclass_with_factory_and_post_init(check):
    def f(m, place):
        p = Particle(m, place)
        p.step(0.1).step(0.2)
        return p.energy * p.place.sum() + p.history[1].sum()

    check(f, 1.5, np.array([1.0, 2.0]))


def test_a_dataclass_as_argument(check):
    def f(p):
        p.step(0.1)
        return p.mass * p.place.sum() + p.energy + sum(h.sum() for h in p.history)

    (gradient,) = check(f, Particle(1.5, np.array([1.0, 2.0])))
    assert type(gradient) is Particle and gradient.name is None


@dataclass(frozen=True)
class Rates:
    growth: float
    death: float = 0.5

    def __add__(self, other):
        return Rates(self.growth + other.growth, self.death + other.death)


def test_a_frozen_dataclass(check):
    def f(r):
        s = replace(r + r, growth=r.growth * r.death)
        return s.growth * s.death + r.growth

    (gradient,) = check(f, Rates(1.5, 2.0))
    assert type(gradient) is Rates


def test_an_ordered_dataclass(check):
    @dataclass(order=True)
    class Item:
        cost: float
        weight: float = field(compare=False)

    def f(x):
        items = sorted([Item(x * 2, x), Item(x, 2.0), Item(x * 3, x * x)])
        return items[0].weight * items[-1].weight + min(items).cost

    check(f, 1.5)


Pair = namedtuple("Pair", "a b")


class Typed(NamedTuple):
    x: float
    y: float = 2.0

    def norm(self):
        return math.hypot(*self)


def test_a_namedtuple_as_argument_and_inside(check):
    def f(p):
        q = p._replace(a=p.b * p.a)
        a, b = q
        return a * b + q[0] * Pair(b=a, a=b).b + Typed(a).norm() + Typed(x=a, y=b).y

    (gradient,) = check(f, Pair(1.5, 2.0))
    assert type(gradient) is Pair


def test_an_enum_chooses(check):
    class Kind(enum.Enum):
        LINEAR = "linear"
        SQUARE = 2

    class Order(enum.IntEnum):
        ONE = 1
        TWO = 2

    def f(x):
        y = 0.0
        for kind in Kind:
            if kind is Kind.SQUARE:
                y += x**kind.value
            elif kind == Kind("linear"):
                y += x
        return y * x**Order.TWO + x * len(Kind)

    check(f, 1.5)


def test_isinstance_and_type_choose(check):
    def f(x):
        y = x if isinstance(x, float) else 0.0
        return y * y if type(y) is float and issubclass(bool, int) and callable(f) else y

    check(f, 1.5)


def test_an_object_graph_with_a_cycle(check):
    class Node:
        def __init__(self, value):
            self.value = value
            self.next = self

    def f(x):
        a, b = Node(x), Node(x * x)
        a.next, b.next = b, a
        node = a
        for _ in range(3):
            node.value *= node.next.value
            node = node.next
        return a.value + b.value

    check(f, 1.1)


def test_an_object_shared_by_two_names(check):
    def f(x):
        a = Body(x, 1.0)
        team = [a, a]
        team[0].position *= x
        team[1].position *= x
        return a.position + vars(a)["position"] * a.__dict__["velocity"]

    check(f, 1.5)


def test_objects_in_containers_as_arguments(check):
    def f(model):
        y = 0.0
        for layer in model["layers"]:
            y = math.tanh(layer.position * y + layer.velocity)
        return y * model["scale"][0]

    (gradient,) = check(f, {"layers": [Body(0.5, 0.1), Body(-1.0, 0.3)], "scale": (2.0,)})
    assert type(gradient["layers"]) is list and type(gradient["layers"][0]) is Body
    assert type(gradient["scale"]) is tuple


def test_a_list_subclass_and_a_dict_subclass(check):
    class Stack(list):
        def push(self, x):
            self.append(x)
            return self

    class Config(dict):
        __getattr__ = dict.__getitem__

    def f(x):
        s = Stack([x]).push(x * x).push(3.0)
        c = Config(rate=x)
        return s[0] * s[1] * s[-1] + c.rate * len(s)

    check(f, 1.5)


def test_a_float_subclass_keeps_its_value(check):
    class Metre(float):
        def double(self):
            return Metre(self * 2)

    check(lambda x: Metre(x).double() * x, 1.5)


@pytest.mark.parametrize("base", [float, complex, np.float64])
def test_parts_of_a_number_of_a_derived_class(check, base):
    class Number(base):
        pass

    check(lambda x: Number(x * x).real + 3.0 * Number(x).conjugate().real + getattr(Number(x), "real"), 1.5)  # noqa: B009
    check(lambda x: x * Number(x * (1j if base is complex else 1.0)).imag, 1.5)


def test_nested_classes_and_private_names(check):
    class Outer:
        class Inner:
            def __init__(self, x):
                self.__x = x

            def value(self):
                return self.__x**2

        def __init__(self, x):
            self.inner = Outer.Inner(x)

    check(lambda x: Outer(x).inner.value(), 1.5)


def test_context_and_repr_methods_do_not_disturb(check):
    class Noisy:
        def __init__(self, x):
            self.x = x

        def __repr__(self):
            return f"Noisy({self.x})"

        def __format__(self, spec):
            return format(self.x, spec)

    def f(x):
        n = Noisy(x)
        return x * len(repr(n)[:5]) + n.x * len(f"{n:.2f}") + len(str(n)[:5])

    check(f, 1.5)


def test_attributes_of_an_array_subclass(check):
    """The subclass of the user's guide of NumPy, with an attribute that is passed on and one that is computed."""

    class Signal(np.ndarray):
        def __new__(cls, values, rate):
            made = np.asarray(values).view(cls)
            made.rate = rate
            return made

        def __array_finalize__(self, made_from):
            if made_from is not None:
                self.rate = getattr(made_from, "rate", None)

        @property
        def doubled(self):
            return self.rate * 2

        @doubled.setter
        def doubled(self, value):
            self.rate = value / 2

    def f(a, x):
        signal = Signal(a * x, x * x)
        signal.label = {"of": x}
        signal.doubled = signal.doubled * x
        part = signal[1:] * signal.label["of"]
        return float(part.sum()) * part.rate

    check(f, np.array([1.0, 2.0, 3.0]), 1.5)


def test_an_array_of_a_subclass_is_a_result():
    class Signal(np.ndarray):
        pass

    y, back = mo.pullback(lambda x: np.array([x, x * x]).view(Signal) * x, 1.5)
    assert back(np.array([1.0, 2.0])) == (2 * 1.5 + 2.0 * 3 * 1.5**2,)


class Counted(type):
    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.scale = made.x * 2
        return made


class CountedTwice(Counted):
    def __call__(cls, x):
        return super().__call__(x * x)


def test_a_metaclass_that_takes_part_in_making_an_instance(check):
    class One(metaclass=Counted):
        def __init__(self, x):
            self.x = x * x

    class Two(metaclass=CountedTwice):
        def __init__(self, x):
            self.x = 3 * x

    def f(x, y):
        one, two = One(x), Two(y)
        return one.scale * two.x + type.__call__(One, y).x + two.scale

    check(f, 1.5, 0.7)


def test_a_generated_method_that_was_compiled_outside_of_its_class(check):
    """As ``attrs`` makes ``__init__``: its source is registered, its name says that it is of the class."""
    text = "def __init__(self, x):\n    self.x = __convert_x(x)\n    self.items = __factory()\n"
    filename = "<generated __init__ of Point>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope = {"__convert_x": lambda x: x * x, "__factory": lambda: [2.0]}
    exec(compile(text, filename, "exec"), scope)

    class Point:
        __init__ = scope["__init__"]

    Point.__init__.__qualname__ = "Point.__init__"
    check(lambda x: Point(x).x * Point(x).items[0], 1.5)


class Positive:
    """A descriptor that stores the square of what it is given."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return 0.5 if instance is None else getattr(instance, self.name)

    def __set__(self, instance, value):
        object.__setattr__(instance, self.name, value * value)


@dataclass(frozen=True)
class Frozen:
    a: float = Positive()  # type: ignore[assignment]
    b: float = 2.0


@dataclass
class Checked:
    a: float
    b: float = 2.0

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 3)


@pytest.mark.parametrize("cls", [Frozen, Checked])
def test_what_a_dataclass_stores_passes_through_the_class(check, cls):
    check(lambda x, y: cls(x).a * cls(x, b=y).b, 1.5, 0.7)


def test_an_attribute_that_is_computed_when_it_is_looked_for(check):
    class Lazy:
        def __init__(self, x):
            self.x, self.found = x, {}

        @property
        def square(self):
            if "square" not in self.found:
                self.found["square"] = self.x * self.x
            return self.found["square"]

        def __repr__(self):
            self.found["text"] = self.x * 3
            return "Lazy"

        def __hash__(self):
            self.found["hash"] = self.x * 5
            return 1

    def f(x):
        lazy = Lazy(x)
        table = {hash(lazy): repr(lazy)}
        return lazy.square * (hasattr(lazy, "square") + len(table)) + lazy.found["text"] + lazy.found["hash"]

    check(f, 1.5)
    check(lambda x: Lazy(x).square if hasattr(Lazy(x), "square") else x, 1.5)

    def looked_for(x):
        lazy = Lazy(x)
        return lazy.square if hasattr(lazy, "square") else x

    check(looked_for, 1.5)


def test_a_callable_object_is_a_result():
    class Line:
        def __init__(self, slope, shift):
            self.slope, self.shift = slope, shift

        def __call__(self, x):
            return self.slope * x + self.shift

    _, back = mo.pullback(lambda x: Line(x * x, x), 1.5)
    assert back(Line(0.0, 1.0)) == (1.0,) and back(Line(1.0, 0.0)) == (3.0,)


def test_a_dataclass_made_in_the_run_has_its_fields(check):
    def f(x, y):
        @dataclass(order=True)
        class Point:
            a: float
            b: float = x * y
            c: list = field(default_factory=list)
            if x > 0:
                d: float = 3.0

        p = replace(Point(x), d=y)
        p.c.append(x)
        return p.a * p.b * p.d * p.c[0] + len(fields(Point)) * x + y * (Point(9.0) > p)

    check(f, 1.5, 0.7)


class Metres(float):
    def __new__(cls, x, scale=1.0):
        return float.__new__(cls, x * scale)


class Named:
    def __new__(cls, kind, x, name):
        made = kind.__new__(cls, x)
        made.name = name
        return made


class Height(float, Named):
    def __new__(cls, x):
        return Named.__new__(cls, float, x, "height")


class Half(float):
    def __new__(cls, x):
        return super().__new__(cls, x / 2)


class Phasor(complex):
    def __new__(cls, x):
        return complex.__new__(cls, x, 2.0)


class Double(np.float64):
    def __new__(cls, x):
        return np.float64.__new__(cls, x * 2)


@pytest.mark.parametrize("cls", [Metres, Height, Half, Phasor, Double])
def test_numbers_of_a_class_that_makes_them_itself(check, cls):
    def f(x):
        made = cls(x * x)
        assert type(made) is cls
        return abs(made) + abs(made * made)

    check(f, 1.5)


def test_a_hash_beyond_the_range_of_hashes():
    class Large:
        def __init__(self, x):
            self.x = x

        def __hash__(self):
            return 10**30 if self.x > 1 else -1

    def f(x):
        assert hash(Large(x)) == hash(10**30) and hash(Large(-x)) == -2
        return {Large(x): x}.popitem()[1]

    assert mo.gradient(f, 1.5) == (1.0,)


class Derived(property):
    """As packages derive their own kinds of properties."""


class Kept:
    def __init__(self, x):
        self.x, self.deleted = x, 0.0

    @Derived
    def square(self):
        return self.x * self.x

    @square.setter
    def square(self, value):
        self.x = value / 2

    @square.deleter
    def square(self):
        self.deleted = self.x * 3


def test_a_class_derived_from_property(check):
    def f(x):
        kept = Kept(x)
        kept.square = kept.square * x
        del kept.square
        return kept.square + kept.deleted

    check(f, 1.5)


def test_private_names_in_functions_within_methods(check):
    class Spring:
        def __init__(self, k):
            self.__k = k

        def by_a_lambda(self, x):
            return sum(map(lambda u: u * self.__k, [x, 2 * x]))

        def by_a_function(self, x):
            def __force(u, __scale=2.0, *, __offset=0.5):
                def inner(v):
                    return v * self.__k + __offset

                return [inner(u) * __scale for _ in range(2)]

            return sum(__force(x)) + __force(x, _Spring__offset=x)[0]

        def by_a_generator(self, x):
            def powers():
                try:
                    yield x * self.__k
                except ValueError as __e:
                    raise __e from None
                self.__k *= x
                yield self.__k

            return sum(powers()) + self.__k

        def by_a_class(self, x):
            class Other:
                def __init__(self, k):
                    self.__k = k * x

                def get(self):
                    return (lambda: self.__k)()

            return Other(self.__k).get() * self.__k

    for name in ("by_a_lambda", "by_a_function", "by_a_generator", "by_a_class"):
        check(lambda k, x: getattr(Spring(k), name)(x), 0.7, 1.3)  # noqa: B023


def test_a_class_in_python_may_override_a_call_in_c(check):
    class Doubled(functools.partial):
        def __call__(self, *args, **kwargs):
            return 2 * super().__call__(*args, **kwargs)

    def f(x, y):
        return Doubled(math.hypot, x)(y) * Doubled(lambda a, b: a * b, b=x)(y)

    check(f, 1.5, 0.7)


def test_what_a_dead_weak_proxy_stood_for_is_not_reached():
    class Owner:
        pass

    found = set()
    dead, owner = weakref.proxy(Owner()), Owner()
    owner.x = 2.5
    reached([dead, weakref.proxy(owner)], found)
    assert id(owner.x) in found
