"""Reads the user's Python: finds a function's source, syntax tree and bytecode, and lowers it to IR.

``statements`` and ``expressions`` lower a syntax tree to dynamic IR, for functions of rules and functions of numbers.
This room imports ``values``, ``ir`` and ``rules``.  To lower another syntax form to dynamic IR, add a method to
``statements`` or ``expressions``.
"""
