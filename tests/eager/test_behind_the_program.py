"""Code that Python and C libraries call on their own: descriptors, hooks, handlers, finalizers, ``exec``.

The derivatives of values stored by such code are right, or refused; ``test_called_back`` tests each special method.
"""

from __future__ import annotations

import bisect
import collections
import contextlib
import copy
import cProfile
import functools
import gc
import io
import json
import pickle
import re
import sys
import threading
import weakref
import xml.sax
from xml.parsers import expat

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders

LOG = []


def super_setattr(x):
    class D:
        def __set__(self, o, v):
            o.__dict__["w"] = v * v

        def __get__(self, o, t=None):
            return o.__dict__["w"]

    class B:
        d = D()

    class C(B):
        def __setattr__(self, n, v):
            super().__setattr__(n, v)

    c = C()
    c.d = x
    return c.w * 3


def super_setattr_property(x):
    class B:
        @property
        def d(self):
            return self.__dict__["w"]

        @d.setter
        def d(self, v):
            self.__dict__["w"] = v * v

    class C(B):
        def __setattr__(self, n, v):
            super().__setattr__(n, v)

    c = C()
    c.d = x
    return c.w * 3


def super_getattribute(x):
    class C:
        def __init__(self, x):
            self.x = x

        @property
        def e(self):
            return self.x**2

        def __getattribute__(self, n):
            return super().__getattribute__(n)

    return C(x).e * 3


def object_getattribute(x):
    class C:
        def __init__(self, x):
            self.x = x

        @property
        def e(self):
            return self.x**2

        @functools.cached_property
        def k(self):
            return self.x**3

    c = C(x)
    return object.__getattribute__(c, "e") * 3 + object.__getattribute__(c, "k")


def super_getattr_prop(x):
    class B:
        def __init__(self, x):
            self.x = x

        @property
        def e(self):
            return self.x**2

    class C(B):
        @property
        def e(self):
            return super().e * 2

    return C(x).e


def property_subclass(x):
    class P(property):
        def __get__(self, o, t=None):
            v = super().__get__(o, t)
            LOG.append(v * v)
            return v

    class C:
        def __init__(self, x):
            self.x = x

        @P
        def e(self):
            return self.x**2

    r = C(x).e
    return r + LOG[-1]


def property_subclass_plain(x):
    class P(property):
        pass

    class C:
        def __init__(self, x):
            self.x = x

        @P
        def e(self):
            self.k = self.x**2
            return self.x**2

    c = C(x)
    return c.e + c.k


def property_subclass_set(x):
    class P(property):
        def __set__(self, o, v):
            super().__set__(o, v * v)

    class C:
        def __init__(self, x):
            self.x = x

        def g(self):
            return self.x

        def s(self, v):
            self.x = v * 3

        e = P(g, s)

    c = C(x)
    c.e = x
    return c.e


def metaclass_property(x):
    class M(type):
        @property
        def e(cls):
            cls.k = cls.x**2
            return cls.x**2

        def __getattr__(cls, n):
            return cls.x * 2

    class C(metaclass=M):
        pass

    C.x = x
    return C.e + C.k + C.zzz


def metaclass_property_set(x):
    class M(type):
        @property
        def e(cls):
            return cls.q

        @e.setter
        def e(cls, v):
            cls.q = v * v

    class C(metaclass=M):
        pass

    C.e = x
    return C.q


def getattr_fallback(x):
    class C:
        def __init__(self, x):
            self.x = x

        def __getattr__(self, n):
            self.k = self.x**2
            return self.k

    c = C(x)
    return getattr(c, "foo") + c.k + c.foo


def set_name(x):
    class D:
        def __set_name__(self, o, n):
            o.k = x * x
            LOG.append(x * x)

    class C:
        d = D()

    return C.k + LOG[-1]


def init_subclass(x):
    class B:
        def __init_subclass__(cls, w=1, **k):
            cls.k = w * w
            LOG.append(w * w)

    class C(B, w=x):
        pass

    return C.k + LOG[-1]


