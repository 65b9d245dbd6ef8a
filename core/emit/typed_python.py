"""Print typed IR as Python source with NumPy calls, to read or run when one wants to see what a program computes.

Each operation is one line; values keep the names of the user's program. ``source`` returns the text, ``build`` a
function that takes and returns the same as ``evaluate``.
"""

from __future__ import annotations

import builtins
import keyword
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir import typed
from ..ir.dynamic import Block, Function, Operation, Value, operands, walk
from ..ir.typed import ArrayType, Dim, Primitive
from .python import load, unused_name

INFIX = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.divide: "/",
    np.floor_divide: "//",
    np.remainder: "%",
    np.power: "**",
    np.matmul: "@",
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
    np.equal: "==",
    np.not_equal: "!=",
    np.bitwise_and: "&",
    np.bitwise_or: "|",
    np.bitwise_xor: "^",
}
_VIEWS = (typed.getitem, typed.reshape, typed.transpose, typed.broadcast_to, typed.apart)
"""Operations whose results may show the memory of an operand."""
LONGEST = 16
"""The largest number of elements of a constant array that is written out."""


def source(function: Function) -> str:
    """Return the function as Python source; constants longer than ``LONGEST`` appear as names."""
    return _Printer().text(function)


def build(function: Function, frees: bool = False) -> Callable[..., list[Any]]:
    """Return a Python function from NumPy arrays and numbers of the declared types to a list of results.

    With ``frees``, it drops each value of its outermost block after the last use, and writes into arrays that are not
    used otherwise, so that it needs little memory.
    """
    printer = _Printer(frees)
    text = printer.text(function)
    return load(function.name, text, dict(printer.namespace))[printer.functions[id(function)]]


def _last_uses(function: Function) -> dict[Operation, list[Value]]:
    """By operation of the outermost block: the parameters and results of calls that nothing reads after it."""
    calls = [op for op in function.block.operations if op.kind == "call"]
    waiting = {*function.parameters, *(r for op in calls for r in op.results)} - {*function.block.results}
    found: dict[Operation, list[Value]] = {}
    for op in reversed(function.block.operations):
        read = [*op.operands, *(v for block in op.blocks for v in operands(block))]
        kinds = [r.type for inner in (op, *(i for block in op.blocks for i in walk(block))) for r in inner.results]
        read += [n for kind in kinds for n in typed.lengths(kind)]
        last = [v for v in dict.fromkeys(read) if v in waiting]
        if last:
            found[op] = last
            waiting -= {*last}
    return found


