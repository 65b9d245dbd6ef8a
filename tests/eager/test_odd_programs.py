"""Programs that combine unusual features: a gradient is right, or refused."""

from __future__ import annotations

import more_odd_programs  # noqa: F401 - enters its programs into the table of the others
import odd_programs
import pytest
from path_tester import check_gradient

import morula as mo

PROGRAMS = {f.__name__: (f, args, options) for f, args, options in odd_programs.PROGRAMS}

COMPILED = [
    "empty_slices_aliases_early_return",
    "zero_size_broadcast_complex",
    "nested_grad_list_iterator_try",
    "float32_middle_empty_mask",
    "swap_dict_power_zero",
    "descriptors_inplace",
    "recursion_mutates",
    "views_of_views_nested",
    "closures_over_loop",
    "complex_step",
    "mro_iadd",
    "property_shared",
    "dataclass_replace",
    "inplace_view_swap",
    "setdefault_views",
    "while_else_del_global",
    "einsum_out_where",
    "newton_nested_grad",
    "copies",
    "grad_inside_with_state",
    "checkpointed",
    "evaluation_order",
    "dynamic_programming",
    "interpreter",
]
"""Those that compile."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_eagerly(name):
    f, args, options = PROGRAMS[name]
    check_gradient("eager", f, *args, **options)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name):
    f, args, options = PROGRAMS[name]
    check_gradient("native", f, *args, **options)


def asynchronous(x):
    async def main():
        return x * x

    try:
        main().send(None)
    except StopIteration as end:
        return end.value


def test_asynchronous_code_is_refused():
    with pytest.raises(mo.NoDerivative, match="is a coroutine; asynchronous code cannot be differentiated"):
        mo.grad(asynchronous)(1.3)
