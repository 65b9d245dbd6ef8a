"""One memory under several names: a write through one name is seen through the others, in value, state and gradient.

`check` runs every program plainly too: same value, same arguments afterwards, gradient by differences.
"""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

A = np.array([0.5, 1.0, 1.5, 2.0])
B = np.array([2.0, -1.0, 0.7, 0.3])
Z = np.array([1 + 2j, 0.5 - 1j, -0.3 + 0.2j])


# Parts of complex numbers, other dtypes on the same memory


def test_broadcast_parts_of_complex_numbers(check):
    def f(z):
        w, v = np.broadcast_to(z.real, (3, 3)), np.broadcast_to(z.imag, (2, 3))
        return (w * w * A[:3]).sum() + (v**3 * B[:3]).sum()

    check(f, Z)


def test_complex_numbers_seen_as_pairs_of_reals(check):
    def f(z):
        v = z.view(float)
        v[1] *= 2
        v[::2] += 1
        return (v * v * np.arange(6)).sum() + (z.real * z.imag).sum()

    check(f, Z)


def test_a_real_number_stored_among_complex_ones_has_a_real_cotangent(check):
    def f(z, x):
        z[1] = s = z[0].real * x
        z[2] = x
        return (z * z * Z).imag.sum() + s

    check(f, Z, 1.5)


def test_reals_seen_as_complex_numbers(check):
    def f(a):
        z = a.view(complex)
        z *= 1j
        z[0] = z[1] * z[0]
        return (a * a * np.arange(4)).sum()

    check(f, A)


def test_integers_written_over_reals_cut_off_what_was_there(check):
    def f(a, x):
        b = a * x
        b.view(np.int64)[1] = 0
        bits = b.view(np.int64)
        bits[2:] = np.array([3.0]).view(np.int64)
        return (b * b * B).sum()

    check(f, A, 1.5)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int32, np.complex64])
def test_a_part_of_the_bytes_of_a_number_is_refused(dtype):
    def f(a):
        a.view(dtype)[1] = 1
        return a.sum()

    a = A.copy()
    with pytest.raises(mo.NoDerivative, match="bytes|bits"):
        mo.gradient(f, a)
    plain = A.copy()
    f(plain)
    assert a.tolist() == plain.tolist()


# Memory that no array holds


def test_two_arrays_on_one_buffer(check):
    def f(a, x):
        memory = bytearray(32)
        u, v = np.frombuffer(memory), np.frombuffer(memoryview(memory)[8:])
        u[:] = a
        u[1] = x
        v *= 2
        return (v * v * u[1:]).sum()

    check(f, A, 2.0)


def test_an_array_made_on_the_memory_of_another(check):
    def f(a, x):
        v = np.ndarray((2,), float, buffer=a, offset=8)
        v *= x
        w = np.ndarray((2,), float, buffer=memoryview(a))
        w[1] += v[1]
        return (a * a * B).sum()

    check(f, A, 2.0)


def test_views_of_bytes(check):
    def f(a, x):
        raw = np.zeros(32, np.uint8)
        v = raw[8:].view(float)
        v[:] = a[:3] * x
        raw[8:16] = 0
        return (raw.view(float) * A).sum() + (v * v).sum()

    check(f, A, 2.0)


# Structured arrays


def test_fields_share_the_memory_of_their_array(check):
    def f(a, x):
        t = np.zeros(4, dtype=[("p", float), ("m", float, (2,)), ("k", int)])
        t["p"] = a
        t["m"][:, 1] = a * a
        t["p"][1:] += t["p"][:-1]
        part = t[1:3]
        part["p"] *= x
        t[0] = (x, (x * x, 1.0), 3)
        return (t["p"] * t["p"] * B).sum() + (t["m"] ** 2).sum()

    check(f, A, 2.0)


def test_rows_share_the_memory_of_their_array(check):
    def f(a, x):
        t = np.zeros(4, dtype=[("p", float), ("m", float)])
        t["p"] = a
        row = t[2]
        row["p"] = x * row["p"]
        t["m"] = 1.0
        t[3] = t[0]
        t[:2] = t[1:3]
        row["m"] = t["p"][0]
        picked = t[[0, 2, 2]]
        picked["m"] *= 3
        return (t["p"] ** 2 * B).sum() + (t["m"] ** 2).sum() + t[1]["p"] + (picked["m"] * picked["p"]).sum()

    check(f, A, 2.0)


