"""Runs that are observed, to find where in the user's program something happens.

observer    a tape around the run, which sees each operation, forward and backward, with its line
non_finite  finds the operation in which an Inf or NaN first appears
"""
