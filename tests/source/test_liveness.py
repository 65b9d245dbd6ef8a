"""What a loop needs and leaves, against what runs of random programs read and assign."""

from __future__ import annotations

import ast
import random
import textwrap

import pytest

from morula.core.source.liveness import Loops, bound_by, read_by

CASES = {
    "a sum": ("for i in range(n): total += i\nreturn total", {"n", "total"}, {"total"}),
    "a while": ("while x < n: x = x * 2\nreturn 1", {"x", "n"}, set()),
    "the variable of the loop": ("for i in a: pass\nreturn i", {"a", "i"}, {"i"}),
    "assigned before it is read": ("for i in a:\n  y = i\n  z = y\nreturn z", {"a", "z"}, {"z"}),
    "read on the way back": ("for i in a:\n  if i: z = y\n  y = i\nreturn 0", {"a", "y"}, set()),
    "read after a break": ("for i in a:\n  if i: break\n  y = i\nelse:\n  y = w\nreturn y", {"a", "w", "y"}, {"y"}),
    "stored in a container": ("for i in a: d[i] = x\nreturn d", {"a", "d", "x"}, set()),
    "in a comprehension": ("for i in a: y = [i + k for k in b]\nreturn y", {"a", "b", "y"}, {"y"}),
    "a walrus": ("while (m := g(m)): pass\nreturn m", {"g", "m"}, {"m"}),
    "unpacked": ("for i, (p, *q) in a: pass\nreturn q", {"a", "q"}, {"q"}),
    "overwritten after it": ("for i in a: y = i\ny = 0\nreturn y", {"a"}, set()),
    "in an outer loop": ("for j in b:\n  for i in a: y = y + i\n  y = y * j\nreturn 0", {"a", "b", "y"}, set()),
}


@pytest.mark.parametrize(("text", "inputs", "left"), CASES.values(), ids=CASES)
def test_inputs_and_what_is_left(text, inputs, left):
    body = ast.parse(f"def f():\n{textwrap.indent(text, '  ')}").body[0].body
    loops, loop = Loops(body, ()), body[0]
    assert loops.inputs(loop) - {"range"} == inputs
    assert bound_by(loop) & loops.live[id(loop)] == left


ASSIGNED = {
    "before": ("x = 1", {"a", "x"}),
    "on one path": ("if a: x = 1", {"a"}),
    "on both paths": ("if a: x = 1\nelse: x = 2", {"a", "x"}),
    "on the path that goes on": ("if a: return 0\nelse: x = 2", {"a", "x"}),
    "in a loop": ("for i in a: x = i", {"a"}),
    "in a with": ("with a as b: x = 1", {"a"}),
    "in a try": ("try: x = 1\nexcept E: pass", {"a"}),
    "deleted": ("x = 1\ndel x", {"a"}),
    "deleted by a handler": ("e = 1\ntry: pass\nexcept E as e: pass", {"a"}),
    "a definition": ("def g(): pass\nimport b.c", {"a", "g", "b"}),
    "annotated": ("x: int\ny: int = 1", {"a", "y"}),
    "an expression": ("if (x := a) and (y := a): pass", {"a"}),
}


@pytest.mark.parametrize(("text", "names"), ASSIGNED.values(), ids=ASSIGNED)
def test_what_is_surely_assigned_before(text, names):
    body = ast.parse(f"def f(a):\n{textwrap.indent(text, '  ')}\n  while a: pass").body[0].body
    loops = Loops(body, {"a"})
    assert loops.assigned[id(body[-1])] == names


def write(r, depth):
    """Return a random block of statements on five variables."""
    lines = []
    for _ in range(r.randint(1, 4)):
        name, other = r.choice("abcde"), r.choice("abcde")
        kind = r.randrange(9 if depth else 4)
        if kind < 3:
            lines.append(f"{name} = {other} + 1")
        elif kind == 3:
            lines.append(f"{name} += {other}")
        elif kind == 4:
            lines += [f"if {name} % 2:", *indented(write(r, depth - 1)), "else:", *indented(write(r, depth - 1))]
        elif kind in (5, 6):
            extra = r.choice((["pass"], [f"if {other} % 3 == 0: break"], [f"if {other} % 3 == 0: continue"]))
            head = [f"for {r.choice('abcdei')} in range({r.randint(0, 3)}):"]
            lines += [*head, *indented([*write(r, depth - 1), *extra, *write(r, depth - 1)])]
        elif kind == 7:
            lines += ["try:", *indented(write(r, depth - 1)), "finally:", *indented(write(r, depth - 1))]
        else:
            lines.append(f"{name} = sum([{other} + k for k in (1, 2)])")
    return lines


def indented(lines):
    return ["  " + line for line in lines]


@pytest.mark.parametrize("seed", range(150))
def test_random_programs_keep_their_values_if_other_variables_are_lost_at_loops(seed):
    """Before each loop all variables but its inputs are overwritten, and after it those that are not live."""
    r = random.Random(seed)
    lines = ["a, b, c, d, e, i = 1, 2, 3, 4, 5, 6", *write(r, 3), f"return {r.choice('abcde')}"]
    body = ast.parse("\n".join(["def f():", *indented(lines)])).body
    function = body[0]
    loops = Loops(function.body, ())

    class Lose(ast.NodeTransformer):
        def visit_For(self, node):
            inputs, live = loops.inputs(node), loops.live[id(node)]
            through = live - bound_by(node)
            self.generic_visit(node)
            before = [n for n in "abcdei" if n not in inputs | through]
            after = [n for n in "abcdei" if n not in live]
            return [*map(lost, before), node, *map(lost, after)]

    def lost(name):
        return ast.parse(f"{name} = 1000003").body[0]

    expected = value(function)
    changed = ast.fix_missing_locations(Lose().visit(function))
    assert value(changed) == expected, ast.unparse(changed)


def value(function):
    space: dict = {}
    exec(compile(ast.fix_missing_locations(ast.Module([function], [])), "<random>", "exec"), space)
    return space["f"]()


def test_names():
    tree = ast.parse("x = y + [z for z in w if (u := z)] and (lambda p: p + q)(r)")
    assert read_by(tree) == {"y", "w", "p", "q", "r"}
    assert bound_by(tree) == {"x", "u"}