def test_copies_of_structured_arrays_are_apart(check):
    def f(a, x):
        t = np.zeros(4, dtype=[("p", float), ("inner", [("q", float)])])
        t["p"], t["inner"]["q"] = a, a * x
        u = t.copy()
        u["p"] *= 3
        t["p"] = u["inner"]["q"]
        return (t["p"] ** 2 * B).sum() + (u["p"] ** 2).sum()

    check(f, A, 2.0)


def test_records(check):
    def f(a, x):
        t = np.rec.fromarrays([a, a * x], names="p,q")
        t.p[1] = x
        t.q *= t.p
        return (t.p * t.q).sum()

    check(f, A, 2.0)


# Views that overlap themselves


def test_reading_windows_that_overlap(check):
    def f(a, x):
        w = np.lib.stride_tricks.sliding_window_view(a, 2)
        a[1] = x * x
        picked = w[np.array([[True, False], [True, True], [False, True]])]
        return (w * w).sum() + (picked**3).sum() + w[[0, 1, 1], [1, 0, 0]].sum() ** 2 + (w[::-1].T * x).sum()

    check(f, A, 2.0)


def test_writing_a_row_of_windows_that_overlap(check):
    def f(a, x):
        w = np.lib.stride_tricks.sliding_window_view(a, 2, writeable=True)
        w[0] = x
        w[:, 1] *= 2
        a[2] *= x
        return (w * w).sum()

    check(f, A, 2.0)


# What the program changes after it was used


def test_a_list_of_indices_that_is_changed_later(check):
    def f(a):
        i, axes, shape, width = [0, 2], [1, 0], [2, 2], [2, 1]
        y = np.take(a * a, i)
        m = np.transpose(np.reshape(a * a, shape), axes)
        p = np.pad(a * a, pad_width=width, mode="wrap")
        s = np.sum(a * a, axis=(axis := [0])[0])
        i[0], axes[:], shape[:], width[:], axis[0] = 3, [0, 1], [4, 1], [1, 2], 1
        return (y * [1, 2]).sum() + (m[0] * m[1] * [1, 3]).sum() + (p * np.arange(7)).sum() * s

    check(f, A)


def test_an_array_of_indices_that_is_changed_later(check):
    def f(a):
        i = np.array([2, 0, 3])
        y = a[i] ** 2
        a[i] *= B[:3]
        np.random.default_rng(1).shuffle(i)
        z = np.take(a, i) ** 3
        i.sort()
        i += 1
        i %= 4
        return (y * B[:3]).sum() + (z * B[1:]).sum() + (a[i] * B[:3]).sum()

    check(f, A)


def test_a_result_in_a_list_that_is_changed_later(check):
    def f(a, x):
        parts = np.array_split(a * x, 2)
        parts[0] = parts[0] * parts.pop()[0]
        grads = list(np.gradient(np.outer(a, a)))
        grads[0] = grads.pop() * 2
        return (parts[0] ** 2).sum() + (grads[0] ** 2).sum()

    check(f, A, 1.5)


@pytest.mark.parametrize(
    "write",
    [
        lambda w, x: w.__setitem__(..., x),
        lambda w, x: w.__setitem__(..., np.arange(6.0).reshape(3, 2) * x),
        lambda w, x: w.__setitem__(slice(1, None), w[:-1] * x),
        lambda w, x: w.__imul__(x),
        lambda w, x: w.__iadd__(w),
        lambda w, x: np.multiply(w, x, out=w),
        lambda w, x: np.add.at(w, ([0, 1, 2], [1, 0, 1]), x),
        lambda w, x: w.fill(x),
        lambda w, x: w.T.__setitem__(slice(None, None, -1), x * w.T),
        lambda w, x: w.__setitem__(([0, 1], [1, 0]), [x, x * x]),
    ],
)
def test_writing_windows_that_overlap(check, write):
    def f(a, x):
        write(np.lib.stride_tricks.as_strided(a, (3, 2), (8, 8)), x)
        return (a * a * B).sum()

    check(f, A, 1.5)


def test_an_array_that_is_read_only_for_a_while(check):
    def f(a, x):
        b = a * x
        b[0] = x
        b.flags.writeable = False
        c = b * b
        b.flags.writeable = True
        b[1] = 5.0
        b.setflags(write=False)
        return (b * c).sum()

    check(f, A, 1.5)


