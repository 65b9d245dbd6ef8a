"""The intermediate representation: structured SSA, in two dialects.

``dynamic`` defines the data structure, with untyped values; ``typed`` gives each value a dtype and a shape and lists
the operations.  ``builder`` writes typed IR.  ``evaluate`` interprets it with NumPy, the reference for testing every
pass and back end.  This room imports ``values``.  To add an operation, declare it in ``typed`` and interpret it in
``evaluate``, then add its adjoint (``passes/reverse``) and its form in each back end (``emit``).
"""
