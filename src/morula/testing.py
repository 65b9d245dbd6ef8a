"""What a user's own tests need: gradients checked against finite differences."""

from __future__ import annotations

from .core.testing import check_gradients

__all__ = ["check_gradients"]


def __dir__() -> list[str]:
    return sorted(__all__)