# Every entry, one after the other


def test_flat_of_an_array_that_is_not_contiguous(check):
    def f(a, x):
        m = a.reshape(2, 2).T
        flat = m.flat
        flat[1] = x * x
        flat[[0, 3]] *= x
        flat[::2] += [x, 1.0]
        m.flat[-1] = x
        return (np.array(flat) * B).sum() + flat[1:3].sum() * flat[[0, 0, 1]].sum() + (flat.copy() * B).sum() ** 2

    check(f, A, 1.5)


def test_assigning_flat_repeats_what_is_too_short(check):
    def f(a, x):
        m = a.reshape(2, 2).T
        m.flat = [x, 2 * x]
        y = (a * B).sum()
        a.flat[1:] = [x * x, 3.0]
        m.flat = m * x
        a.flat[:] = a.reshape(2, 2)
        return y * (a * B).sum()

    check(f, A, 1.5)


def test_an_iterator_over_all_entries_goes_on_where_it_was(check):
    def f(a, x):
        flat = a.reshape(2, 2).T.flat
        y = next(flat) * x - next(flat) ** 2
        for e in flat:
            y = y * e + x
        return y + next(flat, 3.0) * x + next(np.ndenumerate(a))[1] ** 2

    check(f, A, 1.5)


def test_nditer_reads_and_writes_its_operands(check):
    def f(a, x):
        b = np.zeros(4)
        for u, v in np.nditer([a, b], op_flags=[["readonly"], ["writeonly"]]):
            v[...] = u * u * x
        with np.nditer(a, op_flags=["readwrite"]) as entries:
            for e in entries:
                e[...] = e * e
        it = np.nditer(a, flags=["multi_index"], op_flags=["readwrite"])
        while not it.finished:
            it[0] = it[0] * x
            it.iternext()
        return float((b * B).sum() + (a * a * B).sum())

    check(f, A, 1.5)


# Places to write to, and what is written


def test_put_wraps_clips_and_repeats(check):
    def f(a, x):
        np.put(a, [-1, 0, -1], [x, 2 * x, 3 * x])
        np.put(a, [5, 6], [x * x, a[3]], mode="wrap")
        a.put([-9, 9], [x], mode="clip")
        return (a * B).sum()

    check(f, A, 1.5)


@pytest.mark.parametrize(
    "write",
    [
        lambda a: np.put(a, [10], 1.0),
        lambda a: np.place(a, a > 1, []),
        lambda a: a.flat.__setitem__(7, 1.0),
        lambda a: a.__setitem__(7, 1.0),
        lambda a: a.__setitem__(slice(2), [1.0, 2.0, 3.0]),
        lambda a: a.__iadd__(np.ones((2, 4))),
        lambda a: a.__imul__(1j),
        lambda a: np.add(a, 1.0, out=np.zeros(3)),
        lambda a: np.add(a, 1.0, out=np.zeros(4, int)),
        lambda a: np.add(a[:1], np.ones((3, 1)), out=a[:1]),
        lambda a: np.sum(a, out=np.zeros(3)),
        lambda a: np.copyto(a, np.ones(3)),
        lambda a: np.copyto(a, 1j),
        lambda a: np.array(1).__iadd__(1.5),
    ],
)
def test_a_write_that_numpy_refuses_raises_the_same(write):
    def f(a):
        a[0] = 2 * a[1]
        write(a)
        return a.sum()

    plain, given = A.copy(), A.copy()
    with pytest.raises(Exception) as expected:
        f(plain)
    with pytest.raises(type(expected.value)) as found:
        mo.gradient(f, given)
    assert str(found.value) == str(expected.value)
    assert given.tolist() == plain.tolist()


class Converted:
    """A number as NumPy asks for it."""

    def __init__(self, x):
        self.x = x

    def __float__(self):
        return float(self.x * self.x)


class Sequence(Converted):
    def __array__(self, dtype=None, copy=None):
        return np.array([self.x, 3 * self.x])


def test_objects_that_are_stored_as_numbers(check):
    def f(a, x):
        a[0] = Converted(x)
        a[1:3] = Sequence(a[3])
        a[2:] = [Converted(a[1]), x]
        return (a * a * B).sum()

    check(f, A, 1.5)


