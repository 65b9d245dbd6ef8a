"""Minimisation with constraints: bounds on the unknowns."""

from .bounded import BoundedDescent

__all__ = ["BoundedDescent"]


def __dir__() -> list[str]:
    return sorted(__all__)
