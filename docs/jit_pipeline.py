"""Draws the picture of ``jit.md``: the way of a function from its source to a program that runs.

python docs/jit_pipeline.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = Path(__file__).with_suffix(".svg")
OURS, THEIRS, KEPT = "#dbe9f6", "#f3e3cf", "#e7e7e7"

# where, how wide and high, title, what it does, colour
BOXES = {
    "source": (
        (0.0, 2.0),
        (2.5, 1.5),
        "f and its arguments",
        "Python source; numbers,\narrays, containers, objects",
        THEIRS,
    ),
    "specialise": (
        (3.3, 2.0),
        (2.9, 1.5),
        "specialise",
        "traces the syntax tree once:\nbranches and loops stay,\nwrites make new arrays,\nobjects and calls are resolved",
        OURS,
    ),
    "reverse": ((3.3, 0.0), (2.9, 1.2), "reverse", "for grad, pullback, jacobian:\nforward and backward sweep", OURS),
    "simplify": (
        (7.0, 2.0),
        (2.7, 1.5),
        "simplify",
        "common and dead code,\nconstants, checks that\nnever fail, loop invariants",
        OURS,
    ),
    "native": ((10.5, 3.1), (2.7, 1.2), "native", "LLVM: loops for the CPU,\nwrites in place, BLAS", THEIRS),
    "xla": ((10.5, 1.2), (2.7, 1.2), "xla", "JAX: one program for\nCPU, GPU or TPU", THEIRS),
    "cache": ((7.0, 0.0), (2.7, 1.2), "cache on disk", "of both targets; the next\nprocess loads it", KEPT),
    "call": ((14.0, 2.0), (2.5, 1.5), "call", "results, and changes of\nthe arguments", THEIRS),
}
ARROWS = [
    ((2.5, 2.75), (3.3, 2.75), ""),
    ((6.2, 2.75), (7.0, 2.75), "typed\nIR"),
    ((4.4, 2.0), (4.4, 1.2), ""),
    ((5.1, 1.2), (5.1, 2.0), ""),
    ((9.7, 3.0), (10.5, 3.6), ""),
    ((9.7, 2.5), (10.5, 1.9), ""),
    ((13.2, 3.6), (14.0, 3.0), ""),
    ((13.2, 1.9), (14.0, 2.5), ""),
    ((10.5, 1.4), (9.7, 0.8), ""),
    ((9.7, 0.4), (10.9, 1.2), ""),
]


def draw(axes: Axes) -> None:
    from matplotlib.patches import FancyBboxPatch

    for (x, y), (width, height), title, text, colour in BOXES.values():
        axes.add_patch(FancyBboxPatch((x, y), width, height, "round,pad=0,rounding_size=0.15", fc=colour, ec="#555555"))
        axes.text(x + width / 2, y + height - 0.24, title, ha="center", va="center", weight="bold", size=10)
        axes.text(x + width / 2, y + (height - 0.4) / 2, text, ha="center", va="center", size=8)
    for start, end, text in ARROWS:
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#333333", "shrinkA": 1, "shrinkB": 1})
        if text:
            axes.text((start[0] + end[0]) / 2, start[1] + 0.15, text, ha="center", va="bottom", size=8)
    axes.set_xlim(-0.1, 16.6)
    axes.set_ylim(-0.1, 4.4)
    axes.set_aspect("equal")
    axes.axis("off")


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    # Text stays text, and the same picture is the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "morula", "font.family": "sans-serif"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(16, 4.4))
    draw(axes)
    figure.savefig(PICTURE, bbox_inches="tight", pad_inches=0.05, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    main()
