"""Gradient hooks: a function of the cotangent, applied on the way back, to look at it or to change it.

``hook`` is ``@adjoint`` and one line; ``negated`` shows it written out.
Source: Zygote.jl documentation, "Custom Adjoints: Gradient Hooks".
"""

from __future__ import annotations

import operator

from figures import compare

import morula as mo

seen: list[float] = []


def negated(x):
    return x


@mo.adjoint(negated)
def negated_pullback(x):
    return x, lambda dy: -dy


def show(cotangent):
    seen.append(cotangent)
    return cotangent


if __name__ == "__main__":
    compare(
        "Gradient hooks",
        ("hook(-, a) * b at 2, 3", (-3, 2), mo.gradient(lambda a, b: mo.hook(operator.neg, a) * b, 2, 3)),
        ("the same by @adjoint", (-3, 2), mo.gradient(lambda a, b: negated(a) * b, 2, 3)),
        ("hook(show, a) * b at 2, 3", (3, 2), mo.gradient(lambda a, b: mo.hook(show, a) * b, 2, 3)),
        ("shown", [3], seen),
    )
