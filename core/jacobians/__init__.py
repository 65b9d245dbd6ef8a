"""Jacobians, Hessians and products with them, and Taylor series.

functions   what users call: ``jacobian``, ``jacfwd``, ``hessian``, ``hvp``, ``forwarddiff``
series      what users call: ``taylor``, ``derivatives``
wirtinger   what users call: ``wirtinger``
matrices    the matrices, by rows from a pullback or by columns from tangents
"""
