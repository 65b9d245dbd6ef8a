"""Reads the user's Python: finds a function's source, syntax tree and bytecode, and lowers it to IR.

``statements`` and ``expressions`` lower a syntax tree to dynamic IR, for functions of rules and functions of numbers.
Imports ``values``, ``ir`` and the tables of ``rules``.
"""
