"""What Python values are: numbers, arrays, containers and objects, what they hold and what can be reached from them.

Imports nothing of the core but its errors and what stands beside them.  A new kind of container or object goes into
``holders`` (what it holds, and how one of its kind is made); what a walk over a structure does with it is decided in ``tree``.
"""
