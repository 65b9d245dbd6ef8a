"""Identity, order and length of containers, iterators and laziness, effects and scopes: as Python has them, or refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from jit.held_out_state_programs import PROGRAMS as HELD_OUT
from jit.more_state_programs import PROGRAMS as MORE
from jit.state_programs import PROGRAMS
from jit.state_tester import INTERNAL, verdict

import morula as mo
from morula.core.specialise import iterators

EVERY = {**PROGRAMS, **HELD_OUT, **MORE}
REFUSED = frozenset(
    """
    a_branch_makes_an_alias_and_a_later_one_writes all_stops_early and_or_return_their_operand any_stops_early
    append_to_one_of_two argument_lists_exchanged argument_reordered_in_a_branch array_or_its_copy
    array_or_its_copy_changed_before_reading attributes_in_the_order_of_their_assignment
    augmented_list_of_one_of_two cache_called_in_a_branch cached_property chained_comparison_with_effects
    change_of_one_of_two change_of_one_of_two_objects change_seen_through_the_other_name chosen_twice
    class_attribute_changed_in_a_branch class_list closure_made_in_a_loop count_of_an_object
    counter_class_attribute counter_most_common counter_with_a_key_of_a_branch cycle_advanced_in_a_branch dd_arg
    defaultdict_inserts_when_read del_in_branch_arg deque_append_in_a_branch deque_arg dict_entry_becomes_alias
    dict_keyed_by_object dict_of_two_branches_is_returned dict_order_of_two_branches dict_with_traced_key eq_hook
    fib_loop filter_on_traced function_of_a_branch function_that_returns_one_of_its_arguments gen_except_inside
    generator_advanced_in_a_branch global_dict_is_written_in_a_branch global_is_written global_list_appended
    id_of_one_of_two in_consumes_an_iterator is_after_a_loop is_none_loop item_that_is_one_of_two iter_arg
    iterator_left_by_break iterator_of_dict_position iterator_resumed_by_next key_added_to_an_argument_in_a_branch
    key_deleted_and_put_back_in_a_branch key_order_after_conditional_update key_order_of_two_branches last_used
    left_walk list_append_in_a_branch list_chosen_then_grown list_index_of_an_object list_insert_and_sort
    list_length_differs_then_padded list_of_a_class_changed list_pop_in_a_branch list_removes_an_object
    list_shrinks_while_iterated lists_swapped_in_a_loop loop_ordered loop_pop_insert lru_cache_with_effects
    merged_dict_reversed method_added_in_a_branch min_over_map_effects namespace_chosen nested_choice
    next_in_an_if next_with_default_in_an_if node_chain none_or_number none_or_object objects_swapped_in_a_while
    od_arg_branch ordered_dict_move_to_end_in_a_branch ordered_dict_popitem_first
    ordered_dicts_compare_their_order popitem_after_a_branch removal_while_iterating result_holds_one_object_twice
    returns_gen search_then_continue set_arg set_grows_in_a_branch set_membership_after_a_branch
    set_of_traced_numbers shared_iterator_advanced_in_a_branch short_circuit_effects swap_by_attribute
    swapped_arguments_in_a_loop swapped_with_a_local_in_a_loop the_largest_object_is_changed tuple_of_one_of_two
    two_attributes_become_one two_buffers unpacking_order view_or_copy while_is while_list_iter
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


@pytest.mark.parametrize("program", ["endless_and_left", "endless_search"])
def test_a_loop_that_finds_no_end_while_compiling_is_refused(program, monkeypatch):
    monkeypatch.setattr(iterators, "ENDLESS", 500)
    with pytest.raises(mo.BadInput, match="found no end; give it one that is known while compiling"):
        mo.jit(globals()[program], target="native")(0.5)


def endless_and_left(x):
    total = 0.0
    for v in itertools.cycle([x, 1.0]):
        total += v
        if total > 5.0:
            break
    return total


def endless_search(x):
    return any(v > x for v in itertools.cycle([0.2, x]))
