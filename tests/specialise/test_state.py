"""Identity, order and length of containers, iterators, side effects and scopes are Python's, or refused."""

from __future__ import annotations

import numpy as np
import pytest
from specialise.held_out_state_programs import PROGRAMS as HELD_OUT
from specialise.more_state_programs import PROGRAMS as MORE
from specialise.state_programs import PROGRAMS
from specialise.state_tester import INTERNAL, verdict

import morula as mo

EVERY = {**PROGRAMS, **HELD_OUT, **MORE}
REFUSED = frozenset(
    """
    arg_alias_result argument_lists_exchanged argument_reordered_in_a_branch
    cache_called_in_a_branch cached_property
    closure_made_in_a_loop counter_class_attribute
    dd_arg del_in_branch_arg deque_arg dict_of_two_branches_is_returned
    fib_loop
    is_after_a_loop iter_arg key_added_to_an_argument_in_a_branch left_walk
    lists_swapped_in_a_loop loop_ordered
    loop_pop_insert lru_cache_with_effects merged_dict_reversed node_chain
    objects_swapped_in_a_while od_arg_branch returns_gen search_then_continue set_arg
    set_of_traced_numbers swapped_arguments_in_a_loop swapped_with_a_local_in_a_loop
    two_buffers unpacking_order while_is while_list_iter
    """.split()
)
"""Programs whose meaning depends on what is not known while compiling: a choice of objects to write to, an order, a length, a position."""


@pytest.mark.parametrize("name", EVERY)
def test_native_code_does_as_python_or_is_refused(name):
    f, calls = EVERY[name]
    compiled = mo.jit(f, target="native")
    found = [verdict(f, compiled, args) for args in calls]
    for how, text in found:
        assert how in ("right", "refused"), text
        if how == "refused":
            assert not INTERNAL.search(text), text
            assert f.__code__.co_filename in text, text
    assert any(how == "refused" for how, _ in found) == (name in REFUSED), found


@pytest.mark.parametrize("name", [name for name in EVERY if name not in REFUSED and name not in MORE])
def test_xla_does_as_python(name):
    f, calls = EVERY[name]
    compiled = mo.jit(f, target="xla")
    for args in calls:
        assert verdict(f, compiled, args) == ("right", "")


@pytest.mark.parametrize("name", [name for name in EVERY if name not in REFUSED])
def test_gradients_are_the_eager_ones(name):
    f, calls = EVERY[name]
    args = calls[0]
    if not all(type(x) is float for x in args) or type(_value(f, args)) is not float:
        return
    derivative = mo.value_and_grad(f)
    value, gradient = mo.jit(derivative, target="native")(*args)
    expected = derivative(*args)
    assert np.allclose([value, gradient], expected, 1e-10, 1e-10)


def _value(f, args):
    try:
        return f(*args)
    except Exception:
        return None
