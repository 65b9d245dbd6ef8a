"""The ``__init__`` of a dataclass sets its fields as Python does: by descriptors, properties, and a ``__setattr__``."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from path_tester import check_gradient, check_value


class Doubled:
    """A descriptor that keeps a copy of twice the value."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, x, owner=None):
        if x is None:
            raise AttributeError(self.name)
        return x.__dict__[self.name]

    def __set__(self, x, value):
        if self.name in x.__dict__:
            raise AttributeError(f"{self.name} is set already")
        x.__dict__[self.name] = 2.0 * copy.deepcopy(value)


@dataclass(frozen=True)
class Frozen:
    rate: Any = Doubled()
    offset: Any = 1.0


@dataclass
class Set:
    rate: Any
    count: int = field(default=0, init=False)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, 3.0 * value if name == "rate" else value)


@dataclass
class ByHand:
    rate: Any = Doubled()

    def again(self, x):
        object.__setattr__(self, "rate", x)


def frozen(x):
    made = Frozen(x, np.sum(x))
    return np.sum(made.rate * x) * made.offset


def own_setter(x):
    made = Set(x)
    made.rate = made.rate * 2.0
    return np.sum(made.rate * x) + made.count


def set_twice(x):
    made = ByHand(x)
    try:
        made.again(x)
    except AttributeError as error:
        return np.sum(made.rate) * len(error.args[0])
    return np.sum(made.rate)


@pytest.mark.parametrize("f", [frozen, own_setter, set_twice])
@pytest.mark.parametrize("target", ["native", "xla"])
def test_fields(f, target):
    x = np.array([0.5, 1.5])
    check_value(target, f, x)
    check_gradient(target, f, x)
