"""Print IR as formatted, runnable Python with the user's names.

A value that is used once is folded into the expression that uses it. The carried variables of a loop are assigned
together at the end of the body.
"""

from __future__ import annotations

import builtins
import keyword
import linecache
import math
import operator
import weakref
from collections import Counter
from types import FunctionType
from typing import Any

import numpy as np

from ..ir.dynamic import Block, Function, Link, Method, Operation, Value, operands
from ..ir.vocabulary import UNPACK, leave_if, leave_unless, make_list, make_tuple
from ..values.cotangents import accumulate, add_at, is_fancy

INFIX = {
    operator.or_: ("|", 5),
    operator.xor: ("^", 6),
    operator.and_: ("&", 7),
    operator.lshift: ("<<", 8),
    operator.rshift: (">>", 8),
    operator.add: ("+", 9),
    operator.sub: ("-", 9),
    operator.mul: ("*", 10),
    operator.truediv: ("/", 10),
    operator.floordiv: ("//", 10),
    operator.mod: ("%", 10),
    operator.matmul: ("@", 10),
    operator.lt: ("<", 4),
    operator.le: ("<=", 4),
    operator.gt: (">", 4),
    operator.ge: (">=", 4),
    operator.eq: ("==", 4),
    operator.ne: ("!=", 4),
    operator.is_: ("is", 4),
    operator.is_not: ("is not", 4),
}
IN_PLACE = {
    getattr(operator, "i" + n.rstrip("_")): getattr(operator, n) for n in ("add", "sub", "mul", "truediv", "pow")
}
PREFIX = {operator.neg: ("-", 11), operator.pos: ("+", 11), operator.invert: ("~", 11), operator.not_: ("not ", 3)}
ATOM = 20
LONGEST = 88
EFFECTS = (accumulate, add_at, list.append, operator.setitem, setattr, leave_if, leave_unless)

Expression = tuple[str, int]


