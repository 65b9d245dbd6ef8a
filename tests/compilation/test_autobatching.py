"""``autobatch``: results and derivatives are those of one sample after the other, whatever the structures."""

from __future__ import annotations

import copy
import pickle
import random

import numpy as np
import pytest

import morula as mo

from .autobatched_programs import (
    PARAMS,
    PROGRAMS,
    Node,
    binary,
    graphs,
    many,
    of_graph,
    of_nodes,
    of_pairs,
    of_steps,
    weighted,
)

BATCHES = {f: mo.autobatch(f, in_axes=(None, 0)) for f, _ in PROGRAMS.values()}


def in_turn(f):
    return lambda p, samples: [f(p, x) for x in samples]


def total(call):
    """A number that depends on every number of the results."""

    def of_all(p, samples):
        return sum(np.sum(np.cos(x) * (i + 1)) for i, y in enumerate(call(p, samples)) for x in mo.tree.leaves([y]))

    return of_all


def same(a, b, tolerance=1e-10):
    a, b = mo.tree.leaves(a), mo.tree.leaves(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert isinstance(x, np.ndarray) is isinstance(y, np.ndarray), (x, y)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name, capsys):
    f, kind = PROGRAMS[name]
    samples, batch = many(kind), BATCHES[f]
    same(batch(PARAMS, samples), in_turn(f)(PARAMS, samples))
    assert not batch.reason, batch.reason
    found = mo.grad(total(batch), (0, 1))(PARAMS, samples)
    same(found, mo.grad(total(in_turn(f)), (0, 1))(PARAMS, samples))
    batch.explain(PARAMS, samples)
    calls, kinds, runs = [int(word) for word in capsys.readouterr().out.split() if word.isdigit()]
    assert calls >= len(samples) and kinds <= calls and runs <= calls


@pytest.mark.parametrize("name", ["pairs", "nodes", "sequences"])
def test_forward_mode_and_second_derivatives(name):
    f, kind = PROGRAMS[name]
    samples, batch = many(kind, 4), BATCHES[f]
    vector, restore = mo.tree.flatten(PARAMS)
    direction = np.cos(np.arange(vector.size))
    programs = [lambda v, call=call: total(call)(restore(v), samples) for call in (batch, in_turn(f))]
    found, expected = (mo.jvp(g, (vector,), (direction,)) for g in programs)
    same(found, expected)
    found, expected = (mo.hvp(g, vector, direction) for g in programs)
    same(found, expected, 1e-8)
    found, expected = (mo.grad(lambda v, g=g: np.sum(mo.grad(g)(v) ** 2))(vector) for g in programs)
    same(found, expected, 1e-8)


def test_differences():
    batch = BATCHES[of_nodes]
    samples = many("nodes", 3)
    mo.testing.check_gradients(lambda p: total(batch)(p, samples), PARAMS)


def with_an_int(p, tree):
    if isinstance(tree, tuple):
        return with_an_int(p, tree[0]) + p["count"] * with_an_int(p, tree[1])
    return p["scale"] * tree


def test_ints():
    """Ints of what is shared are differentiated, as in eager code; structures with ints of which a derivative is taken are run in turn."""
    batch, samples = mo.autobatch(with_an_int, in_axes=(None, 0)), many("pairs")
    p = {"scale": 0.7, "count": 2}
    for which in (0, (0, 1)):
        found, expected = (mo.grad(total(f), which)(p, samples) for f in (batch, in_turn(with_an_int)))
        assert repr(found) == repr(expected) or np.isclose(found["count"], expected["count"])
    assert not batch.reason


def test_two_arguments_of_samples():
    nodes, edges = graphs()
    batch = mo.autobatch(of_graph, in_axes=(None, 0, 0))

    def alone(p, nodes, edges):
        return [of_graph(p, x, e) for x, e in zip(nodes, edges)]

    same(batch(PARAMS, nodes, edges), alone(PARAMS, nodes, edges))
    assert not batch.reason, batch.reason
    found, expected = (mo.grad(lambda *a, f=f: sum(f(*a)), (0, 1))(PARAMS, nodes, edges) for f in (batch, alone))
    same(found, expected)


