"""``np.einsum``: parse the subscripts, then contract two operands at a time, by matrix products where possible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir.dynamic import Value
from ...ir.typed import ArrayType, Dim
from ..traced import Array, Trace, traces
from .arguments import integer, refuse, static, strong, value
from .operators import stored
from .products import inner_length, matrix_product
from .views import derived, permuted, reshape

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@traces(np.einsum)
def einsum(
    trace: Trace, *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, **options: Any
) -> Any:
    subscripts, arrays = _arguments(trace, operands)
    parts = [strong(trace.builder, value(trace, x)) for x in arrays]
    dtype = np.result_type(*(p.type.dtype for p in parts)) if dtype is None else dtype
    parts = [trace.builder.cast(p, dtype) for p in parts]
    inputs, output = _read(subscripts, [p.type.ndim for p in parts])
    if len(arrays) == 1 and isinstance(arrays[0], Array) and set(output) == set(inputs[0]) and out is None:
        if arrays[0].type.dtype == dtype and (arrays[0].type.is_static or len(output) == len(inputs[0])):
            return _view(trace, arrays[0], inputs[0], output)
    terms = [_single(trace, p, s) for p, s in zip(parts, inputs)]
    for s, p in zip(inputs, parts):
        _check_lengths(trace, s, p, inputs, parts)
    while len(terms) > 1:
        i, j = _next_pair(terms, output)
        others = {letter for k, (_, s) in enumerate(terms) if k not in (i, j) for letter in s} | set(output)
        joined = _pair(trace, terms[i], terms[j], others)
        terms = [t for k, t in enumerate(terms) if k not in (i, j)] + [joined]
    x, s = _summed(trace, terms[0], set(output))
    return stored(trace, trace.builder.transpose(x, [s.index(letter) for letter in output]), out)


def _view(trace: Trace, x: Array, s: str, output: str) -> Array:
    """Return the writable view that einsum gives for one operand without sums: permuted axes, or diagonals."""
    builder = trace.builder
    if len(output) == len(s):
        return permuted(builder, x, [s.index(letter) for letter in output])
    shape = tuple(int(n) for n in x.type.bounds)
    places = np.einsum(f"{s}->{output}", np.arange(math.prod(shape)).reshape(shape))
    index = [builder.constant(np.ascontiguousarray(places))]

    def there(v: Value) -> Value:
        flat = reshape(builder, v, (math.prod(shape),))
        return builder.once(("einsum", v, s, output), lambda: builder.getitem(flat, index, ("a",), []))

    def back(old: Value, v: Value) -> Value:
        flat = builder.setitem(reshape(builder, old, (math.prod(shape),)), index, v, ("a",))
        return reshape(builder, flat, shape)

    kind = ArrayType(x.type.dtype, places.shape)
    return derived(x, kind, there, back, lambda a, _: np.einsum(f"{s}->{output}", a))


def _arguments(trace: Trace, operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Normalise both calling forms of einsum: subscripts as a string, or as a list after each operand."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    pairs = operands[: len(operands) // 2 * 2]

    def text(subscripts: Any) -> str:
        return "".join("..." if i is Ellipsis else _LETTERS[integer(trace, i, "a subscript")] for i in subscripts)

    written = ",".join(map(text, pairs[1::2]))
    return written + ("->" + text(operands[-1]) if len(operands) % 2 else ""), list(pairs[::2])


def _read(subscripts: str, ndims: list[int]) -> tuple[list[str], str]:
    """Return the subscripts of each operand and of the result, with ``...`` replaced by unused letters."""
    left, arrow, output = subscripts.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ndims):
        raise ValueError(
            "more or fewer operands provided to einstein sum function than specified in the subscripts string"
        )
    free = [c for c in _LETTERS if c not in subscripts]
    most = 0
    for i, (s, n) in enumerate(zip(inputs, ndims)):
        if "..." in s:
            count = n - len(s.replace("...", ""))
            most = max(most, count)
            inputs[i] = s.replace("...", "".join(free[:count][::-1]))
        if len(inputs[i]) != n:
            raise ValueError(f"einstein sum subscripts string {s!r} does not fit an operand of {n} dimensions")
    dots = "".join(free[:most][::-1])
    if not arrow:
        letters = "".join(inputs)
        output = dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))
    return inputs, output.replace("...", dots)


def _check_lengths(trace: Trace, s: str, p: Value, inputs: list[str], parts: list[Value]) -> None:
    """Check that each letter stands for one length; a length of 1 is broadcast."""
    for letter, n in zip(s, p.type.shape):
        for t, q in zip(inputs, parts):
            for other, m in zip(t, q.type.shape):
                if other == letter and n != 1 and m != 1 and n != m:
                    inner_length(trace, f"einsum: subscript {letter}", n, m)


def _single(trace: Trace, x: Value, s: str) -> tuple[Value, str]:
    """Take an operand's diagonals where a letter is repeated."""
    for letter in dict.fromkeys(s):
        places = [i for i, c in enumerate(s) if c == letter]
        if len(places) > 1:
            static(x, "np.einsum with a subscript that is repeated in one operand")
            index = trace.builder.constant(np.arange(x.type.shape[places[0]]))  # type: ignore[arg-type]
            spec = tuple("a" if i in places else ":" for i in range(len(s)))
            together = places == list(range(places[0], places[-1] + 1))
            x = trace.builder.getitem(x, [index] * len(places), spec, [])
            rest = "".join(c for c in s if c != letter)
            at = places[0] if together else 0
            s = rest[:at] + letter + rest[at:]
    return x, s


