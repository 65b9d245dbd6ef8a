"""SciPy's ufuncs."""
