"""One equation in one unknown: ``root_scalar``, from a bracket (``brackets.py``) or a guess (``open_methods.py``)."""

from .finding import root_scalar

__all__ = ["root_scalar"]


def __dir__() -> list[str]:
    return sorted(__all__)