def _next_pair(terms: list[tuple[Value, str]], output: str) -> tuple[int, int]:
    """Choose the next two operands to contract: those whose product adds the fewest elements."""
    if len(terms) == 2:
        return 0, 1
    sizes = {c: b for x, s in terms for c, b in zip(s, x.type.bounds)}
    best = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            rest = set(output).union(*(s for k, (_, s) in enumerate(terms) if k not in (i, j)))
            letters = set(terms[i][1]) | set(terms[j][1])
            grown = math.prod(sizes[c] for c in letters & rest) - sum(
                math.prod(sizes[c] for c in terms[k][1]) for k in (i, j)
            )
            cost = (grown, math.prod(sizes[c] for c in letters), i, j)
            best = min(best, cost) if best is not None else cost
    assert best is not None
    return best[2], best[3]


def _summed(trace: Trace, term: tuple[Value, str], kept: set[str]) -> tuple[Value, str]:
    """Sum a term over the letters that are not kept."""
    x, s = term
    axes = [i for i, c in enumerate(s) if c not in kept]
    if axes:
        x = trace.builder.reduce(np.sum, x, axes, x.type.dtype)
    return x, "".join(c for c in s if c in kept)


def _pair(trace: Trace, a: tuple[Value, str], b: tuple[Value, str], kept: set[str]) -> tuple[Value, str]:
    """Multiply two terms and sum over the letters that are not kept."""
    builder = trace.builder
    x, s = _summed(trace, a, kept | set(b[1]))
    y, t = _summed(trace, b, kept | set(a[1]))
    batch = [c for c in s if c in t and c in kept]
    over = [c for c in s if c in t and c not in kept]
    if any(_length(x, s, c) != _length(y, t, c) for c in over + batch):
        over = []  # a length of 1 is broadcast: multiply, then sum
    left, right = [c for c in s if c not in t], [c for c in t if c not in s]
    if not over:
        letters = [c for c in s] + right
        x = reshape(builder, x, (*x.type.shape, *[1] * len(right)))
        order = sorted(range(len(t)), key=lambda i: letters.index(t[i]))
        y = builder.transpose(y, order)
        lengths = {c: n for c, n in zip([t[i] for i in order], y.type.shape)}
        y = reshape(builder, y, tuple(lengths.get(c, 1) for c in letters))
        return _summed(trace, (builder.ufunc(np.multiply, x, y), "".join(letters)), kept)
    x = builder.transpose(x, [s.index(c) for c in (*batch, *left, *over)])
    y = builder.transpose(y, [t.index(c) for c in (*batch, *over, *right)])
    sizes = {**dict(zip([*batch, *left, *over], x.type.shape)), **dict(zip([*batch, *over, *right], y.type.shape))}
    if max(map(len, (left, over, right))) > 1 or not left or not right:
        for v in (x, y):
            _only_fixed(v, (left, over, right))
    many = tuple(sizes[c] for c in batch)
    x = reshape(builder, x, (*many, _size(sizes, left), _size(sizes, over)))
    y = reshape(builder, y, (*many, _size(sizes, over), _size(sizes, right)))
    shape = (*many, *(sizes[c] for c in left), *(sizes[c] for c in right))
    return reshape(builder, matrix_product(trace, x, y), shape), "".join([*batch, *left, *right])


def _length(x: Value, s: str, letter: str) -> int | Dim:
    return x.type.shape[s.index(letter)]


def _size(sizes: dict[str, int | Dim], letters: list[str]) -> int | Dim:
    if len(letters) == 1:
        return sizes[letters[0]]
    return math.prod(sizes[c] for c in letters)  # type: ignore[arg-type]


def _only_fixed(x: Value, groups: tuple[list[str], ...]) -> None:
    if not x.type.is_static and any(len(g) > 1 for g in groups):
        raise refuse("np.einsum over several lengths known only when the program runs", "use fixed lengths")
