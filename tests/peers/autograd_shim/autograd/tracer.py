"""There are no boxes: a differentiated value is Python's or NumPy's own."""

from .extend import primitive

__all__ = ["getval", "isbox", "primitive"]


def isbox(x):
    return False


def getval(x):
    return x
