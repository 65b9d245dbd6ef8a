"""The objectives of GradBench (github.com/gradbench/gradbench), in plain Python and NumPy, with the derivatives that it asks for."""
