"""The walks of syntax trees give what the standard library's do."""

from __future__ import annotations

import ast
import copy
from pathlib import Path

import pytest

import morula
from morula.core.source.trees import copied, fill_locations, nodes, shift_lines

SHARED = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
SYNTAX = """
@decorated(1)
class C(B, k=1):
    x: int = 2
    def f(self, /, a: int, *args, b=3, **kwargs) -> str:
        global g
        async def h(): await a; [y async for y in z if y]
        try: raise E from None
        except* E as e: pass
        for i, in a: continue
        else: del a[1:2, ...], b.c
        while not a < b <= c or -d and (n := 1): break
        with a as b, c: return f"{a!r:>{b}} {c}"
        match a:
            case [1, *_, {"k": v, **rest}] | C(x=None) as y if z: yield from lambda *a, k=1: a if b else {**a, 1: 2}
            case _: assert {a, *b}, (x for x in y)
        from . import m as n
        nonlocal_ = yield a
        a @= b; import os
"""
SOURCES = [SYNTAX, *(p.read_text() for p in sorted(Path(morula.__file__).parent.glob("core/eager/rewriting/*.py")))]
TEXTS = pytest.mark.parametrize("text", SOURCES, ids=range(len(SOURCES)))


@TEXTS
def test_nodes_are_those_of_ast_in_the_same_order(text):
    tree = ast.parse(text)
    assert nodes(tree) == [n for n in ast.walk(tree) if not isinstance(n, SHARED)]


@TEXTS
def test_copies_are_equal_and_share_no_node(text):
    tree = ast.parse(text)
    again = copied(tree)
    assert ast.dump(again, include_attributes=True) == ast.dump(tree, include_attributes=True)
    assert not {*map(id, nodes(tree))} & {*map(id, nodes(again))}


@TEXTS
def test_lines_are_shifted(text):
    tree = ast.parse(text)
    wanted = ast.increment_lineno(copy.deepcopy(tree), 5)
    shift_lines(tree, 5)
    assert ast.dump(tree, include_attributes=True) == ast.dump(wanted, include_attributes=True)


@TEXTS
def test_locations_are_filled_in(text):
    tree = ast.parse(text)
    for i, node in enumerate(nodes(tree)):
        for name in node._attributes:
            if i % 3 == 0 or i % 3 == 1 and name in ("col_offset", "end_lineno"):
                delattr(node, name)
    wanted = ast.fix_missing_locations(copy.deepcopy(tree))
    assert fill_locations(tree) is tree
    assert ast.dump(tree, include_attributes=True) == ast.dump(wanted, include_attributes=True)


def test_a_node_takes_the_place_of_another():
    tree = ast.parse("f(x) + x", mode="eval")
    first = tree.body.left.args[0]  # type: ignore[attr-defined]
    assert ast.unparse(copied(tree, {id(first): ast.Name("y", ast.Load())})) == "f(y) + x"