def test_sequences_of_any_kind_are_stored(check):
    def f(a, x):
        memory = memoryview(np.array([x, x * x]))
        a[:2] = memory
        a[2:] = range(2)
        np.copyto(a[2:], [x, a[0]])
        a[1:] = np.array([x, 2.0, a[0]], object)
        return (a * a * B).sum()

    check(f, A, 1.5)


def test_functions_with_several_results_write_them_out(check):
    def f(a, x):
        b, c, n = np.empty(4), np.empty(4), np.empty(4, np.int32)
        np.modf(a * x * 1.3, out=(b, c))
        y = (b * B).sum()
        np.divmod(a * 1.3, x * 0.3, c, b)
        y += (b * b).sum()
        np.frexp(a * 1.3, b, n)
        mantissa, _ = np.frexp(a * 1.1, out=(None, n))
        return y + (b * b).sum() + (mantissa * n).sum()

    check(f, A, 1.13)


def test_a_shape_is_assigned(check):
    def f(a, x):
        b = a * x
        c = b[:2]
        b.shape = 2, 2
        b[0, 0] *= x
        b.shape = 4
        c *= 2
        b.resize(2, 2)
        return (b[1] * b[0]).sum()

    check(f, A, 1.5)
    _, (ga, gx) = mo.value_and_grad(lambda a, x: sum(np.sum(g) for g in mo.gradient(f, a, x)), (0, 1))(A, 1.5)
    assert np.isfinite(ga).all() and gx != 0


def test_an_array_of_another_size_in_the_same_place_is_refused():
    with pytest.raises(mo.NoDerivative, match="np.resize or np.pad"):
        mo.gradient(lambda a: [a := a * a, a.resize(6, refcheck=False), a.sum()][-1], A)


def test_arrays_of_arrays(check):
    def f(a, x):
        o = np.empty(2, object)
        o[0], o[1] = a * a, a * x
        o[0] *= x
        s = np.stack(o) * np.arange(8.0).reshape(2, 4)
        return s.sum() + (np.concatenate(o) ** 2).sum() + (o.sum() * B).sum() + (np.sum(o) ** 2).sum()

    check(f, A, 1.5)


# The order of evaluation


class Counter:
    def __init__(self, n):
        self.n = n

    def bump(self, x):
        self.n *= x
        return 2 * self.n


def test_an_augmented_assignment_reads_its_target_before_the_operand(check):
    def f(a, x):
        def bump():
            nonlocal n
            a[0] *= x
            d["k"] *= x
            n *= x
            return a[0] + d["k"] * n

        counter, d, n = Counter(x), {"k": x}, x
        counter.n += counter.bump(x)
        counter.n *= counter.bump(a[1])
        a[0] += bump()
        d["k"] -= bump()
        n += bump()
        [a, d][0][int(n) * 0 + 1] += bump()
        return (a * B).sum() + counter.n * d["k"] * n

    check(f, A, 1.1)


def test_a_list_gives_way_to_an_array_it_is_added_to(check):
    def f(a, x):
        items = [x, x * x, 1.0, 2.0]
        items += a
        more = [a[0], x]
        more += [x, 3.0]
        more += (x,)
        more *= 2
        return (items * a).sum() + sum(more)

    check(f, A, 1.5)


def test_an_exception_carries_the_array_itself(check):
    def f(a, x):
        b = a * x
        try:
            b[1:] *= b[:-1]
            raise ValueError(b[0] * 2, b)
        except ValueError as e:
            b[2] = e.args[0]
            e.args[1][3] *= x
        finally:
            b += a
        return (b * b * B).sum()

    check(f, A, 1.5)


# Derivatives given by hand, and what changes around them


def product_and_sum(pair):
    return [pair[0] * pair[1], pair[0] + pair[1]]


@mo.adjoint(product_and_sum)
def _(pair):
    u, v = pair

    def back(dy):
        dp, ds = (0 if d is None else d for d in dy)
        return ([dp * v + ds, dp * u + ds],)

    return [u * v, u + v], back


def product_of_fields(fields):
    return fields["a"] * fields["b"]


def product_of_attributes(counter):
    return counter.n * counter.m


@mo.adjoint(product_of_fields)
def _(fields):
    a, b = fields["a"], fields["b"]
    return a * b, lambda dy: ({"a": dy * b, "b": dy * a},)


