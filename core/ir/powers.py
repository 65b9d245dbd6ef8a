"""Which powers are products, as NumPy computes squares."""

from __future__ import annotations


def is_product(exponent: float) -> bool:
    """Return whether a power is computed as a product: its exponent is a small integer or half-integer."""
    return abs(exponent) <= 8 and 2 * exponent == int(2 * exponent)
