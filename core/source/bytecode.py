"""Decompiles a function without source, such as a formula that a package makes by ``eval``, to a syntax tree.

The bytecode is executed symbolically on a stack of expressions.  The resulting tree is compiled again and accepted only
if this reproduces the bytecode, so an unknown version of Python cannot cause a wrong tree.  Assignments, expressions
and branches are supported; a function with anything else (loops, ``try``, generators) counts as one without source.
"""

from __future__ import annotations

import ast
import dis
import inspect
import re
from collections.abc import Iterator
from types import CodeType
from typing import Any

OPERATORS = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
    "@": ast.MatMult, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor, "<<": ast.LShift, ">>": ast.RShift,
}  # fmt: skip
COMPARISONS = {"<": ast.Lt, "<=": ast.LtE, "==": ast.Eq, "!=": ast.NotEq, ">": ast.Gt, ">=": ast.GtE}
UNARY = {"UNARY_NEGATIVE": ast.USub, "UNARY_POSITIVE": ast.UAdd, "UNARY_INVERT": ast.Invert, "UNARY_NOT": ast.Not}
SKIPPED = {"RESUME", "NOP", "PRECALL", "CACHE", "COPY_FREE_VARS", "TO_BOOL", "NOT_TAKEN"}
MOST_INSTRUCTIONS = 2000  # code after a branch is read once per path
MOVE = re.compile("(?:LOAD|STORE)_FAST(?:_BORROW)?")
JUMPS = {*dis.hasjrel, *dis.hasjabs}
NULL = object()  # pushed beside a callable that is no bound method


def instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """Yield the instructions of a code object; those that move two variables (since Python 3.13) as two."""
    for i in dis.get_instructions(code):
        if i.opname in ("CACHE", "EXTENDED_ARG"):
            continue
        if not isinstance(i.argval, tuple) or "_FAST" not in i.opname:
            yield i
            continue
        for move, name in zip(MOVE.findall(i.opname), i.argval):
            yield i._replace(opname=move, argval=name, argrepr=name)
            i = i._replace(label=None)  # the second is no jump target


class Unread(Exception):
    """The bytecode has something other than assignments, expressions and branches."""


def definition_of(code: CodeType) -> ast.FunctionDef | None:
    """Return the definition that compiles to ``code``, or None."""
    kinds = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    if code.co_flags & kinds or code.co_exceptiontable:
        return None
    try:
        body = Reader(code).block(0, [])
    except Unread:
        return None
    for statements in (body, _as_one_expression(body)):
        definition = _definition("function", _arguments(code), statements)
        if _instructions(_compiled(definition, code)) == _instructions(code):
            return definition
    return None


