"""Functions of PyTorch and JAX inside of morula's models, and morula's functions inside of theirs, with gradients both ways.

    structures       numbers and arrays in nested containers, taken apart and put together
    calls            a function of another library as one operation, whose pullback is again such a function
    torch_functions  ``torch`` and ``to_torch``
    jax_functions    ``jax`` and ``to_jax``

PyTorch and JAX are optional, and are imported by the first call.
"""

from .jax_functions import jax, to_jax
from .torch_functions import to_torch, torch

__all__ = ["jax", "to_jax", "to_torch", "torch"]


def __dir__() -> list[str]:
    return sorted(__all__)
