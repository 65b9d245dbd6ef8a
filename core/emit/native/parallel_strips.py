"""Strips in chunks: operations that run together, piece by piece (``strips``), also run in several threads."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import typed
from ...ir.dynamic import Operation, Value
from ...ir.typed import part
from .elements import register_kinds
from .function import PARTS, FunctionCode
from .outlining import outlined
from .parallel_loops import Chunked, dimension, element_work, initial, is_worth, leave, note_elements
from .reductions import combined
from .schedule import WRITES
from .strip_loops import InStrip, pieces
from .strips import Strip


def strips_in_chunks(f: FunctionCode, strip: Strip, here: InStrip, lengths: Sequence[str]) -> bool:
    """Run strips in chunks of the elements, or of the rows; return False if that is not worth it or not possible."""
    code = f.code
    of_elements = len(lengths) == 1
    along = dimension(lengths, [0] if of_elements else range(len(lengths) - 1))
    each = sum(element_work(f, op) for op in strip.members)
    work = code.multiply(code.product(lengths), str(each))
    gap = None if along is None else _gap(strip, along)
    if f.piece is not None or is_worth(work) is False or along is None or gap is None:
        return False
    chunked = Chunked(f, lengths[along], work, gap)
    folds = {op.results[0]: op for op in strip.members if op.results[0] in here.totals}
    kinds = [kind for total in folds for kind in register_kinds(total.type.dtype)]
    slots = chunked.slots(kinds)
    starts = {total: here.total(total) for total in folds}
    outside = dict(here.totals), here.buffers

    def write() -> None:
        here.buffers = {}
        for value in outside[1]:
            here.buffers[value] = here.buffer(value, strip.size)
        for total, op in folds.items():
            dtype = total.type.dtype
            here.begin(total, initial(f, op.callee, dtype, register_kinds(dtype), starts[total]))
        if of_elements:
            pieces(f, strip, here, [], "%low", "%high")
        else:
            _rows(f, strip, here, lengths, along)
        leave(f, kinds, slots, [x for total in folds for x in here.total(total)])

    piece = outlined(f, write)
    here.totals, here.buffers = outside
    chunked.run(*piece)
    found = chunked.combine(kinds, slots, lambda a, b: _combined(f, folds, a, b))
    for total in folds:
        n = len(register_kinds(total.type.dtype))
        here.begin(total, found[:n])
        found = found[n:]
    for op in strip.members:
        f.op = op
        note_elements(f)
    return True


def _rows(f: FunctionCode, strip: Strip, here: InStrip, lengths: Sequence[str], along: int) -> None:
    """Emit, in a piece, the rows of a chunk of the dimension ``along``."""
    code = f.code

    def level(at: int, row: list[str]) -> Sequence[str]:
        if at == len(lengths) - 1:
            pieces(f, strip, here, row, "0", lengths[-1])
        elif at == along:
            code.counted("%low", "%high", 1, lambda i: level(at + 1, [*row, i]), (), ())
        else:
            code.loop(lengths[at], lambda i: level(at + 1, [*row, i]), unroll=False)
        return ()

    level(0, [])


def _combined(f: FunctionCode, folds: dict[Value, Operation], a: list[str], b: list[str]) -> list[str]:
    found: list[str] = []
    for total, op in folds.items():
        dtype = total.type.dtype
        n = len(register_kinds(dtype))
        found += combined(f.code, op.callee, dtype, a[:n], b[:n])
        a, b = a[n:], b[n:]
    return found


def _gap(strip: Strip, along: int) -> int | None:
    """Return within how many indices of a dimension the members write to the same element; None if that is not known.

    Writes that follow each other write to one part, or only add (``strips``).
    """
    gap = 0
    chains: dict[Value, list[Operation]] = {}
    for op in strip.members:
        if op.callee in WRITES:
            chain = chains.pop(op.positional[0], [])
            chains[op.results[0]] = [*chain, op]
    for chain in chains.values():
        if len({part(op) for op in chain}) == 1:
            continue
        starts = [_start(op, along) for op in chain]
        known = [start for start in starts if start is not None]
        if len(known) < len(starts) or len({step for _, step in known}) > 1:
            return None
        firsts = [first for first, _ in known]
        gap = max(gap, (max(firsts) - min(firsts)) // abs(known[0][1]))
    return gap


def _start(op: Operation, along: int) -> tuple[int, int] | None:
    """Return the first index and the step with which a write goes along a dimension of its value, if they are constants."""
    spec = op.named["spec"].constant
    index = list(op.positional[1:-1])
    for position, dimension_ in typed.part_dimensions(spec, 0).items():
        if dimension_ != along:
            continue
        if spec[position] == ":":
            return 0, 1
        first = index[sum(e != ":" for e in spec[:position])]
        return (int(first.constant), spec[position][1]) if first.is_constant else None
    return None


PARTS["strips in chunks"] = strips_in_chunks
