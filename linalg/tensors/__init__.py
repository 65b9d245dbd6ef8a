"""Decompositions of tensors of any order, with gradients: tensor trains, Tucker, canonical polyadic (CP).

Tensor networks are contracted with ``np.einsum(..., optimize=True)``, which has gradients on every path and orders the contractions by their
cost, also in compiled code. ``tensor_train``, ``tucker`` and ``cp`` approximate an array; the result has the parts, and functions of them.

Ranks are arguments, so that shapes are known when a program is compiled; ``tensor_train`` also chooses them by a tolerance, eagerly.

The gradient is that of the truncated decomposition as a function of the array: ``tensor_train`` and ``tucker`` are differentiated through their
singular value decompositions, ``cp`` by the implicit function theorem at the solution that its iterations converge to. The parts are not
unique: singular vectors have signs (phases), and rotate where singular values are equal. Functions of the represented
array, of the ranks and of norms do not depend on that choice and have gradients; functions of single parts do.
"""

from .canonical import Canonical, cp
from .train import TensorTrain, tensor_train
from .tucker import Tucker, tucker
from .unfolding import fold, unfold

__all__ = ["Canonical", "TensorTrain", "Tucker", "cp", "fold", "tensor_train", "tucker", "unfold"]