def _definition(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    parameters: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
    return ast.FunctionDef(name, arguments, body, [], None, **parameters)


def _compiled(definition: ast.FunctionDef, code: CodeType) -> CodeType:
    """Compile a definition with the free variables of ``code``."""
    cells = [ast.arg(name) for name in code.co_freevars]
    factory = _definition("factory", ast.arguments([], cells, None, [], [], None, []), [definition])
    for node in ast.walk(factory):
        if "lineno" in node._attributes:
            node.lineno = node.end_lineno = code.co_firstlineno  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
    inner = compile(ast.Module([factory], []), code.co_filename, "exec", dont_inherit=True)
    for _ in range(2):
        (inner,) = (c for c in inner.co_consts if isinstance(c, CodeType))
    return inner


def _as_one_expression(body: list[ast.stmt]) -> list[ast.stmt]:
    """Replace branches that only return by conditional expressions, which compile to almost the same bytecode."""
    *before, last = body
    if not isinstance(last, ast.If):
        return body
    then, other = _as_one_expression(last.body), _as_one_expression(last.orelse)
    if len(then) == len(other) == 1 and isinstance(then[0], ast.Return) and isinstance(other[0], ast.Return):
        return [*before, ast.Return(ast.IfExp(last.test, then[0].value, other[0].value))]  # type: ignore[arg-type]
    return body


def _instructions(code: CodeType) -> list[tuple[str, Any]]:
    """Return the instructions of a code object for comparison: operations with their arguments, constants with type.

    Fused moves are split, because their fusion depends on the line numbers of the source.
    """
    result: list[tuple[str, Any]] = []
    places: dict[int, int] = {}
    for i in dis.get_instructions(code):
        places[i.offset] = len(result)
        if isinstance(i.argval, tuple) and "_FAST" in i.opname:
            result += zip(MOVE.findall(i.opname), map(repr, i.argval))
        elif i.opcode in JUMPS:
            result.append((i.opname, i.argval))
        elif i.opname not in ("NOP", "CACHE"):
            result.append((i.opname, repr(i.argval)))
    return [(name, places[value] if isinstance(value, int) else value) for name, value in result]


def _arguments(code: CodeType) -> ast.arguments:
    names = iter(code.co_varnames)
    plain = [ast.arg(next(names)) for _ in range(code.co_argcount)]
    keywords = [ast.arg(next(names)) for _ in range(code.co_kwonlyargcount)]
    several = ast.arg(next(names)) if code.co_flags & inspect.CO_VARARGS else None
    named = ast.arg(next(names)) if code.co_flags & inspect.CO_VARKEYWORDS else None
    n = code.co_posonlyargcount
    return ast.arguments(plain[:n], plain[n:], several, keywords, [None for _ in keywords], named, [])


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _bound(node: ast.expr) -> ast.expr | None:
    """Return a bound of a slice; an omitted one is None in the bytecode."""
    return None if isinstance(node, ast.Constant) and node.value is None else node


class Reader:
    """Executes a function's bytecode symbolically, on a stack of expressions."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.instructions = list(dis.get_instructions(code))
        self.places = {i.offset: k for k, i in enumerate(self.instructions)}
        self.left = MOST_INSTRUCTIONS

    def block(self, place: int, stack: list[Any]) -> list[ast.stmt]:
        """Return the statements from an instruction to the return."""
        stack, keywords = list(stack), ()
        statements: list[ast.stmt] = []
        while place < len(self.instructions):
            instruction = self.instructions[place]
            name, value, place = instruction.opname, instruction.argval, place + 1
            self.left -= 1
            if self.left < 0:
                raise Unread(name)
            if name in ("RETURN_VALUE", "RETURN_CONST"):
                result = self.pop(stack) if name == "RETURN_VALUE" else ast.Constant(value)
                return [*statements, ast.Return(result)]
            operator = self.keeping(place - 1)
            if operator is not None:
                kind, target, rest = operator
                return [
                    *statements,
                    self.returned(kind, self.block(rest, stack[:-1]), self.block(target, stack), stack),
                ]
            if name.startswith("POP_JUMP") and name.endswith(("IF_FALSE", "IF_TRUE")) and "BACKWARD" not in name:
                test = self.pop(stack)
                if name.endswith("IF_TRUE"):
                    test = ast.UnaryOp(ast.Not(), test)
                there = self.block(self.places[value], stack)
                return [*statements, ast.If(test, self.block(place, stack), there)]
            if name == "JUMP_FORWARD":
                place = self.places[value]
            elif name in ("STORE_FAST", "STORE_FAST_LOAD_FAST"):
                # An expression still on the stack was evaluated before the assignment and cannot be moved after it.
                result = self.pop(stack)
                if stack:
                    raise Unread(name)
                target, *loaded = value if isinstance(value, tuple) else (value,)
                statements.append(ast.Assign([ast.Name(target, ast.Store())], result))
                stack += map(_name, loaded)
            elif name == "KW_NAMES":
                keywords = self.code.co_consts[instruction.arg or 0]
            elif name in ("CALL", "CALL_KW"):
                if name == "CALL_KW":
                    keywords = ast.literal_eval(self.pop(stack))
                self.call(stack, instruction.arg or 0, keywords)
                keywords = ()
            else:
                self.step(name, instruction, stack)
        raise Unread("no return")

    def keeping(self, place: int) -> tuple[ast.boolop, int, int] | None:
        """Recognise ``and`` and ``or``, jumps that keep the tested value: the operator, target and other operand."""
        names = [i.opname for i in self.instructions[place : place + 4]]
        if names[0].endswith("_OR_POP"):  # until Python 3.11
            jump, rest = place, place + 1
        elif names[0] == "COPY" and self.instructions[place].arg == 1:
            jump = place + 1 + (names[1:2] == ["TO_BOOL"])
            rest = jump + 2
            if [i.opname for i in self.instructions[jump + 1 : rest]] != ["POP_TOP"]:
                return None
        else:
            return None
        if "IF_FALSE" not in self.instructions[jump].opname and "IF_TRUE" not in self.instructions[jump].opname:
            return None
        kind = ast.And() if "IF_FALSE" in self.instructions[jump].opname else ast.Or()
        return kind, self.places[self.instructions[jump].argval], rest

    def returned(self, kind: ast.boolop, rest: list[ast.stmt], kept: list[ast.stmt], stack: list[Any]) -> ast.Return:
        """Return the ``return`` of an ``and`` or ``or``, from the statements of its two paths."""
        if (
            len(rest) != 1
            or len(kept) != 1
            or not isinstance(rest[0], ast.Return)
            or not isinstance(kept[0], ast.Return)
        ):
            raise Unread(kind)
        first, other = kept[0].value, rest[0].value
        if not stack or first is not stack[-1] or other is None:
            raise Unread(kind)
        others = other.values if isinstance(other, ast.BoolOp) and type(other.op) is type(kind) else [other]
        return ast.Return(ast.BoolOp(kind, [first, *others]))

    def pop(self, stack: list[Any]) -> Any:
        if not stack or stack[-1] is NULL:
            raise Unread("an empty stack")
        return stack.pop()

    def call(self, stack: list[Any], count: int, keywords: tuple[str, ...]) -> None:
        arguments = [self.pop(stack) for _ in range(count)][::-1]
        pair = [stack.pop() for _ in range(2)] if len(stack) > 1 else []
        functions = [f for f in pair if f is not NULL]
        if len(functions) != 1:
            raise Unread("a call")
        plain = arguments[: count - len(keywords)]
        named = [ast.keyword(k, v) for k, v in zip(keywords, arguments[count - len(keywords) :])]
        stack.append(ast.Call(functions[0], plain, named))

    def step(self, name: str, instruction: dis.Instruction, stack: list[Any]) -> None:
        """Execute an instruction that affects only the stack."""
        value = instruction.argval
        if name in SKIPPED:
            return
        if name == "PUSH_NULL":
            stack.append(NULL)
        elif name == "POP_TOP" or name == "SWAP" or name == "COPY":
            raise Unread(name)
        elif name in ("LOAD_CONST", "LOAD_SMALL_INT"):
            if isinstance(value, CodeType):
                raise Unread(name)
            stack.append(ast.Constant(value))
        elif name.startswith("LOAD_FAST"):
            stack += [_name(v) for v in (value if isinstance(value, tuple) else (value,))]
        elif name == "LOAD_DEREF":
            stack.append(_name(value))
        elif name == "LOAD_GLOBAL":
            stack += [_name(value), NULL] if (instruction.arg or 0) & 1 else [_name(value)]
        elif name == "LOAD_METHOD" or name == "LOAD_ATTR":
            stack.append(ast.Attribute(self.pop(stack), value, ast.Load()))
            if name == "LOAD_METHOD" or "NULL" in instruction.argrepr:
                stack.append(NULL)
        elif name in UNARY or instruction.argrepr == "INTRINSIC_UNARY_POSITIVE":
            stack.append(ast.UnaryOp(UNARY.get(name, ast.UAdd)(), self.pop(stack)))
        elif name == "BINARY_OP" and instruction.argrepr in OPERATORS:
            right, left = self.pop(stack), self.pop(stack)
            stack.append(ast.BinOp(left, OPERATORS[instruction.argrepr](), right))
        elif name == "BINARY_SUBSCR" or name == "BINARY_OP" and instruction.argrepr == "[]":
            index, container = self.pop(stack), self.pop(stack)
            stack.append(ast.Subscript(container, index, ast.Load()))
        elif name == "BINARY_SLICE":
            stop, start, container = self.pop(stack), self.pop(stack), self.pop(stack)
            stack.append(ast.Subscript(container, ast.Slice(_bound(start), _bound(stop)), ast.Load()))
        elif name == "BUILD_SLICE":
            parts = [_bound(self.pop(stack)) for _ in range(instruction.arg or 0)][::-1]
            stack.append(ast.Slice(*parts))
        elif name == "COMPARE_OP" and value in COMPARISONS:
            right, left = self.pop(stack), self.pop(stack)
            stack.append(ast.Compare(left, [COMPARISONS[value]()], [right]))
        elif name == "IS_OP":
            right, left = self.pop(stack), self.pop(stack)
            stack.append(ast.Compare(left, [ast.IsNot() if instruction.arg else ast.Is()], [right]))
        elif name in ("BUILD_TUPLE", "BUILD_LIST"):
            elements = [self.pop(stack) for _ in range(instruction.arg or 0)][::-1]
            stack.append((ast.Tuple if name == "BUILD_TUPLE" else ast.List)(elements, ast.Load()))
        else:
            raise Unread(name)