@mo.adjoint(product_of_attributes)
def _(counter):
    n, m = counter.n, counter.m
    return n * m, lambda dy: ({"n": dy * m, "m": dy * n},)


def test_the_arguments_and_results_of_an_adjoint_may_change_later(check):
    def f(x, y):
        pair, fields, counter = [y * y, x * y], {"a": x, "b": y * x}, Counter(x)
        counter.m = counter.n * y
        found = product_and_sum(pair)
        r = product_of_fields(fields) * product_of_attributes(counter)
        pair[0], fields["a"], counter.n = 5.0, 6.0, 7.0
        pair.reverse()
        last = found.pop()
        found.insert(0, last * 2)
        return found[0] * found[1] ** 2 * pair[0] * r * fields["b"] * counter.n

    check(f, 1.2, 0.7)


def test_hook_and_stop_gradient_see_the_array_as_it_was(check):
    def f(a, x):
        b = mo.hook(lambda g: g, a * x)
        b[1] *= x
        c = mo.stop_gradient(np.ones(4))
        c *= b
        b[:] = 0
        return (c * c * B).sum() + b.sum()

    check(f, A, 1.5)


def test_checkpoint_between_writes(check):
    def f(a, x):
        b, given = a * x, [a * x, x]
        y, z = mo.checkpoint(lambda u: ((u * b)[1:] * x, (u * u)[::-1]), a * 1.0)
        s = mo.checkpoint(lambda pair: (pair[0] * pair[1]).sum(), given)
        w = mo.checkpoint(lambda u: u[1:], a)
        given[1], given[0] = 3.0, 5.0 * x
        w *= x
        b *= 3.0
        b[0] = x
        y *= 2
        z[0] = y[0]
        return (y * y).sum() + (z * B).sum() + s * given[0] + (a * b).sum()

    check(f, A, 1.5)


def test_a_checkpoint_that_writes_and_raises(check):
    def f(a, x):
        def g(u):
            u[0] = u[1] * x
            raise ValueError(u[0])

        try:
            mo.checkpoint(g, a)
        except ValueError as e:
            a[2] *= e.args[0]
        return (a * a * B).sum()

    check(f, A, 1.5)


def test_arrays_are_as_they_were_after_a_refusal_inside_a_checkpoint():
    state = np.zeros(3)

    def f(x):
        state[0] = x
        y = mo.checkpoint(lambda u: np.frompyfunc(float.hex, 1, 1)(u) and float.fromhex((u * state[0]).hex()), x)
        state[1] = y
        return state.sum() + np.random.default_rng(0).normal(x)

    with pytest.raises(mo.NoDerivative):
        mo.gradient(f, 2.0)
    expected = state.copy()
    state[:] = 0
    f(2.0)
    assert state.tolist() == expected.tolist()


# The caller's containers afterwards hold the caller's own objects


def test_arrays_that_moved_within_their_containers_are_still_the_callers():
    class Pair:
        def __init__(self):
            self.a, self.b = A.copy(), B.copy()

    def f(items, fields, pair):
        items.reverse()
        items[0] *= 2
        items.append((items[1], items[0][1:]))
        fields["b"] = fields.pop("a")
        fields["nested"] = [fields["b"]]
        pair.a, pair.b = pair.b, pair.a
        pair.c = pair.a
        pair.a[0] = 3.0
        return (items[0] * items[1] * fields["b"] * pair.c * pair.b).sum()

    u, v, w, pair = A.copy(), B.copy(), A.copy(), Pair()
    a, b = pair.a, pair.b
    items, fields = [u, v], {"a": w}
    mo.gradient(f, items, fields, pair)
    assert items[0] is v and items[1] is u and items[2][0] is u
    assert fields["b"] is w and fields["nested"][0] is w and "a" not in fields
    assert pair.a is b and pair.c is b and pair.b is a
    assert v.tolist() == (2 * B).tolist() and b.tolist() == [3.0, *B[1:]]


def test_integers_left_in_containers_are_pythons_own():
    def f(items, fields):
        items.append(items[0] * 2)
        items.insert(0, items[2])
        fields["m"] = (fields["n"], [fields["n"] + 1])
        return items[0] * items[-1] * fields["m"][1][0]

    items, fields = [1, 2.0, 3], {"n": 3}
    mo.gradient(f, items, fields)
    assert [type(e) for e in items] == [int, int, float, int, int]
    assert type(fields["m"][0]) is int and type(fields["m"][1][0]) is int
    y, _ = mo.vjp(lambda n: {"k": [n * 2, (n,)]}, 3)
    assert type(y["k"][0]) is int and type(y["k"][1][0]) is int


