"""Typed IR to typed IR: ``reverse`` makes the two sweeps of a derivative; the others make programs smaller and faster.

Imports what is below: ``values``, ``ir``, ``rules``, ``source``.  A new pass is one file with one function that takes a typed
function; ``compilation/compiled.py`` calls the passes in their order, and ``tests/passes/test_reverse_random.py`` and its kin try them on
random programs.
"""