def class_getitem(x):
    class C:
        def __class_getitem__(cls, v):
            cls.k = v * v
            return cls

    C[x]
    return C.k


def missing(x):
    class D(dict):
        def __missing__(self, k):
            self[k] = x * x
            return x * x

    d = D()
    return d[1] + d[1] + d.get(1)


def missing_attrs(x):
    class D(dict):
        def __missing__(self, k):
            self.k = x * x
            return x

    d = D()
    "%(a)s" % d
    return d.k


def format_map_missing(x):
    class D(dict):
        def __missing__(self, k):
            self.k = x * x
            return x

    d = D()
    "{a}".format_map(d)
    return d.k


def exec_container(x):
    L = []
    exec("L.append(x*x)")
    return L[0] * 3


def exec_dict(x):
    d = {}
    exec("d['a']=x*x")
    return d["a"] * 3


def eval_append(x):
    L = []
    eval("L.append(x*x)")
    return L[0] * 3


def exec_attr(x):
    class C:
        pass

    c = C()
    exec("c.a=x*x", {"c": c, "x": x})
    return c.a


def exec_array(x):
    a = np.zeros(2)
    exec("a[0]=x*x")
    return a[0]


def finalizer(x):
    class C:
        pass

    L = []
    c = C()
    weakref.finalize(c, lambda v: L.append(v * v), x)
    del c
    return L[0] * 3


def weak_callback(x):
    class C:
        pass

    L = []
    c = C()
    r = weakref.ref(c, lambda r: L.append(x * x))
    del c
    return L[0] * 3


def weak_callback_obj(x):
    class C:
        pass

    class K:
        def __call__(self, r):
            L.append(x * x)

    L = []
    c = C()
    r = weakref.ref(c, K())
    del c
    return L[0] * 3


def dunder_del(x):
    L = []

    class C:
        def __init__(self, x):
            self.x = x

        def __del__(self):
            L.append(self.x**2)

    c = C(x)
    del c
    return L[0] * 3


def dunder_del2(x):
    class C:
        def __init__(self, x):
            self.x = x

        def __del__(self):
            LOG.append(self.x**2)

    def g(y):
        C(y)

    g(x)
    return LOG[-1] * 3


def json_hook(x):
    return json.loads('{"a": 2.0}', object_hook=lambda d: d["a"] * x * x)


def json_hook_list(x):
    L = []
    json.loads('{"a": 2.0}', object_pairs_hook=lambda d: L.append(d[0][1] * x * x))
    return L[0]


def json_default(x):
    L = []

    class C:
        pass

    def d(o):
        L.append(x * x)
        return 1

    json.dumps([C()], default=d)
    return L[0]


def json_default_indent(x):
    L = []

    class C:
        pass

    def d(o):
        L.append(x * x)
        return 1

    json.dumps([C()], default=d, indent=1)
    return L[0]


def re_sub(x):
    L = []
    re.sub("a", lambda m: L.append(x * x) or "b", "aa")
    return L[0] + L[1]


def cmp_key(x):
    L = []

    def c(a, b):
        L.append(x * x)
        return a - b

    sorted([2, 1], key=functools.cmp_to_key(c))
    return L[0]


def sax(x):
    class H(xml.sax.ContentHandler):
        def startElement(self, n, a):
            self.k = float(a["v"]) * x * x

    h = H()
    xml.sax.parse(io.StringIO('<a v="2"/>'), h)
    return h.k


def expat_handler(x):
    L = []
    q = expat.ParserCreate()
    q.StartElementHandler = lambda n, a: L.append(x * x)
    q.Parse("<a/>", True)
    return L[0]


def insort_c(x):
    L = [0.5]
    bisect.insort(L, x * x)
    return L[1] * 3


def sentinel(x):
    L = []

    def g():
        L.append(x * x)
        return len(L)

    list(iter(g, 3))
    return L[0]


def userlist(x):
    u = collections.UserList([x, x * x])
    return np.sum(np.array(u) * 2.0)


def userlist2(x):
    u = collections.UserList([x, x * x])
    return np.dot(u, [1.0, 2.0])


