"""Lists, tuples, dicts, sets and the `collections` module: reading, writing, sharing."""

from __future__ import annotations

import copy
from collections import ChainMap, Counter, OrderedDict, UserList, defaultdict, deque
from types import SimpleNamespace

import numpy as np
import pytest

import morula as mo


def test_list_methods_that_write(check):
    def f(x):
        v = [x, 2.0]
        v.append(x * x)
        v.insert(0, x + 1)
        v.extend([x**3, *v[:1]])
        v += (x * 2,)
        last = v.pop()
        first = v.pop(0)
        v.reverse()
        v.remove(2.0)
        return sum(k * a for k, a in enumerate(v)) * last + first * v.index(x) + v.count(x)

    check(f, 1.5)


def test_list_item_assignment(check):
    def f(v):
        v[0] = v[1] * v[2]
        v[-1] = v[0] * v[0]
        v[1] += v[2]
        return v[0] + v[1] * v[2]

    check(f, [1.0, 2.0, 3.0])


def test_list_slice_assignment(check):
    def f(v):
        v[1:3] = [v[0] * v[1]]
        v[:0] = (v[-1], v[0] ** 2)
        v[::2] = [a * 2 for a in v[::2]]
        v[len(v) :] = v
        return sum(k * a for k, a in enumerate(v))

    check(f, [1.0, 2.0, 3.0, 4.0])


def test_list_concatenation_and_repetition(check):
    def f(x):
        v = [x] * 3 + [x * x, 1.0] * 2
        v *= 2
        return sum(k * a for k, a in enumerate(v)) + ((x,) * 2 + (x * x,))[2]

    check(f, 1.5)


def test_a_list_passed_to_a_function_that_changes_it(check):
    def double(v):
        for i in range(len(v)):
            v[i] *= 2
        v.append(v[0] * v[1])

    def f(v):
        double(v)
        double(v)
        return sum(k * a for k, a in enumerate(v))

    check(f, [1.5, 2.0])


def test_two_names_of_one_list(check):
    def f(x):
        a = b = [x]
        b.append(x * x)
        a[0] *= 3
        return a[1] * b[0]

    check(f, 1.5)


def test_one_inner_list_in_two_places(check):
    def f(x):
        row = [x, 1.0]
        table = [row, row]
        table[0][1] = x * x
        table[1][0] *= 2
        return table[0][0] * table[1][1]

    check(f, 1.5)


def test_list_sort_by_active_keys(check):
    def f(v):
        v.sort(key=lambda a: -a * a, reverse=True)
        w = sorted(v, key=abs)
        return sum(k * a for k, a in enumerate(v)) + w[0] * w[-1]

    check(f, [2.0, -1.0, 3.0, -0.5])


def test_a_nested_list_of_lists_as_matrix(check):
    def f(m):
        n = len(m)
        out = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    out[i][j] += m[i][k] * m[k][j]
        return out[0][1] * out[1][0]

    check(f, [[1.0, 2.0], [3.0, 4.0]])


def test_a_stack_machine(check):
    def f(x):
        stack = []
        for token in ["x", "x", "*", "x", "+", "x", "*"]:
            if token == "x":
                stack.append(x)
            else:
                b, a = stack.pop(), stack.pop()
                stack.append(a * b if token == "*" else a + b)
        return stack[-1]

    check(f, 1.5)


def test_tuples_compare_and_concatenate(check):
    def f(x):
        a, b = (x, 1.0), (x * x, 2.0)
        big = max(a, b)
        return (a + b)[2] * big[0] + a.index(x) + (a < b) * x

    check(f, 1.5)


def test_dict_reads_and_writes(check):
    def f(d):
        d["c"] = d["a"] * d["b"]
        d["a"] += d["c"]
        d.update(b=d["a"] * 2, e=3.0)
        return d["a"] * d["b"] + d["c"]

    check(f, {"a": 1.5, "b": 2.0})


def test_dict_methods(check):
    def f(x):
        d = dict(a=x, b=x * x)
        y = d.get("a") * d.get("missing", x)
        y += d.setdefault("c", x**3) + d.setdefault("a", 100.0)
        y *= d.pop("b")
        y += d.pop("missing", x)
        d |= {"z": x * 2}
        key, value = d.popitem()
        e = d.copy()
        e["a"] = 0.0
        return y * value + sum(d.values()) + len(key) + (d | e)["a"] + dict(zip("ab", (x, y)))["b"]  # noqa: B905

    check(f, 1.5)


