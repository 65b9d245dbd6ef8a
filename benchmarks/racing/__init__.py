"""Races between contenders, each in a process of its own, which compute the same numbers.

``contender`` says what a contender is, ``desk`` answers requests in its process, ``race`` compares and times them.
A package that races has a module ``contenders`` with a table CONTENDERS, and a module ``program`` with ``find``.
"""