def test_the_containers_own_methods_are_not_asked():
    class Closed(dict):
        def __setitem__(self, key, value):
            raise RuntimeError("set")

        def __getitem__(self, key):
            return 2 * dict.__getitem__(self, key)

    closed = Closed(a=3.0)
    assert mo.gradient(lambda d: d["a"] ** 2, closed) == ({"a": 24.0},)
    assert dict(closed.items()) == {"a": 3.0}


def test_an_array_of_a_subclass_is_differentiated_as_one():
    m = np.asmatrix([[1.0, 2.0], [3.0, 4.0]])
    value, slope = mo.value_and_grad(lambda m: np.asarray(m * m).sum())(m)
    assert value == 54.0 and np.asarray(slope).tolist() == [[7.0, 11.0], [9.0, 13.0]]
    masked = np.ma.masked_greater([1.0, 5.0, 2.0], 4)
    value, slope = mo.value_and_grad(lambda m: (m * m).sum())(masked)
    assert value == 5.0 and np.asarray(slope).tolist() == [2.0, 0.0, 4.0]


def test_an_array_that_is_its_own_index(check):
    def by_mask(x):
        mask = x > 0.5
        mask[mask] = x[mask] > 1.5
        return (x[mask] ** 2).sum() + x[~mask].sum()

    def by_place(x):
        order = np.array([2, 0, 1])
        order[order] = order[::-1].copy()
        return (x[order] * np.array([1.0, 2.0, 3.0])).sum()

    check(by_mask, np.array([0.4, 1.2, 2.0]))
    check(by_place, np.array([0.4, 1.2, 2.0]))


# Writes that read what they have written


@pytest.mark.parametrize(
    "write",
    [
        lambda a: a.__setitem__(np.isfinite(a), a[::-1]),
        lambda a: a.flat.__setitem__(slice(None), a[::-1]),
        lambda a: np.concatenate([a[2:], a[:2]], out=a),
        lambda a: np.std(a.reshape(2, 2), axis=0, out=a[1:3]),
        lambda a: a[1:].__setitem__(a[1:] > 0, a[:-1]),
        lambda a: a[:-1].__setitem__(a[1:] > 0, a[1:]),
        lambda a: a.__setitem__([0, 1, 2, 3], a[::-1]),
        lambda a: np.copyto(a, a[::-1], where=a > 0.7),
        lambda a: np.putmask(a, a > 0.7, a[::-1]),
        lambda a: np.place(a, a > 0.7, a[::-1]),
        lambda a: np.put(a, [0, 1, 2, 3], a[::-1]),
        lambda a: setattr(a, "flat", a[::-1]),
        lambda a: np.take(a, [3, 2, 1, 0], out=a),
        lambda a: np.cumsum(a[::-1], out=a),
        lambda a: np.clip(a[::-1], 0.7, 1.7, out=a),
        lambda a: np.matmul(a.reshape(2, 2), a.reshape(2, 2), out=a.reshape(2, 2)),
        lambda a: np.einsum("ij->ji", a.reshape(2, 2), out=a.reshape(2, 2)),
        lambda a: np.add.at(a, [0, 1, 2, 3], a[::-1]),
    ],
)
def test_a_write_of_the_memory_that_it_reads_is_right_or_refused(check, write):
    def f(a, x):
        b = a * x
        write(b)
        return (b * b * B).sum()

    try:
        mo.gradient(f, A.copy(), 1.1)
    except mo.NoDerivative as refusal:
        assert "memory" in str(refusal)
        return
    check(f, A, 1.1)


class Negating(np.ndarray):
    def __setitem__(self, i, v):
        super().__setitem__(i, -v)

    def __getitem__(self, i):
        return 2 * super().__getitem__(i)


def test_a_subclass_has_a_say_in_subscripts_and_in_nothing_else(check):
    def f(a, x):
        b = a.view(Negating)
        b[0] = x
        b += 1
        b[1] *= x
        np.add(b, x, out=b)
        b.fill(a[0])
        b[2] = a[1] * b[3]
        np.copyto(b[1:], a[:3])
        return float((a * a * B).sum())

    check(f, A, 1.5)