def test_dict_comprehension_over_items(check):
    check(lambda p: sum({k: v * v for k, v in p.items() if k != "skip"}.values()), {"a": 1.5, "skip": 9.0, "b": 2.0})


def test_a_dict_with_tuple_and_int_keys(check):
    def f(x):
        grid = {}
        for i in range(3):
            for j in range(3):
                grid[i, j] = x**i + grid.get((i, j - 1), 0.0)
        return grid[2, 2] * grid[1, 0]

    check(f, 1.2)


def test_dict_fromkeys_and_del(check):
    def f(x):
        d = dict.fromkeys("abc", x)
        d["a"] *= x
        del d["b"]
        return sum(d.values())

    check(f, 1.5)


def test_memoisation_in_a_dict(check):
    def f(x):
        memo = {0: 1.0, 1: x}

        def fib(n):
            if n not in memo:
                memo[n] = fib(n - 1) * x + fib(n - 2)
            return memo[n]

        return fib(8)

    check(f, 0.7)


def test_a_set_of_active_values(check):
    def f(x):
        s = {x, x * x}
        s.add(x**3)
        s.discard(x)
        return sum(s | {x * 2}) * len(s)

    check(f, 1.5)


def test_a_deque(check):
    def f(x):
        q = deque([x, 1.0], maxlen=3)
        q.append(x * x)
        q.appendleft(x + 2)
        q.rotate(1)
        q[0] *= 3
        y = q.popleft() * q[-1]
        q.extend([y, y * x])
        return sum(k * a for k, a in enumerate(q))

    check(f, 1.5)


def test_breadth_first_sums_in_a_deque(check):
    def f(x):
        queue, total = deque([(x, 0)]), 0.0
        while queue:
            value, depth = queue.popleft()
            total += value * depth
            if depth < 3:
                queue.append((value * 0.5, depth + 1))
                queue.append((value * x, depth + 1))
        return total

    check(f, 0.7)


def test_a_defaultdict(check):
    def f(v):
        groups, totals = defaultdict(list), defaultdict(float)
        for i, x in enumerate(v):
            groups[i % 2].append(x)
            totals[i % 2] += x * x
        return sum(groups[0]) * totals[1] + totals[7] + len(groups[9])

    check(f, [1.0, 2.0, 3.0])


def test_an_ordered_dict(check):
    def f(x):
        d = OrderedDict(a=x, b=x * x, c=2.0)
        d.move_to_end("a")
        return sum(k * v for k, v in enumerate(d.values())) + d.popitem(last=False)[1]

    check(f, 1.5)


def test_a_counter(check):
    def f(x):
        c = Counter()
        for k in "abca":
            c[k] += x
        c.update({"a": x * x})
        return c["a"] * c["b"] + c["missing"] + c.most_common(1)[0][1]

    check(f, 1.5)


def test_a_chainmap_and_a_userlist(check):
    def f(x):
        m = ChainMap({"a": x}, {"a": 100.0, "b": x * x})
        u = UserList([x, m["b"]])
        u.append(m["a"] * 2)
        return sum(u) * m["b"]

    check(f, 1.5)


def test_an_array_shared_by_two_containers(check):
    def f(w):
        d = {"first": [w], "second": (w, 1.0)}
        d["first"][0][0] = d["second"][0][1] * 3
        return (d["first"][0] * d["second"][0]).sum()

    check(f, np.array([1.0, 2.0]))


def test_a_list_of_arrays_updated_in_a_loop(check):
    def f(ws):
        x = np.ones(2)
        for i in range(len(ws)):
            ws[i] = ws[i] * 0.5
            ws[i] -= 0.1 * x
            x = np.tanh(ws[i] @ x)
        return x.sum() + ws[0][0, 0]

    check(f, [np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([[0.3, 0.1], [-0.4, 0.8]])])


def test_copy_is_shallow_and_deepcopy_is_deep(check):
    def f(x):
        a = [[x], x]
        b, c, d = copy.copy(a), copy.deepcopy(a), a[:]
        a[0][0] = x * x
        a[1] = 7.0
        return b[0][0] * c[0][0] + b[1] + c[1] + d[0][0] * 2

    check(f, 1.5)


