"""The batches as loops over samples in C, with the adjoints written by hand; see ``batches/samples.py``."""
