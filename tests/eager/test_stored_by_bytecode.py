"""However a method that C calls stores a number, a cotangent that reaches it is refused.

Methods that store nothing are not searched.  Each body is one of ``__hash__``, which runs unrecorded when its object is
a key.
"""

from __future__ import annotations

import pytest

import morula as mo
from morula.core.eager.unrecorded import watched
from morula.core.testing.differences import ridders

STORING = """
self.kept = self.x**2
self.kept, self.other = self.x**2, 1
o = self; o.kept = self.x**2
setattr(self, "kept", self.x**2)
object.__setattr__(self, "kept", self.x**2)
super().__setattr__("kept", self.x**2)
self.__dict__["kept"] = self.x**2
vars(self).update(kept=self.x**2)
self.slot = self.x**2; self.mark = 1
self.managed = self.x
self.energy
self.kept = self.energy
self.label; self.energy
self.box[0] = self.x**2
self.log.append(self.x**2)
self.log += [self.x**2]
log = self.log; log += [self.x**2]
self.log.__setitem__(slice(0, 0), [self.x**2])
operator.setitem(self.box, 0, self.x**2)
list(map(self.log.append, [self.x**2]))
sorted([self.x**2], key=self.log.append)
all(map(keep, [self.x**2]))
all(m(keep, [self.x**2]))
all(map(lambda v: self.log.append(v), [self.x**2]))
self.keep(self.x**2)
self.partial(self.x**2)
self.add(self.x, self.x, self.array)
np.multiply(self.x, self.x, out=self.array)
np.copyto(self.array, self.x**2)
self.array.fill(self.x**2)
self.array += self.x**2
self.array[...] = self.x**2
self.defaults[1]
self.squares["a"]
[self.log.append(v) for v in [self.x**2]]
any(self.log.append(v) for v in [self.x**2])
(lambda v: self.log.append(v))(self.x**2)
for self.kept in [self.x**2]: pass
type(self).total = self.x**2
self.box[0], self.x = self.x**2, 0.0
self.kept = self.x**2; self.x = None
self.kept = (1, [self.x**2])
self.kept = lambda v=self.x**2: v
self.kept = self.x**2; self.log.append(1)
self.x, self.mark = self.x**2, 1; self.log.append(self.x)
store(self, self.x**2)
once(self.x**2)
appended_once(self.x**2)
self.child.set(self.x**2)
held = self.holder; held.kept = self.x**2
v = self.x**2; self = self.holder; self.kept = v
self, v = self.holder, self.x**2; self.kept = v * 1.0
v, self = self.x**2, self.holder; self.kept = v * 1.0
self, own = self.holder, self; self.kept = own.x**2
with self.holder as h: h.kept = self.x**2
self.kept = yielded(self.x)
exec("self.kept = self.x**2", {"self": self})
import numpy as own; own.multiply(self.x, self.x, self.array)
""".strip().split("\n")

READ = (
    "c.x if c.x is not None and c.x != x else 0.0",
    "number(c.kept)",
    "c.slot",
    "sum(map(number, c.log))",
    "c.box[0]",
    "c.array[0]",
    "sum(c.defaults.values())",
    "sum(c.squares.values())",
    "C.total",
    "c.holder.kept",
    "c.child.kept",
    "vars(c).get('energy', 0.0)",
)

HARMLESS = """
self.mark = 1
self.mark = hash((1, "a"))
self.mark = str(self.x)
self.kept = 0.0
self.array = self.array
self.kept = self.table
self.slot = self.box
self.mark = [1, "a"]
return hash(self.label)
return hash((1.5, *map(str, self.names)))
return len(self.name) + isinstance(self, Base)
return hash((self.name, tuple(self.names)))
return sum(len(n) for n in self.names)
return hash(counted(self.name)) + dict.__eq__(self.squares, {})
return hash(self.name.upper()) if self.mark is None else self.mark
mark = 1; self.mark = mark
mark, name = 1, self.name; self.mark = mark; self.name = name
return sum([len(n) for n in self.names])
""".strip().split("\n")

PROGRAM = """
import collections, functools, itertools, operator
import numpy as np


class Holder:
    kept = 0.0
    def set(self, v): self.kept = v
    def __enter__(self): return self
    def __exit__(self, *e): pass


class Base:
    __slots__ = ("slot", "__dict__")
    total = 0.0
    kept = 0.0
    mark = None
    name, names = "name", ("a", "b")

    @functools.cached_property
    def energy(self): return self.x**2

    @functools.cached_property
    def label(self): return "a" * len(self.name)

    @property
    def managed(self): return self.kept
    @managed.setter
    def managed(self, v): self.kept = v * v


def store(o, v):
    o.kept = v


def yielded(x):
    return next(v for v in [x * x])


m = map
counted = functools.lru_cache(lambda name: len(name))


def number(v):
    while not isinstance(v, float):
        v = v() if callable(v) else v[-1] if isinstance(v, (tuple, list)) else 0.0
    return v


def f(x):
    class C(Base):
        def __hash__(self):
            {body}
            return 7

        def __eq__(self, other):
            return True

    c = C()
    c.x, c.slot, c.log, c.box, c.array, c.holder, c.child = x, 0.0, [], [0.0], np.zeros(1), Holder(), Holder()
    c.table = (2.0, np.ones(1))
    c.defaults = collections.defaultdict(functools.partial(operator.mul, x, x))
    c.squares = collections.defaultdict(lambda: x * x)
    c.keep, c.partial, c.add = c.log.append, functools.partial(c.log.append), np.multiply
    global keep, once, appended_once
    keep = c.keep
    once, appended_once = functools.lru_cache(keep), functools.lru_cache(lambda v: keep(v))
    table = {{c: 1.0}}
    return 3.0 * ({read}) + 0.0 * x
"""


@pytest.fixture
def program(tmp_path):
    def made(body, read):
        path = tmp_path / "stored_by_bytecode.py"
        path.write_text(PROGRAM.format(body=body, read=read))
        scope = {"__name__": "stored_by_bytecode"}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        return scope["f"]

    return made


@pytest.mark.parametrize("body", STORING)
def test_a_number_that_is_stored_is_refused(program, body):
    f = program(body, " + ".join(f"({r})" for r in READ))
    assert abs(ridders(lambda t: f(1.3 + t), 0.02)[0]) > 1
    if body in ("self.defaults[1]", 'self.squares["a"]'):  # whose factories are recorded
        assert mo.grad(f)(1.3) == pytest.approx(3.0 * 2 * 1.3)
        return
    with pytest.raises(mo.NoDerivative, match=r"C\.__hash__ \(.*was called by code written in C"):
        mo.grad(f)(1.3)


@pytest.mark.parametrize("body", HARMLESS)
def test_what_was_there_before_and_constants_pass(program, body, monkeypatch):
    f = program(body, "number(c.kept) + c.table[1][0] * x * x + c.array[0]")
    assert mo.grad(f)(1.3) == pytest.approx(3.0 * 2 * 1.3)


@pytest.mark.parametrize(
    "body", [b for b in HARMLESS if "table" not in b and "[1" not in b and "0.0" not in b and "box" not in b]
)
def test_code_that_stores_no_number_is_not_searched(program, body, monkeypatch):
    searched = []
    monkeypatch.setattr(watched.Watch, "search", lambda watch, code: searched.append(code))
    mo.grad(program(body, "c.x * x"))(1.3)
    assert not searched