class Printer:
    """Prints one function; ``namespace`` maps the names in its text to objects."""

    def __init__(self, function: Function, name: str | None = None) -> None:
        self.function = function
        self.name = name or function.name
        self.lines: list[str] = []
        self.source_lines: list[int] = []
        self.namespace: dict[str, Any] = {}
        self.links: dict[str, Link] = {}
        self.names: dict[Value, str] = {}
        self.taken = set(keyword.kwlist) | {"np", "math"} | set(dir(builtins))
        self.objects: dict[int, str] = {}
        self.uses = Counter(v for v in operands(function.block) if not v.is_constant)
        self.pending: dict[Value, Expression] = {}
        self.line = 0

    def text(self) -> str:
        parameters = ", ".join(self.define(p) for p in self.function.parameters)
        self.write(f"def {self.name}({parameters}):", 0)
        self.block(self.function.block, 1, None)
        return "\n".join(self.lines) + "\n"

    def write(self, line: str, indent: int) -> None:
        self.lines.append("    " * indent + line)
        self.source_lines.append(self.line)

    def define(self, value: Value) -> str:
        if value not in self.names:
            base = value.name if value.name.isidentifier() else "t"
            self.names[value] = unused_name(self.taken, base)
        return self.names[value]

    # Statements

    def block(self, block: Block, indent: int, targets: list[str] | None) -> None:
        """Print the operations of a block, then assign its results to ``targets`` (None: return them)."""
        start = len(self.lines)
        local = Counter(v for op in block.operations for v in op.operands if not v.is_constant)
        local.update(v for v in block.results if not v.is_constant)
        for op in block.operations:
            self.line = op.line
            if op.kind != "call":
                operands_ = [self.value(v)[0] for v in op.operands]
                self.flush(indent)
                getattr(self, f"print_{op.kind}")(op, operands_, indent)
            elif len(op.results) == 1 and op.callee is not UNPACK and op.callee not in (list, *EFFECTS):
                (result,) = op.results
                expression = self.call(op)
                if self.uses[result] == 1 and local[result] == 1 and len(expression[0]) < LONGEST:
                    self.pending[result] = expression
                elif self.uses[result]:
                    self.write(f"{self.define(result)} = {expression[0]}", indent)
                elif op.may_raise:
                    self.flush(indent)
                    self.write(expression[0], indent)
            else:
                self.statement(op, indent)
        if targets is None:
            self.write(f"return {self.value(block.results[0])[0]}", indent)
        else:
            moves = [(t, self.value(v)[0]) for t, v in zip(targets, block.results)]
            moves = [(t, e) for t, e in moves if t != e]
            if moves:
                self.write(f"{', '.join(t for t, _ in moves)} = {', '.join(e for _, e in moves)}", indent)
        if len(self.lines) == start:
            self.write("pass", indent)

    def flush(self, indent: int) -> None:
        """Assign every folded expression to a name: the next statement may use it twice, or change what it reads."""
        for value, (text, _) in list(self.pending.items()):
            self.write(f"{self.define(value)} = {text}", indent)
        self.pending.clear()

    def statement(self, op: Operation, indent: int) -> None:
        if op.callee is UNPACK:
            source = self.value(op.operands[0])[0]
            targets = ", ".join(self.define(r) if self.uses[r] else "_" for r in op.results)
            self.write(f"{targets}{',' if len(op.results) == 1 else ''} = {source}", indent)
            return
        if op.callee is list:
            self.write(f"{self.define(op.results[0])} = []", indent)
            return
        if op.operands[0] in self.pending:  # the target of a write needs a name
            text, _ = self.pending.pop(op.operands[0])
            self.write(f"{self.define(op.operands[0])} = {text}", indent)
        values = [self.value(v) for v in op.operands]
        if op.callee is accumulate:
            self.flush(indent)
            self.write(f"{values[0][0]} += {values[1][0]}", indent)
            self.names[op.results[0]] = values[0][0]
            return
        if op.callee is add_at:
            self.flush(indent)
            index = op.operands[1]
            real = index.type is not None and index.type.kind == "real"
            if real or index.is_constant and not is_fancy(index.constant):
                self.write(f"{values[0][0]}[{self.index(index, values[1][0])}] += {values[2][0]}", indent)
                return
        elif op.callee is operator.setitem:
            self.write(f"{values[0][0]}[{values[1][0]}] = {values[2][0]}", indent)
            return
        elif op.callee is list.append:
            self.write(f"{values[0][0]}.append({values[1][0]})", indent)
            return
        name = self.callee(op.callee)
        self.write(f"{name}({', '.join(v[0] for v in values)})", indent)

    def print_if(self, op: Operation, values: list[str], indent: int) -> None:
        targets = [self.define(r) for r in op.results]
        then, other = op.blocks
        self.write(f"if {values[0]}:", indent)
        self.block(then, indent + 1, targets)
        if targets or other.operations:
            self.write("else:", indent)
            self.block(other, indent + 1, targets)

    def carry(self, op: Operation, initial: list[str], parameters: list[Value], indent: int) -> list[str]:
        """Assign the initial values of a loop's carried variables; return the variables' names."""
        targets = []
        for parameter, result in zip(parameters, op.results):
            parameter.name = parameter.name or result.name
            targets.append(self.define(parameter))
            self.names[result] = targets[-1]
        for target, value in zip(targets, initial):
            if target != value:
                self.write(f"{target} = {value}", indent)
        return targets

    def print_while(self, op: Operation, values: list[str], indent: int) -> None:
        condition, body = op.blocks
        targets = self.carry(op, values, body.parameters, indent)
        for parameter, target in zip(condition.parameters, targets):
            self.names[parameter] = target
        if any(o.kind != "call" for o in condition.operations):
            self.write("while True:", indent)
            test = unused_name(self.taken, "more")
            self.block(condition, indent + 1, [test])
            self.write(f"if not {test}:", indent + 1)
            self.write("break", indent + 2)
        else:
            for o in condition.operations:
                self.pending[o.results[0]] = self.call(o)
            self.write(f"while {self.value(condition.results[0])[0]}:", indent)
        self.block(body, indent + 1, targets)

    def print_for(self, op: Operation, values: list[str], indent: int) -> None:
        body = op.blocks[0]
        targets = self.carry(op, values[1:], body.parameters[op.items :], indent)
        items = body.parameters[: op.items]
        item = items[0]
        first = body.operations[0] if body.operations else None
        if first is not None and first.callee is UNPACK and first.operands == [item] and self.uses[item] == 1:
            names = ", ".join(self.define(r) for r in first.results)
            rest = Block(body.parameters, body.operations[1:], body.results)
        else:
            names, rest = ", ".join(self.define(i) if self.uses[i] else "_" for i in items), body
        self.write(f"for {names} in {values[0]}:", indent)
        self.block(rest, indent + 1, targets)

    # Expressions

    def value(self, value: Value) -> Expression:
        if value.is_constant:
            return self.constant(value.constant)
        if value in self.pending:
            return self.pending.pop(value)
        return self.define(value), ATOM

    def constant(self, x: Any) -> Expression:
        if x is None or isinstance(x, (bool, str)) or type(x) in (int, float) and math.isfinite(x):
            return repr(x), ATOM if not (isinstance(x, (int, float)) and x < 0) else 11
        if type(x) is complex:
            return repr(x), ATOM
        if x is Ellipsis:
            return "...", ATOM
        if type(x) is slice:
            return f"slice({x.start}, {x.stop}, {x.step})", ATOM
        if type(x) is tuple:
            return f"({', '.join(self.constant(e)[0] for e in x)}{',' if len(x) == 1 else ''})", ATOM
        return self.callee(x), ATOM

    def callee(self, x: Any) -> str:
        if isinstance(x, Link):
            key = id(x.compiled), x.attribute
            for name, link in self.links.items():
                if (id(link.compiled), link.attribute) == key:
                    return name
            name = unused_name(self.taken, x.__name__)
            self.links[name] = x
            return name
        name = getattr(x, "__name__", "")
        for module, prefix in ((np, "np"), (math, "math"), (np.linalg, "np.linalg"), (operator, "operator")):
            if name and getattr(module, name, None) is x:
                self.namespace[prefix.split(".")[0]] = np if prefix.startswith("np") else module
                return f"{prefix}.{name}"
        if name and getattr(builtins, name, None) is x:
            return name
        if id(x) not in self.objects:
            text = name if name.isidentifier() else f"{type(x).__name__}_"
            self.objects[id(x)] = unused_name(self.taken, text)
            self.namespace[self.objects[id(x)]] = x
        return self.objects[id(x)]

    def call(self, op: Operation) -> Expression:
        callee = IN_PLACE.get(op.callee, op.callee) if _hashable(op.callee) else op.callee
        values = [self.value(v) for v in op.operands]
        if callee in INFIX and len(values) == 2:
            symbol, rank = INFIX[callee]
            left, right = self.wrapped(values[0], rank), self.wrapped(values[1], rank + 1)
            if rank == 4:
                left = self.wrapped(values[0], rank + 1)
            return f"{left} {symbol} {right}", rank
        if callee is operator.pow:
            return f"{self.wrapped(values[0], 13)} ** {self.wrapped(values[1], 12)}", 12
        if callee in PREFIX:
            symbol, rank = PREFIX[callee]
            return f"{symbol}{self.wrapped(values[0], rank)}", rank
        texts = [v[0] for v in values]
        if callee is operator.getitem:
            return f"{self.wrapped(values[0], ATOM)}[{self.index(op.operands[1], texts[1])}]", ATOM
        if callee is make_tuple:
            return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})", ATOM
        if callee is make_list:
            return f"[{', '.join(texts)}]", ATOM
        if callee is getattr and op.operands[1].is_constant and len(values) == 2:
            return f"{self.wrapped(values[0], ATOM)}.{op.operands[1].constant}", ATOM
        if callee is np.transpose and len(values) == 1 and getattr(op.operands[0].type, "kind", "") == "array":
            return f"{self.wrapped(values[0], ATOM)}.T", ATOM
        named = texts[len(op.positional) :]
        arguments = [*texts[: len(op.positional)], *(f"{k}={t}" for k, t in zip(op.keywords, named))]
        if isinstance(callee, Method):
            return f"{self.wrapped(values[0], ATOM)}.{callee.name}({', '.join(arguments[1:])})", ATOM
        return f"{self.callee(callee)}({', '.join(arguments)})", ATOM

    @staticmethod
    def index(value: Value, text: str) -> str:
        """Return the text of an index between brackets: a constant slice is written with colons."""
        x = value.constant
        if type(x) is not slice:
            return text
        start, stop, step = ("" if part is None else repr(part) for part in (x.start, x.stop, x.step))
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"

    @staticmethod
    def wrapped(expression: Expression, rank: int) -> str:
        text, own = expression
        return text if own >= rank else f"({text})"


