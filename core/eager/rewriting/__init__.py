"""A function -> the same function with every operation on a tape."""
