"""The intermediate representation: structured SSA, in two dialects.

``dynamic`` is the IR itself, whose values have no types; ``typed`` gives each value a dtype and a shape, and says which
operations there are.  ``builder`` writes typed IR, ``evaluate`` runs it with NumPy: what every pass and back end is tested
against.  Imports ``values``.  A new operation is declared in ``typed`` and interpreted in ``evaluate``; then it needs an
adjoint (``passes/reverse``) and a form in each back end (``emit``).
"""
