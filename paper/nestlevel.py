"""Gradient reflection: a function asks how many derivatives are being taken of it.

Source: Zygote.jl documentation, "Custom Adjoints: Gradient Reflection".
"""

from __future__ import annotations

from figures import compare

import morula as mo

levels: list[int] = []


def f(x):
    levels.append(mo.nestlevel())
    return x


def gradient_of_f(x):
    return mo.grad(f)(x)


def seen(run) -> list[int]:
    """The levels that ``f`` saw while ``run`` ran."""
    levels.clear()
    run()
    return sorted(set(levels))


if __name__ == "__main__":
    compare(
        "Levels of nesting",
        ("f(1)", [0], seen(lambda: f(1))),
        ("gradient(f, 1)", [1], seen(lambda: mo.gradient(f, 1))),
        ("gradient(x -> x * gradient(f, x), 1)", [2], seen(lambda: mo.gradient(lambda x: x * gradient_of_f(x), 1))),
    )
