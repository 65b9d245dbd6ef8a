"""Products of vectors and matrices in a loop's body, written for all iterations: products of matrices, masked where parts are ragged."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..ir.dynamic import Operation, Value
from ..ir.typed import Dim
from .lanes import LEAST, Lanes, Refused
from .masked_products import product
from .ragged_dimensions import Ragged, RaggedDimensions


class RaggedProducts(RaggedDimensions, Lanes):
    """The products among the operations of ``RaggedLanes``, which explains the fields."""

    windows: dict[Value, Value]
    filled: dict[Value, Value]
    outer_products: dict[Value, list[tuple[Value, Value]]]
    ragged: dict[Value, dict[int, Ragged]]

    def keep(self, v: Value, made: Value, ragged: Mapping[int, Ragged], is_lane: bool = True) -> None:
        if is_lane and sum(n != 1 for n in v.type.shape) > 1:
            raise Refused  # it would take the memory of a matrix for each iteration
        (self.lanes if is_lane else self.windows)[v] = made
        self.ragged[v] = dict(ragged)

    def product(self, op: Operation) -> None:
        a, b = op.positional
        (result,) = op.results
        if a.type.ndim == 1:
            return self.dot(op)
        if a in self.lanes and b in self.lanes:
            if a.type.shape[1] != 1 or not self.is_outer(op):
                raise Refused
        elif a in self.lanes and a.type.shape[0] == 1 and b not in self.lanes:
            made = self.contracted_with(self.flat(a), self.ragged[a].get(1), b, 0)
            self.keep_product(result, made, 1, self.ragged.get(b, {}).get(1))
        elif b in self.lanes and b.type.shape[1] == 1 and a not in self.lanes:
            made = self.contracted_with(self.flat(b), self.ragged[b].get(0), a, 1)
            self.keep_product(result, made, 0, self.ragged.get(a, {}).get(0))
        else:
            raise Refused

    def is_outer(self, op: Operation) -> bool:
        """Whether a product of a column and a row per iteration was noted as an outer product."""
        (result,) = op.results
        for column, row in (op.operands, op.operands[::-1]):
            is_column = column in self.lanes and column.type.shape[1:] == (1,)
            if is_column and row in self.lanes and (row.type.ndim == 1 or row.type.shape[0] == 1):
                x = self.lanes[row]
                right = self.builder.reshape(x, (self.n, x.type.shape[-1]))
                self.outer_products[result] = [(self.flat(column), right)]
                joined = {0: self.ragged[column].get(0), 1: self.ragged[row].get(row.type.ndim - 1)}
                self.ragged[result] = {d: r for d, r in joined.items() if r is not None}
                return True
        return False

    def flat(self, v: Value) -> Value:
        """A row or column per iteration as the row of a matrix."""
        x = self.lanes[v]
        return self.builder.reshape(x, (self.n, x.type.shape[2] if v.type.shape[0] == 1 else x.type.shape[1]))

    def keep_product(self, result: Value, made: Value, axis: int, ragged: Ragged | None) -> None:
        shape = [self.n, 1, 1]
        shape[axis + 1] = made.type.shape[1]
        self.keep(result, self.builder.reshape(made, tuple(shape)), {axis: ragged} if ragged else {})

    def contracted_with(self, rows: Value, ragged: Ragged | None, matrix: Value, axis: int) -> Value:
        """The product of rows and a matrix that all iterations share, whose dimension ``axis`` is summed over."""
        if self.ragged.get(matrix, {}).get(axis) != ragged or matrix in self.filled:
            raise Refused
        x = self.windows[matrix] if matrix in self.windows else self.invariant(matrix)
        x = self.builder.transpose(x, (1, 0)) if axis else x
        mask = None if ragged is None else self.mask(ragged)
        self.products += _are_long(self.n, *x.type.shape)
        if ragged is None or mask is None:
            return self.builder.matmul(rows, x)
        return product(self.builder, rows, x, mask, self.left_out(ragged))

    def dot(self, op: Operation) -> None:
        """Handle the product of two vectors."""
        a, b = op.positional
        both = self.builder.ufunc(np.multiply, self.lane(a), self.lane(b))
        ragged = self.ragged.get(a, {}), self.ragged.get(b, {})
        if ragged[0] != ragged[1]:
            raise Refused
        made = self.builder.reduce(np.sum, self.masked(both, ragged[0]), (1,), op.results[0].type.dtype)
        self.keep(op.results[0], made, {})

    def scaled(self, op: Operation) -> None:
        """Handle sums and negatives of outer products, and outer products times numbers."""
        (result,) = op.results
        terms = [v for v in op.positional if v in self.outer_products]
        if op.callee is np.add and len(terms) == 2 and self.ragged[terms[0]] == self.ragged[terms[1]]:
            made = [pair for v in terms for pair in self.outer_products[v]]
        elif op.callee is np.negative:
            made = [(self.builder.ufunc(np.negative, a), b) for a, b in self.outer_products[terms[0]]]
        elif op.callee is np.multiply and len(terms) == 1:
            number = next(v for v in op.positional if v is not terms[0])
            if number.type.shape:
                raise Refused
            x = self.builder.reshape(self.lane(number), (self.n, 1))
            made = [(self.builder.ufunc(np.multiply, a, x), b) for a, b in self.outer_products[terms[0]]]
        else:
            raise Refused
        self.outer_products[result] = made
        self.ragged[result] = self.ragged[terms[0]]

    def of_outer(self, v: Value, ragged: Mapping[int, Ragged]) -> Value:
        """The sum over the iterations of outer products."""
        builder, total = self.builder, None
        if self.ragged[v] != ragged:
            raise Refused
        masks = [self.mask(ragged[d]) if d in ragged else None for d in (0, 1)]
        if None not in masks:
            raise Refused
        for a, b in self.outer_products[v]:
            self.products += _are_long(self.n, a.type.shape[1], b.type.shape[1])
            left, right = (builder.transpose(x, (1, 0)) for x in (a, b))
            if masks[0] is not None:
                made = product(builder, left, b, builder.transpose(masks[0], (1, 0)), None)
            elif masks[1] is not None:
                made = builder.transpose(product(builder, right, a, builder.transpose(masks[1], (1, 0)), None), (1, 0))
            else:
                made = builder.matmul(left, b)
            total = made if total is None else builder.ufunc(np.add, total, made)
        assert total is not None
        return total


def _are_long(*lengths: int | Dim) -> bool:
    """Whether a product with dimensions of these lengths pays off."""
    return all((n.bound if isinstance(n, Dim) else n) >= LEAST for n in lengths)
