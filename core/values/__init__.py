"""Kinds of Python values (numbers, arrays, containers, objects), their contents, and the values reachable from them.

This room imports only the core's errors and locks.  Add a new kind of container or object to ``holders`` (its
contents, and how to rebuild it); ``tree`` decides how walks over structures treat it.
"""
