"""NumPy's arrays, numbers and functions on the tape."""
