"""Operators made of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import BadInput
from .linear_operator import LinearOperator, as_operator, check_right_hand_side


class Block(LinearOperator):
    """A matrix of blocks.

    Args:
        rows: a list of rows, each a list of operators or matrices; the blocks of a row have one number of rows, those of a
            column one number of columns.

    Raises:
        BadInput: there are no blocks, the rows differ in length, or the shapes do not fit.

    >>> A = Block([[np.eye(1), np.zeros((1, 2))], [np.zeros((2, 1)), 2.0 * np.eye(2)]])
    >>> A.shape, (A @ np.ones(3)).tolist()
    ((3, 3), [1.0, 2.0, 2.0])
    """

    def __init__(self, rows: Sequence[Sequence[Any]]) -> None:
        self.rows = [[as_operator(block, f"block ({i}, {j})") for j, block in enumerate(r)] for i, r in enumerate(rows)]
        if not self.rows or not self.rows[0] or any(len(row) != len(self.rows[0]) for row in self.rows):
            raise BadInput(f"Block: the rows have {[len(row) for row in self.rows]} blocks, expected equal numbers")
        for i, row in enumerate(self.rows):
            for j, block in enumerate(row):
                expected = (row[0].shape[0], self.rows[0][j].shape[1])
                if block.shape != expected:
                    raise BadInput(f"Block: block ({i}, {j}) has shape {block.shape}, expected {expected}")

    @property
    def shape(self) -> tuple[int, int]:
        return (sum(row[0].shape[0] for row in self.rows), sum(block.shape[1] for block in self.rows[0]))

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*[block.dtype for row in self.rows for block in row])

    def matvec(self, x: Any) -> Any:
        return np.concatenate([self._row(row, x) for row in self.rows])

    def matmat(self, x: Any) -> Any:
        return self.matvec(x)

    def _row(self, row: list[LinearOperator], x: Any) -> Any:
        total, begin = 0.0, 0
        for block in row:
            end = begin + block.shape[1]
            total = total + block @ x[begin:end]
            begin = end
        return total

    def transpose(self) -> LinearOperator:
        return Block([[row[j].T for row in self.rows] for j in range(len(self.rows[0]))])

    def diag(self) -> Any:
        square = all(row[i].shape[0] == row[i].shape[1] for i, row in enumerate(self.rows) if i < len(row))
        if len(self.rows) != len(self.rows[0]) or not square:
            return super().diag()
        return np.concatenate([row[i].diag() for i, row in enumerate(self.rows)])


class BlockDiagonal(LinearOperator):
    """A matrix of blocks on the diagonal, and zeros elsewhere.

    Args:
        blocks: operators or matrices, of any shapes.

    Raises:
        BadInput: there are no blocks.

    >>> A = BlockDiagonal([np.array([[2.0]]), np.eye(2)])
    >>> (A @ np.ones(3)).tolist(), A.solve(np.ones(3)).tolist()
    ([2.0, 1.0, 1.0], [0.5, 1.0, 1.0])
    """

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.blocks = [as_operator(block, f"block {i}") for i, block in enumerate(blocks)]
        if not self.blocks:
            raise BadInput("BlockDiagonal: there are no blocks, expected at least one")

    @property
    def shape(self) -> tuple[int, int]:
        return (sum(block.shape[0] for block in self.blocks), sum(block.shape[1] for block in self.blocks))

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*[block.dtype for block in self.blocks])

    def matvec(self, x: Any) -> Any:
        return self._each(lambda block, part: block @ part, x, 1)

    def matmat(self, x: Any) -> Any:
        return self.matvec(x)

    def _each(self, act: Callable[[LinearOperator, Any], Any], x: Any, axis: int) -> Any:
        parts, begin = [], 0
        for block in self.blocks:
            end = begin + block.shape[axis]
            parts.append(act(block, x[begin:end]))
            begin = end
        return np.concatenate(parts)

    def transpose(self) -> LinearOperator:
        return BlockDiagonal([block.T for block in self.blocks])

    def diag(self) -> Any:
        if any(block.shape[0] != block.shape[1] for block in self.blocks):
            return super().diag()
        return np.concatenate([block.diag() for block in self.blocks])

    @property
    def is_solvable(self) -> bool:
        return all(block.is_solvable for block in self.blocks)

    def solve(self, b: Any) -> Any:
        check_right_hand_side(self, b)
        return self._each(lambda block, part: block.solve(part), b, 0)

    def logdet(self) -> Any:
        if any(block.shape[0] != block.shape[1] for block in self.blocks):
            return super().logdet()
        return sum(block.logdet() for block in self.blocks)