class _Printer:
    def __init__(self, frees: bool = False) -> None:
        self.frees = frees
        self.last_uses: dict[Operation, list[Value]] = {}
        self.owned: set[Value] = set()  # arrays of which no other value shows a part
        self.namespace: dict[str, Any] = {"np": np}
        self.functions: dict[int, str] = {}
        self.taken = set(keyword.kwlist) | set(dir(builtins)) | {"np"}
        self.names: dict[Value, str] = {}
        self.objects: dict[int, str] = {}
        self.uses: Counter[Value] = Counter()
        self.finished: list[str] = []
        self.lines: list[str] = []

    def text(self, function: Function) -> str:
        self.define_function(function)
        return "\n\n\n".join(self.finished) + "\n"

    def define_function(self, function: Function) -> str:
        """Print a function, after the functions that it calls, and return its name."""
        if id(function) in self.functions:
            return self.functions[id(function)]
        base = function.name if function.name.isidentifier() else "program"
        self.functions[id(function)] = name = unused_name(self.taken, base)
        outer, self.lines, names, self.names = self.lines, [], self.names, {}
        uses, self.uses = self.uses, Counter(operands(function.block))
        last_uses, self.last_uses = self.last_uses, _last_uses(function) if self.frees else {}
        for op in walk(function.block):
            for result in op.results:
                if isinstance(result.type, ArrayType):
                    self.uses.update(n.value for n in result.type.shape if isinstance(n, Dim))
        self.write(f"def {name}({', '.join(map(self.define, function.parameters))}):", 0)
        for op in function.block.operations:
            self.owned -= {*op.operands} if op.callee in _VIEWS or op.blocks else set()
            self.block(Block([], [op]), 1)
            if isinstance(op.callee, np.ufunc) or op.callee is typed.full:
                self.owned.update(r for r in op.results if r.type.shape)
            dropped = [self.names[v] for v in self.last_uses.get(op, ()) if v in self.names]
            if dropped:
                self.write(f"del {', '.join(dropped)}", 1)
        self.write(f"return [{', '.join(map(self.value, function.block.results))}]", 1)
        self.finished.append("\n".join(self.lines))
        self.lines, self.names, self.uses, self.last_uses = outer, names, uses, last_uses
        return name

    def write(self, line: str, indent: int) -> None:
        self.lines.append("    " * indent + line)

    def define(self, value: Value) -> str:
        if value not in self.names:
            base = value.name if value.name.isidentifier() else "t"
            self.names[value] = unused_name(self.taken, base)
        return self.names[value]

    # Statements

    def block(self, block: Block, indent: int) -> None:
        for op in block.operations:
            getattr(self, f"print_{op.kind}")(op, indent)

    def assign(self, targets: Sequence[str], values: Sequence[str], indent: int) -> None:
        pairs = [(t, v) for t, v in zip(targets, values) if t != v]
        if pairs:
            self.write(f"{', '.join(t for t, _ in pairs)} = {', '.join(v for _, v in pairs)}", indent)

    def body(self, block: Block, targets: Sequence[str], indent: int) -> None:
        first = len(self.lines)
        self.block(block, indent)
        self.assign(targets, list(map(self.value, block.results)), indent)
        if len(self.lines) == first:
            self.write("pass", indent)

    def print_call(self, op: Operation, indent: int) -> None:
        if not any(self.uses[r] for r in op.results) and not op.may_raise:
            return
        if self.last_uses and self.print_write(op, indent):
            return
        expression = self.expression(op)
        targets = [self.define(r) if self.uses[r] else "_" for r in op.results]
        several = len(targets) > 1 or isinstance(op.callee, Function) or op.callee is typed.stack_pop
        left = f"{', '.join(targets)}{',' if len(targets) == 1 and several else ''} = " if targets else ""
        self.write(f"{left}{expression}", indent)

    def print_write(self, op: Operation, indent: int) -> bool:
        """Print a write into an array, in place if nothing else uses the array; return whether it could be printed."""
        if op.callee not in (typed.setitem, typed.add_at) or "a" in op.named["spec"].constant:
            return False
        x, *_, v = op.positional
        index = self.index(op, [self.value(i) for i in op.positional[1:-1]], v.type)
        if index is None:
            return False
        last, (result,) = self.last_uses.get(op, []), op.results
        if x in self.owned and x in last:
            self.names[result] = self.names.pop(x)
        else:
            self.write(f"{self.define(result)} = np.array({self.value(x)})", indent)
        self.owned.add(result)
        self.write(
            f"{self.names[result]}[{index}] {'=' if op.callee is typed.setitem else '+='} {self.value(v)}", indent
        )
        return True

    def print_if(self, op: Operation, indent: int) -> None:
        targets = list(map(self.define, op.results))
        self.write(f"if {self.value(op.operands[0])}:", indent)
        self.body(op.blocks[0], targets, indent + 1)
        if targets or op.blocks[1].operations:
            self.write("else:", indent)
            self.body(op.blocks[1], targets, indent + 1)

    def carry(self, op: Operation, initial: Sequence[Value], blocks: Sequence[list[Value]], indent: int) -> list[str]:
        targets = []
        for i, result in enumerate(op.results):
            name = unused_name(self.taken, blocks[0][i].name if blocks[0][i].name.isidentifier() else "t")
            targets.append(name)
            for value in (result, *(parameters[i] for parameters in blocks)):
                self.names[value] = name
        self.assign(targets, list(map(self.value, initial)), indent)
        return targets

    def print_while(self, op: Operation, indent: int) -> None:
        test, body = op.blocks
        targets = self.carry(op, op.operands, [test.parameters, body.parameters], indent)
        self.write("while True:", indent)
        self.block(test, indent + 1)
        self.write(f"if not {self.value(test.results[0])}:", indent + 1)
        self.write("break", indent + 2)
        self.body(body, targets, indent + 1)

    def print_range(self, op: Operation, indent: int) -> None:
        (body,) = op.blocks
        targets = self.carry(op, op.operands[3:], [body.parameters[1:]], indent)
        bounds = ", ".join(f"int({v})" if not v.isdigit() else v for v in map(self.value, op.operands[:3]))
        index = self.define(body.parameters[0])
        self.write(f"for {index} in range({bounds}):", indent)
        self.write(f"{index} = np.int64({index})", indent + 1)
        self.body(body, targets, indent + 1)

    # Expressions

    def value(self, value: Value) -> str:
        return self.constant(value.constant) if value.is_constant else self.define(value)

    def constant(self, x: Any) -> str:
        if isinstance(x, np.ndarray):
            if x.size > LONGEST:
                return self.object(x, "constant")
            kind = "" if x.dtype in (np.float64, np.int64, np.bool_) and x.size else f", np.{np.dtype(x.dtype).name}"
            return f"np.array({x.tolist()}{kind})".replace("nan", "np.nan").replace("inf", "np.inf")
        if isinstance(x, np.generic):
            plain = x.item()
            finite = np.isfinite(plain) if x.dtype.kind in "fc" else True
            if finite and x.dtype in (np.float64, np.int64, np.bool_):
                return repr(plain) if plain >= 0 else f"({plain!r})"
            return f"np.{type(x).__name__}({plain!r})" if finite else f"np.{type(x).__name__}('{plain}')"
        if isinstance(x, np.dtype):
            return f"np.{x.type.__name__}"
        if x is None or isinstance(x, (bool, int, str)):
            return repr(x)
        if isinstance(x, tuple):
            return f"({', '.join(map(self.constant, x))}{',' if len(x) == 1 else ''})"
        return self.named(x)

    def named(self, x: Any) -> str:
        """Return the name of a function or a class in the text; a typed function is printed first."""
        if isinstance(x, Function):
            return self.define_function(x)
        name = getattr(x, "__name__", "")
        if isinstance(x, type) and getattr(builtins, name, None) is x:
            return name
        for prefix in ("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg"):
            if name and getattr(sys.modules.get(prefix), name, None) is x:
                root = prefix.partition(".")[0]
                written = "np" if root == "numpy" else root
                self.namespace[written] = sys.modules[root]
                return f"{prefix.replace('numpy', 'np')}.{name}"
        return self.object(x, name)

    def object(self, x: Any, name: str) -> str:
        if id(x) not in self.objects:
            self.objects[id(x)] = unused_name(self.taken, name if name.isidentifier() else type(x).__name__.lower())
            self.namespace[self.objects[id(x)]] = x
        return self.objects[id(x)]

    def expression(self, op: Operation) -> str:
        callee = op.callee
        texts = list(map(self.value, op.positional))
        named = {k: self.value(v) for k, v in op.named.items()}
        if callee in INFIX and len(texts) == 2:
            return f"{texts[0]} {INFIX[callee]} {texts[1]}"
        if isinstance(callee, Primitive):
            return self.primitive(op, texts, named)
        arguments = [*texts, *(f"{k}={v}" for k, v in named.items())]
        return f"{self.named(callee)}({', '.join(arguments)})"

    def shape(self, kind: Any) -> str:
        if not isinstance(kind, ArrayType):
            return "()"
        texts = [self.value(n.value) if isinstance(n, Dim) else str(n) for n in kind.shape]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def primitive(self, op: Operation, texts: list[str], named: dict[str, str]) -> str:
        callee = op.callee
        result = op.results[0].type if op.results else None
        if callee is typed.cast:
            is_plain = not op.operands[0].type.shape and op.operands[0].type.dtype.kind != "c"
            return f"{named['dtype']}({texts[0]})" if is_plain else f"{texts[0]}.astype({named['dtype']})"
        if callee is typed.apart:
            return texts[0]
        if callee is typed.full:
            return f"np.full({self.shape(result)}, {texts[0]}, np.{result.dtype.name})"  # type: ignore[union-attr]
        if callee is typed.broadcast_to:
            return f"np.broadcast_to({texts[0]}, {self.shape(result)})"
        if callee is typed.reshape:
            return f"np.reshape({texts[0]}, {self.shape(result)})"
        if callee is typed.transpose:
            return f"np.transpose({texts[0]}, {named['axes']})"
        if callee is typed.iota:
            return f"np.arange({self.shape(result)[1:-2]})"
        if callee is typed.concatenate:
            return f"np.concatenate(({', '.join(texts)},), {named['axis']})"
        index = self.index(op, texts[1:], op.results[0].type) if callee is typed.getitem else None
        if index is not None:
            return f"{texts[0]}[{index}]"
        body = self.object(callee.body, callee.name)
        arguments = [self.shape(result), *texts, *(f"{k}={v}" for k, v in named.items())]
        return f"{body}({', '.join(arguments)})"

    @staticmethod
    def index(op: Operation, texts: list[str], part: Any) -> str | None:
        """Return the text of an index between brackets; None for a slice that has no such form. ``part``: the part's type."""
        spec = op.named["spec"].constant
        given = list(texts)
        arrays = [v.type.ndim for e, v in zip([e for e in spec if e != ":"], op.positional[1:]) if e == "a"]
        places = typed.part_dimensions(spec, max(arrays, default=0))
        found = []
        for i, entry in enumerate(spec):
            if entry == ":":
                found.append(":")
                continue
            text = given.pop(0)
            if entry in ("i", "a"):
                found.append(text)
                continue
            step, n = entry[1], part.shape[places[i]]
            by = f":{step}" if step != 1 else ""
            if isinstance(n, Dim) or n == 0:
                return None
            if text.isdigit():
                stop = int(text) + step * n
                found.append(f"{text}:{stop if stop >= 0 else ''}{by}")
            elif step > 0:
                found.append(f"{text}:{text} + {step * n}{by}")
            else:
                return None
        return ", ".join(found)
