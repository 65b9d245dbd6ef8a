"""Rewrites a function's syntax tree so that every operation is recorded on a tape."""