def test_equal_work_is_done_together(capsys):
    draw = random.Random(0)
    trees = [binary(draw, 20, lambda d: d.randrange(7)) for _ in range(40)]
    mo.autobatch(of_pairs, in_axes=(None, 0)).explain(PARAMS, trees)
    calls, kinds, runs = [int(word) for word in capsys.readouterr().out.split() if word.isdigit()]
    assert calls == 40 * 39 and kinds == 2 and runs < calls / 20


@pytest.mark.parametrize("kind, f", [("steps", of_steps), ("weighted", weighted)])
def test_lists_of_any_length_are_one_kind(kind, f, capsys):
    mo.autobatch(f, in_axes=(None, 0)).explain(PARAMS, many(kind, 40))
    _, kinds, _ = [int(word) for word in capsys.readouterr().out.split() if word.isdigit()]
    assert kinds == {"steps": 1, "weighted": 2}[kind]  # nodes with and without parts


@pytest.mark.parametrize("count", [1, 8, 9, 33])
def test_numbers_of_samples(count):
    samples = many("pairs", count)
    same(BATCHES[of_pairs](PARAMS, samples), in_turn(of_pairs)(PARAMS, samples))


def test_deep_structures():
    tree = 0
    for i in range(300):
        tree = (tree, i % 7)
    (found,) = BATCHES[of_pairs](PARAMS, [tree])
    np.testing.assert_allclose(found, of_pairs(PARAMS, tree), rtol=1e-12)


def test_a_part_in_two_places_is_one_variable():
    shared = Node(0.5, np.array([1.0, 2.0, 3.0]))
    tree = Node(0.1, np.ones(3), [shared, shared])
    f = total(in_turn(of_nodes))
    found = mo.grad(total(BATCHES[of_nodes]), 1)(PARAMS, [tree])
    same(found, mo.grad(f, 1)(PARAMS, [tree]))


def of_two_arrays(p, tree):
    if isinstance(tree, tuple):
        return of_two_arrays(p, tree[0]) * of_two_arrays(p, tree[1])
    return np.sum(p[0] * p[1] * tree)


def test_one_shared_array_in_two_places():
    x, samples = np.array([0.5, 1.5]), many("pairs")
    batch = mo.autobatch(of_two_arrays, in_axes=(None, 0))
    found, expected = (mo.grad(lambda x, f=f: sum(f([x, x], samples)))(x) for f in (batch, in_turn(of_two_arrays)))
    same(found, expected)
    found, expected = (mo.grad(lambda p, f=f: sum(f(p, samples)))([x, x]) for f in (batch, in_turn(of_two_arrays)))
    same(found, expected)


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second


def with_a_part(p, tree):
    if isinstance(tree, tuple):
        return Pair(p["scale"] * with_a_part(p, tree[0]).first, tree[1])
    return Pair(p["scale"] * tree, tree)


def test_results_that_hold_a_part():
    batch, samples = mo.autobatch(with_a_part, in_axes=(None, 0)), [(1, 2), (1, (2, 3)), ((1, 2), ((1, 2), 3)), 4]
    for found, expected in zip(batch(PARAMS, samples), in_turn(with_a_part)(PARAMS, samples), strict=True):
        assert np.isclose(found.first, expected.first) and found.second == expected.second


def by_text(p, tree):
    return p["scale"] * len(f"{tree[1]}") + (by_text(p, tree[0]) if isinstance(tree[0], tuple) else 0.0)


def that_visits(p, node):
    visited, total = set(), 0.0
    for child in node.children:
        if id(child) not in visited:
            visited.add(id(child))
            total = total + that_visits(p, child)
    return total + p["scale"]


def test_parts_as_texts_and_keys():
    texts = [((1, "a"), (2, 3)), (1, (2, (3, 4))), (((1, 2), "b"), [1.5])]
    same(mo.autobatch(by_text, in_axes=(None, 0))(PARAMS, texts), in_turn(by_text)(PARAMS, texts))
    shared = Node(1.0, np.ones(3))
    nodes = [Node(1.0, np.ones(3), [shared, shared]), Node(1.0, np.ones(3), [shared, Node(2.0, np.ones(3))])]
    same(mo.autobatch(that_visits, in_axes=(None, 0))(PARAMS, nodes), in_turn(that_visits)(PARAMS, nodes))


