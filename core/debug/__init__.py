"""Looking into programs: ``debug.print`` in compiled code, ``debug_nans`` for values that are not finite, ``audit``."""

from .printing import print

__all__ = ["print"]


def __dir__() -> list[str]:
    return sorted(__all__)
