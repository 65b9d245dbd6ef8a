"""Array expressions compiled from text: what they select or weigh passes, what they compute is refused."""

from __future__ import annotations

import numexpr
import numpy as np

from thirdparty.harness import Call, Refused

DISTRIBUTION = "numexpr"
FIELD = "array expressions"

X, LIMIT = np.array([0.2, 0.7, 1.3]), np.array([1.0, 0.5, 2.0])


def masked(x: np.ndarray) -> np.ndarray:
    return np.where(numexpr.evaluate("x < LIMIT", local_dict={"x": x, "LIMIT": LIMIT}), x**2, 3 * x)


def weighted(x: np.ndarray) -> float:
    return np.sum(x * numexpr.evaluate("exp(-LIMIT)"))


def validated(x: float) -> float:
    return 2 * x if numexpr.validate("a + b", local_dict={"a": 1.0, "b": 2.0}) is None else 0.0


def computed(x: np.ndarray) -> float:
    y = 2 * x
    return np.sum(numexpr.evaluate("sin(y) + 1"))


CALLS = {
    "masked": Call(masked, X),
    "weighted": Call(weighted, X),
    "validated": Call(validated, 1.5),
}
REFUSED = {
    "computed": Refused(
        "the expression is compiled for numexpr's virtual machine, which is written in C",
        "has no derivative rule",
        computed,
        X,
    )
}
