"""Recorded operations of NumPy: arrays, scalars and functions."""
