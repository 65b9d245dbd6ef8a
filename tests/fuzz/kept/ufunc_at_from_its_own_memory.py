"""NumPy copies an operand of ``ufunc.at`` that shares memory with the array it changes."""

import numpy as np

LEAVES = dict(b=np.array([0.5, 2.0, 3.0]))


def arguments(b):
    return (b,)


def program(b):
    np.multiply.at(b, np.array([1, 1, 1]), b)
    return b.sum()
