"""Detects the inputs, stored values and results of code that cannot be recorded."""
