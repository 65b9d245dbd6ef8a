"""``jit``: compile, keep, enter and explain.

``compiled`` runs the stages from a Python function to a program, ``jitted`` keeps the programs of a function, ``entry`` finds the
one for a call, ``compilation_cache`` keeps them on disk, ``transformed_calls`` says what morula's own functions do in a program.
Imports all other rooms.
"""