def seqabc(x):
    class S(collections.abc.Sequence):
        def __getitem__(self, i):
            if i >= 3:
                raise IndexError
            return x * i

        def __len__(self):
            return 3

    return np.sum(np.asarray(S()))


def listsub(x):
    class S(list):
        def __getitem__(self, i):
            return list.__getitem__(self, i) * 2

    return np.sum(np.asarray(S([x, x * x])))


def listsub_iter(x):
    class S(list):
        def __iter__(self):
            return iter([x * x, x])

    return np.sum(np.asarray(S([x, x * x])))


def nested_seq(x):
    u = collections.UserList([x, x * x])
    return np.sum(np.array([u, u]) * 2.0)


def userlist_attr(x):
    u = collections.UserList([x, x * x])
    return np.mean(u) + np.linalg.norm(u) + np.max(u)


def userlist_add(x):
    u = collections.UserList([x, x * x])
    return np.sum(np.ones(2) * u)


def userlist_set(x):
    u = collections.UserList([x, x * x])
    a = np.zeros(2)
    a[:] = u
    return a[1] + a[0]


def pickled(x):
    class C:
        def __reduce__(self):
            LOG.append(x * x)
            return (int, ())

    pickle.dumps(C())
    return LOG[-1]


def copied(x):
    class C:
        def __init__(self, x):
            self.x = x

        def __getstate__(self):
            return {"x": self.x**2}

        def __setstate__(self, s):
            self.x = s["x"] * 3

    return copy.copy(C(x)).x + copy.deepcopy(C(x)).x


def totals(x):
    @functools.total_ordering
    class C:
        def __init__(self, x):
            self.x = x

        def __eq__(self, o):
            return self.x == o.x

        def __lt__(self, o):
            self.k = self.x**2
            return self.x < o.x

    a, b = C(x), C(2 * x)
    r = a >= b
    r2 = max(a, b)
    return a.k + getattr(b, "k", 0.0)


def defdict(x):
    class F:
        def __call__(self):
            self.k = x * x
            return x

    f = F()
    d = collections.defaultdict(f)
    d[1]
    d[2]
    return f.k + d[1]


def ctx(x):
    class C:
        def __enter__(self):
            self.k = x * x
            return self

        def __exit__(self, *a):
            self.l = x * x

    with C() as c:
        pass
    return c.k + c.l


def exitstack(x):
    L = []
    with contextlib.ExitStack() as s:
        s.callback(lambda: L.append(x * x))
    return L[0]


def threadlocal(x):
    l = threading.local()
    l.v = x * x
    return l.v


