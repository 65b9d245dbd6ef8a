"""Passes from typed IR to typed IR: ``reverse`` makes the two sweeps of a derivative, ``dependence`` finds which elements a
result depends on; most others optimise programs.

This room imports ``ir``, ``rules``, ``source`` and ``values``. A new pass is one file with one function that takes a
typed function; ``compilation/compiled.py`` calls the passes in order, and ``tests/passes/test_reverse_random.py`` and
similar tests run them on random programs.
"""
