"""Checkpointing: what a call would save is computed again on the way back, so its function runs twice.

Source: Zygote.jl documentation, "Custom Adjoints: Checkpointing".
"""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from math import sin

from figures import compare

import morula as mo


def foo(x):
    print(x)
    return sin(x)


if __name__ == "__main__":
    with redirect_stdout(StringIO()) as printed:
        gradient = mo.gradient(lambda x: mo.checkpoint(foo, x), 1)
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
            gradient,
        ),
        ("foo printed", ["1", "1"], printed.getvalue().split()),
    )