def build(function: Function) -> tuple[FunctionType, str, dict[str, Link], dict[str, Any]]:
    """Return the Python function that ``function`` prints as, its text, the callees still to be linked, its globals."""
    printer = Printer(function)
    text = printer.text()
    namespace = load(function.name, text, {**printer.namespace, "__name__": "morula.generated"})
    return namespace[printer.name], text, printer.links, namespace


def unused_name(taken: set[str], base: str) -> str:
    """Return ``base``, with a number if it is already in ``taken``, and add the name to ``taken``."""
    name, n = base, 0
    while name in taken:
        n += 1
        name = f"{base}{n}"
    taken.add(name)
    return name


def load(name: str, text: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Run ``text`` in ``namespace`` and return it.

    The text is entered in ``linecache``, so that tracebacks show its lines and the functions can be differentiated from
    their source.
    """
    filename = f"<morula {name} {next(_serial)}>"
    before = {*namespace}
    exec(compile(text, filename, "exec"), namespace)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    made = next((x for key, x in namespace.items() if key not in before and isinstance(x, FunctionType)), None)
    if made is not None:
        weakref.finalize(made, linecache.cache.pop, filename, None).atexit = False
    return namespace


def _hashable(x: Any) -> bool:
    return getattr(type(x), "__hash__", None) is not None


_serial = iter(range(1, 1 << 62))
