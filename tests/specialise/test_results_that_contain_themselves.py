"""Lists, dicts and objects that contain themselves, or each other, come back from compiled code as from Python."""

import numpy as np
import pytest

import morula as mo


class Node:
    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []
        if parent is not None:
            parent.children.append(self)


class Chain(list):
    """A list with a name."""


def list_of_itself(x):
    a = [x * x]
    a.append(a)
    return a


def dict_of_itself(x):
    d = {"x": x * x}
    d["inside"] = (1, d)
    return d


def tree(x):
    root = Node(x * x)
    Node(x + 1.0, Node(x * 2.0, root))
    return root


def subclass(x):
    chain = Chain()
    chain.name = {"of": chain}
    chain.append(x * x)
    return chain


LEAVES = {
    list_of_itself: lambda a: a[1][1][0],
    dict_of_itself: lambda d: d["inside"][1]["inside"][1]["x"],
    tree: lambda t: t.children[0].children[0].parent.parent.value,
    subclass: lambda c: c.name["of"].name["of"][0],
}


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("f", LEAVES)
def test_the_result_contains_itself(f, target):
    leaf, compiled = LEAVES[f], mo.jit(f, target=target)
    for x in (3.0, np.float64(0.5)):
        found, again = compiled(x), compiled(x)
        assert type(found) is type(f(x)) and leaf(found) == leaf(f(x)) == x * x
        assert found is not again
    assert mo.jit(mo.grad(lambda x: leaf(f(x))), target=target)(3.0) == 6.0
    assert mo.grad(lambda x: leaf(compiled(x)))(3.0) == 6.0
    if f is tree:
        root = compiled(2.0)
        assert root.children[0].parent is root and root.children[0].children[0].value == 3.0


@pytest.mark.parametrize("f", [list_of_itself, dict_of_itself])
def test_containers_that_contain_themselves_have_no_cotangents(f):
    with pytest.raises(mo.BadInput, match="the result of a differentiated function contains a .* that contains itself"):
        mo.jit(lambda x: mo.pullback(f, x)[0])(3.0)