def test_under_jit_and_vmap():
    samples = many("pairs", 3)
    compiled = mo.jit(lambda p: BATCHES[of_pairs](p, samples))
    same(compiled(PARAMS), in_turn(of_pairs)(PARAMS, samples))
    scales = np.array([0.5, 1.0])
    found = mo.vmap(lambda s: BATCHES[of_pairs]({**PARAMS, "w": s * PARAMS["w"]}, samples))(scales)
    for i, s in enumerate(scales):
        same([y[i] for y in found], in_turn(of_pairs)({**PARAMS, "w": s * PARAMS["w"]}, samples))


# What is run for one sample after the other


def depth_first(p, tree, depth=0):
    if isinstance(tree, tuple):
        return depth_first(p, tree[0], depth + 1) + depth_first(p, tree[1], depth + 1)
    return p["scale"] * depth


def of_closure(p, tree):
    def visit(t):
        return visit(t[0]) + visit(t[1]) if isinstance(t, tuple) else p["scale"] * t

    return visit(tree)


def that_remembers(p, node):
    node.total = p["scale"] * node.value + sum(that_remembers(p, c) for c in node.children)
    return node.total


SEEN = []


def that_notes(p, tree):
    SEEN.append(tree)
    return that_notes(p, tree[0]) + that_notes(p, tree[1]) if isinstance(tree, tuple) else p["scale"] * tree


def that_writes(p, node):
    node.vector[0] += 1.0
    return p["scale"] * np.sum(node.vector) + sum(that_writes(p, c) for c in node.children)


def that_appends(p, xs):
    total = 0.0
    for x in xs:
        total = total + p["scale"] * x
    xs.append(1.0)
    return total


def that_compares(p, node):
    same = node.children and node.vector is node.children[0].vector
    return p["scale"] * (2.0 if same else 1.0)


IN_TURN = {
    "writes into arrays": (that_writes, "nodes", "writes into an array"),
    "writes into lists": (that_appends, "numbers", "changes"),
    "computed arguments": (depth_first, "pairs", "argument that it has computed"),
    "a function inside": (of_closure, "pairs", "define it outside"),
    "stored results": (that_remembers, "nodes", "changes"),
    "changes of a global": (that_notes, "pairs", "one of the function's arguments|changes|global"),
}


@pytest.mark.parametrize("name", IN_TURN)
def test_what_is_run_in_turn(name, capsys):
    f, kind, reason = IN_TURN[name]
    batch = mo.autobatch(f, in_axes=(None, 0))
    expected = in_turn(f)(PARAMS, many(kind))
    seen = list(SEEN)
    SEEN.clear()
    same(batch(PARAMS, many(kind)), expected)
    assert SEEN == seen
    SEEN.clear()
    same(mo.grad(total(batch))(PARAMS, many(kind)), mo.grad(total(in_turn(f)))(PARAMS, many(kind)))
    SEEN.clear()
    batch.explain(PARAMS, many(kind))
    out = capsys.readouterr().out
    assert out.startswith("9 samples, one after the other by Python: ")
    assert any(part in out for part in reason.split("|")), out


def that_prints(p, tree):
    if isinstance(tree, tuple):
        return that_prints(p, tree[0]) + that_prints(p, tree[1])
    print("leaf", tree)
    return p["scale"] * tree


@pytest.mark.filterwarnings("error")
def test_what_is_printed(capsys):
    samples = many("pairs")
    batch = mo.autobatch(that_prints, in_axes=(None, 0))
    expected = in_turn(that_prints)(PARAMS, samples)
    printed = capsys.readouterr().out
    same(batch(PARAMS, samples), expected)
    assert capsys.readouterr().out == printed and "prints" in batch.reason


def test_one_array_in_two_places():
    x = np.ones(3)
    batch = mo.autobatch(that_compares, in_axes=(None, 0))
    samples = [Node(1.0, x, [Node(1.0, x)]), Node(1.0, x, [Node(1.0, x.copy())]), Node(1.0, x)]
    same(batch(PARAMS, samples), in_turn(that_compares)(PARAMS, samples))


def scaled(p, q, tree):
    if isinstance(tree, tuple):
        return scaled(p, q, tree[0]) + scaled(p, q, tree[1])
    return p["scale"] * q["scale"] * tree


def weighted(tree, weight=2.0):
    if isinstance(tree, tuple):
        return weighted(tree[0], weight) + weighted(tree[1], weight)
    return weight * tree


def test_other_numbers_of_arguments():
    batch, samples = mo.autobatch(weighted), many("pairs")
    same(batch(samples), [weighted(x) for x in samples])
    weights = [0.1 * i for i in range(9)]
    same(batch(samples, weights), [weighted(x, w) for x, w in zip(samples, weights)])
    assert not batch.reason


