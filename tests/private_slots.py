"""A model that keeps its two arrays in slots with private names."""

from __future__ import annotations


class Private:
    __slots__ = ("__v", "__w")

    def __init__(self, v, w):
        self.__v, self.__w = v, w

    def parts(self):
        return self.__v, self.__w
