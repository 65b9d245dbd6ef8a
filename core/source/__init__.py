"""The user's Python, read: finding the source of a function, its syntax tree, its bytecode, its statements and expressions.

``statements`` and ``expressions`` lower a syntax tree to dynamic IR, for the functions that both wings compile: those of rules,
and those of numbers.  Imports ``values``, ``ir`` and the tables of ``rules``.
"""
