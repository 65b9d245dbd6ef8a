"""Sparse Jacobians and Hessians: few compressed columns or rows are computed, and hold every entry that may be different from zero.

    functions    what users call: ``sparse_jacobian``, ``sparse_hessian``
    programs     the compiled programs: tangents along several directions, cotangents, products with the Hessian
    plans        which columns or rows are computed together, and where each entry stands in them
    colouring    colourings of columns, and star colourings of symmetric matrices

The pattern comes from ``passes.dependence``.
"""
