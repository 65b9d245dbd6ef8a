"""Registers ``scipy.linalg``'s decompositions for matrices with equal eigenvalues or singular values."""

from __future__ import annotations

import scipy.linalg

from ..arrays.repeated_values import handles_equal_values

handles_equal_values(scipy.linalg.eigh, scipy.linalg.svd)
