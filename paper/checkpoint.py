"""Checkpointing: what a call would save is computed again on the way back, so its function runs twice.

Source: Zygote.jl documentation, "Custom Adjoints: Checkpointing".
"""

from __future__ import annotations

from math import sin

from figures import compare

import morula as mo

runs: list[float] = []


def foo(x):
    runs.append(x)
    return sin(x)


if __name__ == "__main__":
    compare(
        "Checkpointing",
        (
            "gradient(x -> checkpoint(sin, x), 1)",
            (0.5403023058681398,),
            mo.gradient(lambda x: mo.checkpoint(sin, x), 1),
        ),
        (
            "gradient(x -> checkpoint(foo, x), 1)",
            (0.5403023058681398,),
            mo.gradient(lambda x: mo.checkpoint(foo, x), 1),
        ),
        ("foo ran with", [1, 1], runs),
    )
