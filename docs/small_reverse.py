"""Reverse mode on one page: morula's method, for numbers, `while` and `if` only.

A function is split into statements with one operation each, `v = a * b`.  The forward sweep runs them and pushes on a
stack the values that the backward sweep needs: the value that an assignment overwrites, the number of a loop's
iterations, the branch taken.  The backward sweep runs the program in reverse order: it pops the value that v had before,
takes v's cotangent d_v, and adds its contributions to the cotangents of the operands a and b.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed. (2008), chapters 4 and 6.

>>> def pow(x, n):
...     r = 1
...     while n > 0:
...         n -= 1
...         r *= x
...     return r
>>> gradient(pow, 5, 3)
(75, 0)
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable
from typing import Any

PARTIALS: dict[Any, tuple[str, ...]] = {
    ast.Add: ("1", "1"),
    ast.Sub: ("1", "-1"),
    ast.Mult: ("{1}", "{0}"),
    ast.Div: ("1 / {1}", "-{0} / {1} ** 2"),
    ast.USub: ("-1",),
    "sin": ("cos({0})",),
    "cos": ("-sin({0})",),
    "exp": ("exp({0})",),
    "log": ("1 / {0}",),
}


def gradient(f: Callable[..., float], *args: float) -> tuple[float, ...]:
    """The gradient of a function of numbers, one entry per argument."""
    namespace: dict[str, Any] = {**vars(math), **f.__globals__}
    exec(adjoint(f), namespace)
    return namespace[f"{f.__name__}_gradient"](*args)


def adjoint(f: Callable[..., float]) -> str:
    """The source of a function that runs f forward, then backward, and returns the gradient."""
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(f))).body
    assert isinstance(function, ast.FunctionDef)
    parameters = [a.arg for a in function.args.args]
    names = {n.id: None for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names["result"] = None
    forward, backward = sweeps(function.body, names)
    variables = list(dict.fromkeys([*parameters, *names]))
    lines = [
        "stack = []",
        f"{' = '.join(v for v in variables if v not in parameters)} = 0",
        *forward,
        f"{' = '.join('d_' + v for v in variables)} = 0",
        "d_result = 1",
        *backward,
        f"return ({', '.join('d_' + p for p in parameters)},)",
    ]
    return "\n".join([f"def {f.__name__}_gradient({', '.join(parameters)}):", *indented(lines)])


def sweeps(statements: list[ast.stmt], names: dict[str, None]) -> tuple[list[str], list[str]]:
    """The lines of the forward and the backward sweep; adds new variables to `names`."""
    forward: list[str] = []
    backward: list[str] = []
    for statement in statements:
        match statement:
            case ast.Assign([ast.Name(v)], value):
                there, back = assign(v, value, names)
            case ast.AugAssign(ast.Name(v), operator, value):
                there, back = assign(v, ast.BinOp(ast.Name(v), operator, value), names)
            case ast.Return(ast.expr() as value):
                there, back = assign("result", value, names)
            case ast.While(test, body):
                rounds = new(names)
                there, back = sweeps(body, names)
                there = [f"{rounds} = 0", f"while {ast.unparse(test)}:", *indented([*there, f"{rounds} += 1"])]
                there, back = [*there, f"stack.append({rounds})"], ["for _ in range(stack.pop()):", *indented(back)]
            case ast.If(test, body, orelse):
                (there, back), (other_there, other_back) = sweeps(body, names), sweeps(orelse, names)
                there = [f"if {ast.unparse(test)}:", *indented([*there, "stack.append(True)"])]
                there += ["else:", *indented([*other_there, "stack.append(False)"])]
                back = ["if stack.pop():", *indented(back), "else:", *indented(other_back)]
            case _:
                raise NotImplementedError(f"line {statement.lineno}: {ast.unparse(statement)}")
        forward, backward = [*forward, *there], [*back, *backward]
    return forward, backward


def assign(v: str, value: ast.expr, names: dict[str, None]) -> tuple[list[str], list[str]]:
    """`v = value` forward; backward, restore v's old value and add to the cotangents of the operands."""
    match value:
        case ast.BinOp(a, operator, b):
            operands, partials = [a, b], PARTIALS[type(operator)]
        case ast.UnaryOp(operator, a):
            operands, partials = [a], PARTIALS[type(operator)]
        case ast.Call(ast.Name(function), operands):
            partials = PARTIALS[function]
        case ast.Name() | ast.Constant():
            operands, partials = [value], ("1",)
        case _:
            raise NotImplementedError(f"line {value.lineno}: {ast.unparse(value)}")
    forward: list[str] = []
    backward: list[str] = []
    for i, operand in enumerate(operands):
        if not isinstance(operand, ast.Name | ast.Constant):
            temporary = new(names)
            there, back = assign(temporary, operand, names)
            forward, backward = [*forward, *there], [*back, *backward]
            operands[i] = ast.Name(temporary)
    match value:
        case ast.BinOp(operator=operator):
            value = ast.BinOp(operands[0], operator, operands[1])
        case ast.UnaryOp(operator):
            value = ast.UnaryOp(operator, operands[0])
    texts = [ast.unparse(operand) for operand in operands]
    shares = [
        f"d_{x} += dy * ({partial.format(*texts)})"
        for x, operand, partial in zip(texts, operands, partials)
        if isinstance(operand, ast.Name)
    ]
    return (
        [*forward, f"stack.append({v})", f"{v} = {ast.unparse(value)}"],
        [f"{v} = stack.pop()", f"dy, d_{v} = d_{v}, 0", *shares, *backward],
    )


def new(names: dict[str, None]) -> str:
    """A new variable, added to `names`."""
    name = f"t{len(names)}"
    names[name] = None
    return name


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
