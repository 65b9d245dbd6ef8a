"""Wrong results of special methods (type, sign, size) raise as in plain Python, also in a differentiated run."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from fuzz.judge import recording

import morula as mo

ANSWERS = {
    "bool": lambda w: w > 0.0,
    "numpy bool": lambda w: np.float64(w) > 0.0,
    "int": lambda w: 3,
    "negative": lambda w: -3,
    "large": lambda w: 2**70,
    "float": lambda w: w,
    "complex": lambda w: complex(w),
    "text": lambda w: "text",
    "None": lambda w: None,
    "list": lambda w: [w],
}


def loop(k):
    for _ in k:
        return True
    return False


def asserted(k):
    assert k
    return True


USES = {
    "__bool__": [bool, lambda k: k and 1.0, lambda k: 1.0 if k else 2.0, operator.not_, lambda k: all([k]), asserted]
    + [lambda k: list(filter(None, [k])) == [], lambda k: sum(1 for _ in (1,) if k)],
    "__len__": [bool, len, lambda k: k or 1.0, lambda k: not k, lambda k: list(filter(None, [k])) == []],
    "__index__": [lambda k: [1.0, 2.0, 3.0, 4.0][k], operator.index, range, bin, int],
    "__float__": [float, math.sin, lambda k: np.float64(k)],
    "__int__": [int],
    "__complex__": [complex],
    "__hash__": [hash, lambda k: len({k}), lambda k: k in {1.0: 2.0}],
    "__str__": [str, lambda k: f"{k}", lambda k: "%s" % k, lambda k: f"{k!s}"],
    "__repr__": [repr, lambda k: f"{k!r}", lambda k: str([k])],
    "__format__": [format, lambda k: f"{k:3}"],
    "__iter__": [list, loop, lambda k: sum(v for v in k), iter],
    "__contains__": [lambda k: 1.0 in k, lambda k: 1.0 not in k],
    "__lt__": [lambda k: bool(k < 1.0), lambda k: sorted([k, k]) == [], lambda k: min(k, k) is k],
    "__eq__": [lambda k: k in [1.0, 2.0], lambda k: [1.0, 2.0].count(k), lambda k: [k] == [1.0]],
    "__length_hint__": [operator.length_hint],
    "__round__": [round],
    "__bytes__": [bytes],
}


def end(run):
    """How a call ends: its value, or the exception."""
    try:
        return run()
    except Exception as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("tier", ["structured", "recorded"])
@pytest.mark.parametrize("method", USES)
def test_an_answer_is_checked_as_python_checks_it(method, tier):
    different = []
    for kind, answer in ANSWERS.items():
        for place, use in enumerate(USES[method]):
            K = type("K", (), {method: lambda self, *_, answer=answer: answer(self.w)})

            def program(x, use=use, K=K):
                k = K()
                k.w = x
                found = use(k)
                return x if isinstance(found, (K, list)) or hasattr(found, "__next__") else (x, repr(found))

            expected = end(lambda: program(1.5))

            def value(x):
                return mo.vjp(program, x)[0]

            if tier == "recorded":
                with recording():
                    found = end(lambda: value(1.5))
            else:
                found = end(lambda: value(1.5))
            if found != expected:
                different.append((kind, place, found, expected))
    assert not different, "\n".join(map(str, different))