REFUSED = [
    set_name,
    init_subclass,
    format_map_missing,
    exec_container,
    exec_dict,
    eval_append,
    exec_attr,
    exec_array,
    json_hook,
    json_hook_list,
    nested_seq,
    pickled,
]
PROGRAMS = [
    super_setattr,
    super_setattr_property,
    super_getattribute,
    object_getattribute,
    super_getattr_prop,
    property_subclass,
    property_subclass_plain,
    property_subclass_set,
    metaclass_property,
    metaclass_property_set,
    getattr_fallback,
    set_name,
    init_subclass,
    class_getitem,
    missing,
    missing_attrs,
    format_map_missing,
    exec_container,
    exec_dict,
    eval_append,
    exec_attr,
    exec_array,
    finalizer,
    weak_callback,
    weak_callback_obj,
    dunder_del,
    dunder_del2,
    json_hook,
    json_hook_list,
    json_default,
    json_default_indent,
    re_sub,
    cmp_key,
    sax,
    expat_handler,
    insort_c,
    sentinel,
    userlist,
    userlist2,
    seqabc,
    listsub,
    listsub_iter,
    nested_seq,
    userlist_attr,
    userlist_add,
    userlist_set,
    pickled,
    copied,
    totals,
    defdict,
    ctx,
    exitstack,
    threadlocal,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_stored_behind_the_program_s_back_is_recorded_or_refused(f):
    LOG.clear()
    slope = ridders(lambda t: float(f(1.3 + t)), 0.02)[0]
    LOG.clear()
    if f in REFUSED:
        with pytest.raises(mo.NoDerivative):
            mo.grad(f)(1.3)
    else:
        assert mo.grad(f)(1.3) == pytest.approx(slope)


class Key:
    def __init__(self, x):
        self.x = x

    def __hash__(self):
        self.square = self.x * self.x
        return 7


def hashed(x):
    key = Key(x)
    return {key: 2.0}[key] * key.square


def test_the_error_names_what_was_called_back_and_the_line_that_did_it():
    line = hashed.__code__.co_firstlineno + 2
    with pytest.raises(mo.NoDerivative) as caught:
        mo.grad(hashed)(1.3)
    text = str(caught.value)
    assert (
        "Key.__hash__" in text
        and f"test_behind_the_program.py:{line}" in text
        and "Call it from Python code instead" in text
    )
    assert len(text) < 600


def test_what_is_there_before_c_asks_is_followed():
    """The remedy that the error names."""

    class Lazy:
        def __init__(self, x):
            self.x = x

        def __hash__(self):
            if not hasattr(self, "square"):
                self.square = self.x * self.x
            return 7

    def f(x):
        key = Lazy(x)
        hash(key)
        return {key: 2.0}[key] * key.square

    assert mo.grad(f)(1.5) == pytest.approx(6.0)


def test_a_constant_that_is_stored_and_what_nothing_depends_on_pass():
    class Counted:
        asked = 0

        def __init__(self, x):
            self.x = x

        def __hash__(self):
            Counted.asked += 1
            self.seen = self.x * 2
            return 7

    def f(x):
        key = Counted(x)
        return {key: 2.0}[key] * x * x

    assert mo.grad(f)(1.5) == 6.0
    asked = Counted.asked
    f(1.5)
    assert Counted.asked - asked == asked  # the derivative asks as often as the program


def test_enclosing_derivatives_know_it_too():
    with pytest.raises(mo.NoDerivative, match="Key.__hash__"):
        mo.grad(mo.grad(hashed))(1.3)
    with pytest.raises(mo.NoDerivative, match="Key.__hash__"):
        mo.grad(lambda x: x * mo.grad(lambda y: y * hashed(x))(2.0))(1.3)


def called_after_the_run():
    pass


@pytest.mark.parametrize("kind", ["setprofile", "cProfile", "settrace"])
def test_a_profiler_of_the_user_goes_on(kind):
    events = []

    def look(frame, event, arg):
        events.append(frame.f_code.co_name)

    before = sys.getprofile(), sys.gettrace()
    profiler = cProfile.Profile()
    try:
        if kind == "setprofile":
            sys.setprofile(look)
        elif kind == "cProfile":
            profiler.enable()
        else:
            sys.settrace(look)
        with pytest.raises(mo.NoDerivative, match="Key.__hash__"):
            mo.grad(hashed)(1.3)
        called_after_the_run()
    finally:
        profiler.disable()
        sys.setprofile(before[0])
        sys.settrace(before[1])
    if kind == "cProfile":
        profiler.create_stats()
        events = [name for _, _, name in profiler.stats]
    assert "__hash__" in events and "called_after_the_run" in events


class Mortal:
    gone = []

    def __init__(self, x):
        self.x = x

    def __del__(self):
        Mortal.gone.append(self.x * self.x)


def test_a_class_has_its_own_finalizer_back_after_the_run():
    own = Mortal.__dict__["__del__"]

    def f(x):
        Mortal(x)
        return Mortal.gone[-1] * 2

    assert mo.grad(f)(1.5) == pytest.approx(6.0)
    assert Mortal.__dict__["__del__"] is own
    kept = []

    def keeps(x):
        kept.append(Mortal(x))
        return x * x

    assert mo.grad(keeps)(1.5) == 3.0
    assert Mortal.__dict__["__del__"] is own
    del Mortal.gone[:]
    kept.clear()
    gc.collect()
    assert Mortal.gone == [2.25]