def test_deepcopy_of_objects_and_arrays(check):
    def f(p):
        q = copy.deepcopy(p)
        q.w[0] = p.w[1] * 2
        p.w *= p.k
        r = copy.copy(q)
        r.k = r.k * r.k
        return (p.w * q.w).sum() + r.k + q.k

    check(f, SimpleNamespace(w=np.array([1.0, 2.0]), k=3.0))


def test_a_list_that_contains_itself(check):
    def f(x):
        v = [x, x * x]
        v.append(v)
        return v[2][2][0] * v[2][1]

    check(f, 1.5)


def test_iterating_a_dict_of_dicts(check):
    def f(params):
        y = 1.0
        for name, layer in params.items():
            y = y * layer["w"] + layer.get("b", 0.0)
            layer["w"] = y if name == "one" else layer["w"]
        return y * params["one"]["w"]

    check(f, {"one": {"w": 1.5, "b": 0.5}, "two": {"w": 2.0}})


def test_gradients_keep_the_structure_of_nested_containers():
    tree = {"a": [1.0, (2.0, None, "name")], "b": {"c": np.ones(2), "flag": True}, "empty": []}
    (g,) = mo.gradient(lambda t: t["a"][0] * t["a"][1][0] + t["b"]["c"].sum(), tree)
    assert g["a"][0] == 2.0 and g["a"][1] == (1.0, None, None)
    assert g["b"]["c"].tolist() == [1.0, 1.0] and g["b"]["flag"] is None and g["empty"] == []
    assert list(g) == list(tree)


def test_a_container_changed_by_f_has_the_gradient_of_what_was_given(check):
    def f(v):
        y = v.pop() * v.pop(0)
        v.append(y)
        v.clear()
        return y

    (g,) = mo.gradient(f, [2.0, 5.0, 3.0])
    assert g == [3.0, 0.0, 2.0]
    d = {"a": 2.0, "b": 3.0}
    (g,) = mo.gradient(lambda d: d.pop("a") ** 2 * d["b"], d)
    assert g == {"a": 12.0, "b": 4.0} and d == {"b": 3.0}


def test_membership_and_equality_of_containers(check):
    def f(v):
        return v[0] * ([v[0]] == v[:1]) + v[1] * (v[1] in v[1:]) + v[0] * v[1] * (v != [])

    check(f, [1.5, 2.0])


def test_a_priority_queue(check):
    import heapq

    def f(v):
        heap = []
        for i, x in enumerate(v):
            heapq.heappush(heap, (x * x, i))
        y = 0.0
        while heap:
            cost, i = heapq.heappop(heap)
            y = y * 0.5 + cost * i
        return y + heapq.nsmallest(1, v)[0]

    check(f, [2.0, -1.0, 3.0])


def test_bisection_in_a_sorted_list(check):
    import bisect

    def f(x):
        v = []
        for k in (3.0, 1.0, 2.0):
            bisect.insort(v, k * x)
        return v[bisect.bisect_left(v, 2 * x)] * v[0] + v[-1]

    check(f, 1.5)


class Squares(dict):
    def __missing__(self, key):
        self[key] = value = key * key
        return value


class Doubled(Squares):
    def __getitem__(self, key):
        return super().__getitem__(key) * 2


def test_what_a_mapping_computes_for_a_missing_key(check):
    def f(x, y):
        plain, doubled = Squares(), Doubled()
        lazy = defaultdict(float)
        lazy.default_factory = lambda: x * y
        return plain[x] * plain[x] + doubled[y] * plain[y] + lazy["a"] * lazy["a"] + Counter(a=x)["b"]

    check(f, 1.5, 0.7)


class Pair:
    """An object that could be iterated, and indexed by position."""

    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        return (self.x, 2.0)[i]


class Walked(Pair):
    def __iter__(self):
        return iter((self.x, 2.0))


@pytest.mark.parametrize("cls", [Pair, Walked])
def test_the_value_for_every_key_is_kept_as_it_is(cls, check):
    def f(x):
        made = dict.fromkeys(iter("ab"), cls(x * x))
        other = OrderedDict.fromkeys((x, "c"), np.array([x, 3.0]))
        assert type(made["a"]) is cls and made["a"] is made["b"]
        return made["a"].x * other["c"][0] + sum(list.__new__(list, [1.0])) + sum(tuple.__new__(tuple, cls(x)))

    check(f, 1.5)
