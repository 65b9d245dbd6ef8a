"""Parts of arrays for all samples of a batch: the index of each sample becomes one index of the array with all samples.

If only the array varies, the samples' axis is taken whole. Where the index varies, each sample's index is an array of
integers with the samples along its first axis; a slice that begins elsewhere in each sample becomes one, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.typed import ArrayType, Spec, part_dimensions


@dataclass
class Place:
    """An index of an array with all samples; ``order`` maps the axes of the part to those that the index gives."""

    builder: Builder
    index: list[Value]
    spec: Spec
    kind: ArrayType  # of the part, with the samples first
    order: list[int]

    def read(self, x: Value) -> Value:
        shape = [self.kind.shape[0]] * len(self.order)
        for own, given in enumerate(self.order):
            shape[given] = self.kind.shape[own]
        kind = ArrayType(x.type.dtype, tuple(shape))
        found = self.builder.call(typed.getitem, [x, *self.index], [kind], spec=self.spec)[0]
        return self.builder.transpose(found, self.order)

    def write(self, x: Value, v: Value, callee: Any) -> Value:
        v = self.builder.transpose(v, [int(i) for i in np.argsort(self.order)])
        return self.builder.call(callee, [x, *self.index, v], [x.type], spec=self.spec)[0]


def placed(sweep: Any, varies: bool, index: Sequence[Value], spec: Spec, part: ArrayType, whole: ArrayType) -> Place:
    """Return the place of a part in an array with all samples (in an array without samples, unless it ``varies``).

    ``part`` and ``whole`` are the types of the part and the array of one sample.
    """
    b, left = sweep.builder, list(index)
    given = [None if entry == ":" else left.pop(0) for entry in spec]
    arrays = [v.type.ndim for entry, v in zip(spec, given) if entry == "a" and v is not None]
    count = max(arrays, default=0)  # dimensions of the index arrays
    places = part_dimensions(spec, count)
    own: list[Any] = [None] * part.ndim  # what each axis of the part is
    for entry, axis in places.items():
        own[axis] = "slice", entry
    of_arrays = iter(range(count))
    own = [("array", next(of_arrays)) if label is None else label for label in own]
    moved = [i for i, v in enumerate(given) if v is not None and v in sweep.varying and isinstance(spec[i], tuple)]
    if not sweep.varying.any(index):
        made, operands = list(spec), [sweep.get(v) for v in index]
        advanced: list[Any] = [("array", k) for k in range(count)]
        if varies:
            made.insert(0, ":")
    else:
        ndim = count + len(moved)
        made, operands = [], []
        advanced = ["lanes", *(("array", k) for k in range(count)), *(("slice", i) for i in moved)]
        if varies:
            made.append("a")
            operands.append(b.reshape(b.iota(sweep.lanes), (sweep.lanes, *[1] * ndim)))
        for i, (entry, v) in enumerate(zip(spec, given)):
            if v is None:
                made.append(entry)
                continue
            x = safe(sweep, v)
            if v not in sweep.varying:
                made.append(entry)
                operands.append(b.reshape(x, (*x.type.shape, *[1] * len(moved))) if entry == "a" else x)
                continue
            made.append("a")
            if i in moved:
                n = part.shape[places[i]]
                steps = b.ufunc(np.multiply, b.iota(sweep.copy.length(n)), b.constant(entry[1], np.int64))
                after = len(moved) - moved.index(i) - 1
                steps = b.reshape(steps, (*steps.type.shape, *[1] * after))
                start = b.reshape(x, (*x.type.shape, *[1] * ndim))
                operands.append(b.ufunc(np.add, start, steps))
            else:
                x = sweep.with_axes(x, count - v.type.ndim)
                operands.append(b.reshape(x, (*x.type.shape, *[1] * len(moved))))
    # The axes that the new index gives, in their order.
    given_by = part_dimensions(tuple(made), len(advanced))
    offset = len(made) - len(spec)
    total = len(given_by) + (len(advanced) if "a" in made else 0)
    labels: list[Any] = [None] * total
    for entry, axis in given_by.items():
        labels[axis] = ("slice", entry - offset) if entry >= offset else "lanes"
    rest = iter(advanced)
    labels = [next(rest) if label is None else label for label in labels]
    order = [labels.index(label) for label in ["lanes", *own]]
    return Place(b, operands, tuple(made), sweep.type(part), order)


def safe(sweep: Any, index: Value) -> Value:
    """An index within the array also for samples that are not of the mask: it is not used there."""
    x = sweep.get(index)
    if sweep.mask is None or index not in sweep.varying:
        return x
    return sweep.chosen(sweep.mask, x, sweep.builder.zeros(x.type.shape, x.type.dtype))
