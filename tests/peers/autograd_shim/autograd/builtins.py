"""Containers need no wrappers: these are Python's own."""

dict, isinstance, list, tuple, type = dict, isinstance, list, tuple, type
