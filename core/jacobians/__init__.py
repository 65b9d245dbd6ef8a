"""Jacobians, Hessians and products with them.

functions   what users call: ``jacobian``, ``jacfwd``, ``hessian``, ``hvp``, ``forwarddiff``
matrices    the matrices, by rows from a pullback or by columns from tangents
"""
