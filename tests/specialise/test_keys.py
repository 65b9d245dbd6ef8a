"""Keys of dicts and elements of sets: their hashes, which must be known, and objects that cache them."""

from __future__ import annotations

import pytest

import morula as mo
from morula.core.testing.differences import ridders


class Unit:
    """An object that caches its hash, as immutable mappings do."""

    __slots__ = ("_hash", "powers")

    def __init__(self, powers):
        self.powers, self._hash = dict(powers), None

    def __hash__(self):
        if self._hash is None:
            self._hash = hash(frozenset(self.powers.items()))
        return self._hash

    def __eq__(self, other):
        return Unit.__hash__(self) == Unit.__hash__(other) and self.powers == other.powers

    def copied(self):
        made = object.__new__(Unit)
        made.powers, made._hash = dict(self.powers), self._hash
        return made

    def __mul__(self, other):
        made = self.copied()
        for name, power in other.powers.items():
            made.powers[name] = made.powers.get(name, 0) + power
        made._hash = None
        return made


class Definition:
    def __init__(self, name, scale):
        self.name, self.scale = name, scale


METRE, SECOND = Unit({"m": 1}), Unit({"s": 1})
FACTORS = {METRE: 2.0, METRE * SECOND: 3.0}
CACHE = {}
DEFINED = {"m": Definition("m", 2.0)}


def looked_up(x):
    return x * FACTORS[Unit({"m": 1})] + x * x * FACTORS.get(METRE * Unit({"s": 1}), 7.0)


def absent(x):
    return x * FACTORS.get(Unit({"m": 5}), 7.0) * (4.0 if METRE in FACTORS else 1.0)


def own_dict(x):
    table = {Unit({"m": 1}): x, Unit({"s": 1}): x * x}
    table[Unit({"m": 1})] = 3.0 * x
    return table[METRE] * table[SECOND] * len({METRE, METRE.copied(), SECOND})


def on_a_path(x):
    table, key = {METRE: x}, Unit({"m": 1})
    if x > 0.3:
        table[key] = x * x
    else:
        table[key] = 5.0 * x
    return table[METRE]


def filled(x):
    key = METRE * METRE, SECOND
    if key not in CACHE:
        CACHE[key] = 4.0
    return x * CACHE[key]


def tuples(x):
    table = {(METRE, 1): x, (METRE.copied(), 2): x * x}
    return table[METRE.copied(), 1] + table[METRE, 2]


@pytest.mark.parametrize("f", [looked_up, absent, own_dict, on_a_path, filled, tuples])
def test_an_object_that_caches_its_hash_is_a_key(f):
    compiled = mo.jit(mo.value_and_grad(f))
    for x in (0.7, 0.2, 0.7):
        CACHE.clear()
        value, slope = compiled(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        assert slope == pytest.approx(ridders(lambda h: f(x + h), 1e-3)[0], rel=1e-6)


class Of:
    def __init__(self, x):
        self.x = x

    def __hash__(self):
        return hash((self.x, 1))

    def __eq__(self, other):
        return self.x == other.x


@pytest.mark.parametrize(
    "f",
    [
        lambda x: {Of(x): 1.0}.get(Of(x + 0.0), 5.0) * x,
        lambda x: {(x, 1): 1.0}.get((x + 0.0, 1), 5.0) * x,
        lambda x: x * len({(x, 1), (x + 0.0, 1)}),
        lambda x: x * len({frozenset([x]), frozenset([x + 0.0])}),
        lambda x: x * len(set([(x, 1), (x + 0.0, 1)])),
        lambda x: x * (hash((x, 1)) == hash((x + 0.0, 1))),
        lambda x: x * len(dict.fromkeys([Of(x), Of(x + 0.0)])),
        lambda x: x * len({Of(x): 1, Of(x + 0.0): 2}),
    ],
)
def test_a_hash_that_depends_on_an_unknown_number_is_refused(f):
    with pytest.raises(mo.BadInput, match="the hash of a number must be known while compiling"):
        mo.jit(f)(1.5)


class Counting(Of):
    def __init__(self, x):
        self.x, self.count = x, 0

    def __hash__(self):
        self.count += 1
        return 1


def counted(x):
    key = Counting(1)
    return {key: x}[key] * key.count


def changed(x):
    key = Unit({"m": 1})
    table = {key: x}
    key._hash = None
    return table[key]


@pytest.mark.parametrize(
    ("f", "message"),
    [(counted, "its __hash__ changes an object"), (changed, "a Unit caches its hash and is a dict key")],
)
def test_a_key_that_changes_is_refused(f, message):
    with pytest.raises(mo.BadInput, match=message):
        mo.jit(f)(1.5)


def redefined(x):
    scale = DEFINED["m"].scale
    DEFINED["m"] = Definition("m", 2.0)
    return x * scale * DEFINED["m"].scale


def test_an_entry_that_each_run_replaces_by_an_equal_one_needs_no_new_program():
    compiled = mo.jit(redefined)
    first = compiled.compilation(*compiled.given((1.5,), {}))[0]
    assert compiled(1.5) == 6.0
    one = DEFINED["m"]
    assert compiled(1.5) == 6.0
    assert DEFINED["m"] is not one
    assert compiled.compilation(*compiled.given((1.5,), {}))[0] is first
    DEFINED["m"].scale = 3.0
    assert compiled(1.5) == 9.0
    DEFINED["m"] = Definition("m", 5.0)
    assert compiled(1.5) == 15.0
    DEFINED["m"] = Definition("m", 2.0)


class Node:
    def __init__(self, x):
        self.x = x


NODES = {}


def keyed(x):
    node = Node(2.0 * x)
    NODES[node] = x * x
    return {node: x, (Node("a"), 1): 3.0}, [node], Node("b")


def test_keys_are_made_by_each_run():
    compiled = mo.jit(keyed)
    made = []
    for x in (1.5, 2.5):
        found, (node,), last = compiled(x)
        first, (second, _) = found
        made += [first, second, last]
        assert (first.x, second.x, last.x) == (2.0 * x, "a", "b")
        assert first is node
        assert NODES[node] == x * x
    assert len(set(map(id, made))) == 6
    assert len(NODES) == 2


def returned(x):
    found = DEFINED["m"]
    DEFINED["m"] = Definition("m", found.scale)
    return found, x


def test_an_object_that_is_returned_is_the_one_that_is_there():
    compiled = mo.jit(returned)
    for _ in range(3):
        one = DEFINED["m"]
        assert compiled(1.5)[0] is one
        assert DEFINED["m"] is not one
