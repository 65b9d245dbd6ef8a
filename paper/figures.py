"""A source's figures beside ours, in one table; the run fails where they disagree."""

from __future__ import annotations

from math import isclose
from typing import Any


def compare(title: str, *rows: tuple[str, Any, Any], tolerance: float = 1e-14) -> None:
    """Print rows of (what, the source's figure, ours).

    Numbers agree to the relative ``tolerance``; anything else must be equal.

    Raises:
        SystemExit: a figure of ours is not the source's.
    """
    widths = [max(len(str(row[i])) for row in (("", "source", "morula"), *rows)) for i in range(3)]
    print(title)
    for what, source, ours in (("", "source", "morula"), *rows):
        print(f"  {what:<{widths[0]}}  {source!s:>{widths[1]}}  {ours!s:>{widths[2]}}")
    wrong = [what for what, source, ours in rows if not agree(source, ours, tolerance)]
    if wrong:
        raise SystemExit(f"not the source's figure: {', '.join(wrong)}")


def agree(source: Any, ours: Any, tolerance: float) -> bool:
    if isinstance(source, (tuple, list)):
        return len(source) == len(ours) and all(agree(a, b, tolerance) for a, b in zip(source, ours, strict=True))
    if isinstance(source, (int, float)) and isinstance(ours, (int, float)):
        return isclose(source, ours, rel_tol=tolerance, abs_tol=0.0)
    return bool(source == ours)
