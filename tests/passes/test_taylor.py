"""Taylor mode on typed IR: the number of operations is quadratic in the order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from typed_tester import vector

from morula.core.compilation import transformed_calls  # noqa: F401  traces rules
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify, walk
from morula.core.ir.typed import ArrayType
from morula.core.passes.simplify import simplify
from morula.core.passes.taylor import taylor
from morula.core.rules.connected import connected

NUMBER, MATRIX = ArrayType(np.dtype(float)), ArrayType(np.dtype(float), (3, 3))
FUNCTIONS: list[tuple[Callable[..., Any], tuple[ArrayType, ...]]] = [
    (np.multiply, (NUMBER, NUMBER)),
    (np.divide, (NUMBER, NUMBER)),
    (np.power, (NUMBER, NUMBER)),
    (lambda x: x**5, (NUMBER,)),
    (lambda x: x**2.5, (NUMBER,)),
    (np.sqrt, (NUMBER,)),
    (np.exp, (NUMBER,)),
    (np.log, (NUMBER,)),
    (np.sin, (NUMBER,)),
    (np.tan, (NUMBER,)),
    (np.arcsin, (NUMBER,)),
    (np.tanh, (NUMBER,)),
    (np.arctan2, (NUMBER, NUMBER)),
    (np.hypot, (NUMBER, NUMBER)),
    (np.logaddexp, (NUMBER, NUMBER)),
    (scipy.special.erf, (NUMBER,)),
    (scipy.special.expit, (NUMBER,)),
    (scipy.special.ndtri, (NUMBER,)),
    (np.matmul, (MATRIX, MATRIX)),
    (np.linalg.solve, (MATRIX, vector(3))),
    (np.linalg.inv, (MATRIX,)),
    (np.linalg.cholesky, (MATRIX,)),
    (np.linalg.det, (MATRIX,)),
    (scipy.linalg.solve_triangular, (MATRIX, vector(3))),
    (np.prod, (vector(5),)),
    (np.linalg.norm, (vector(3),)),
    (lambda x, y: np.sin(x * y) / (1 + y * y) - x, (NUMBER, NUMBER)),  # the right-hand side of an equation
]


def operations(f: Callable[..., Any], types: tuple[ArrayType, ...], order: int) -> int:
    b = Builder()
    parameters = [Value(f"x{i}", t) for i, t in enumerate(types)]
    with b.block(parameters) as block:
        block.results = [connected.trace_into(b, f, parameters, {})]
    block.parameters = []
    made = verify(taylor(Function("f", parameters, block), [True] * len(types), order, is_differentiated=False))
    return sum(1 for op in walk(simplify(made).block) if op.kind == "call")


@pytest.mark.parametrize("i", range(len(FUNCTIONS)))
def test_the_number_of_operations_is_quadratic_in_the_order(i):
    orders = np.array([1, 2, 3, 4, 6, 8, 11, 14, 17, 20])
    counts = np.array([operations(*FUNCTIONS[i], n) for n in orders])
    fitted = np.polyval(np.polyfit(orders, counts, 2), orders)
    assert np.max(np.abs(fitted - counts)) < 0.02 * counts[-1]
    assert counts[-1] < 20**2 / 2 * 40  # the determinant has two formulas


def test_nested_forward_mode_would_be_exponential_where_this_is_not():
    f, types = FUNCTIONS[-1]
    assert operations(f, types, 20) < 60 * operations(f, types, 2)