def test_other_forms_of_what_is_shared():
    batch, samples = mo.autobatch(scaled, in_axes=(None, None, 0)), many("pairs")
    q = {"scale": 3.0}
    for p in (
        {"scale": 2.0},
        {"more": 5.0, "scale": 2.0},
        {"scale": np.float32(2.0)},
        {"most": [1.0, 2.0], "scale": 2.0},
    ):
        same(batch(p, q, samples), [scaled(p, q, x) for x in samples])
    assert not batch.reason


# What is read from outside

FACTOR = 1.0
IS_DEEP = True


def with_globals(p, tree):
    if isinstance(tree, tuple) and IS_DEEP:
        return FACTOR * with_globals(p, tree[0]) + with_globals(p, tree[1])
    return p["scale"]


def test_globals_that_change():
    global FACTOR, IS_DEEP
    batch = mo.autobatch(with_globals, in_axes=(None, 0))
    samples = many("pairs")
    for FACTOR, IS_DEEP in ((1.0, True), (2.0, True), (2.0, False), (3.0, True)):  # noqa: B007
        same(batch(PARAMS, samples), in_turn(with_globals)(PARAMS, samples))
        same(mo.grad(total(batch))(PARAMS, samples), mo.grad(total(in_turn(with_globals)))(PARAMS, samples))


def test_structures_that_change():
    batch = mo.autobatch(of_nodes, in_axes=(None, 0))
    tree = Node(0.5, np.ones(3), [Node(1.0, np.ones(3))])
    for change in (
        lambda: None,
        lambda: setattr(tree, "value", 2.0),
        lambda: tree.children.append(Node(3.0, np.ones(3))),
        lambda: setattr(tree.children[0], "value", 7),
        lambda: setattr(tree, "vector", np.ones(3, np.float32)),
    ):
        change()
        same(batch(PARAMS, [tree, tree]), in_turn(of_nodes)(PARAMS, [tree, tree]))


# Errors


def test_errors():
    with pytest.raises(mo.BadInput, match="in_axes must be 0 or None for each argument, not 1"):
        mo.autobatch(of_pairs, in_axes=1)
    batch = BATCHES[of_pairs]
    for args, text in (
        ((PARAMS,), "in_axes has 2 entries, but of_pairs .* was given 1 arguments"),
        ((PARAMS, []), "there are no samples: argument 1 is empty"),
        ((PARAMS, 3), "argument 1 of of_pairs .* is a int; pass a list with an entry for each sample"),
    ):
        for call in (batch, batch.explain, mo.grad(lambda *a: sum(batch(*a)))):
            with pytest.raises(mo.BadInput, match=text):
                call(*args)
    with pytest.raises(mo.BadInput, match="the numbers of samples differ: argument 1 has 2, but argument 2 has 1"):
        mo.autobatch(of_graph, in_axes=(None, 0, 0))(PARAMS, [1, 2], [3])
    with pytest.raises(mo.BadInput, match="no argument of of_pairs .* is a list of samples"):
        mo.autobatch(of_pairs, in_axes=(None, None))(PARAMS, (1, 2))


def checked(p, tree):
    if isinstance(tree, tuple):
        return checked(p, tree[0]) + checked(p, tree[1])
    if tree > 5:
        raise ValueError("a leaf is too large")
    return p["scale"] * tree


def test_errors_of_the_program():
    batch = mo.autobatch(checked, in_axes=(None, 0))
    assert np.allclose(batch(PARAMS, [(1, (2, 3)), 4]), [4.2, 2.8])
    with pytest.raises(ValueError, match="a leaf is too large"):
        batch(PARAMS, [(1, (2, 6)), 4])
    with pytest.raises(ValueError, match="a leaf is too large"):
        mo.grad(total(batch))(PARAMS, [(1, (2, 6)), 4])


def test_it_is_a_function():
    batch = BATCHES[of_pairs]
    assert repr(batch) == "autobatch(of_pairs, in_axes=(None, 0))" and batch.__name__ == "of_pairs"
    assert copy.deepcopy(batch) is batch
    samples = many("pairs", 2)
    same(pickle.loads(pickle.dumps(batch))(PARAMS, samples), batch(PARAMS, samples))
