"""Each way to read a mapping, of each kind of mapping."""

import collections
import types

import pytest

import morula as mo

READ_AS_A_MAPPING = {
    "dict": lambda p: dict(p),
    "dict with a keyword": lambda p: dict(p, z=1.0),
    "update": lambda p: (d := {}, d.update(p))[0],
    "a display": lambda p: {**p},
    "or": lambda p: {} | p,
    "or, reflected": lambda p: p | {},
    "keywords": lambda p: (lambda **kwargs: kwargs)(**p),
    "OrderedDict": lambda p: collections.OrderedDict(p),
    "defaultdict": lambda p: collections.defaultdict(list, p),
    "Counter": lambda p: collections.Counter(p),
    "ChainMap": lambda p: dict(collections.ChainMap(p)),
    "UserDict": lambda p: dict(collections.UserDict(p)),
    "the attributes of a class": lambda p: {"k": dict(vars(type("T", (), dict(p))))["k"]},
}
MAPPINGS = {
    "dict": dict,
    "mappingproxy": lambda d: types.MappingProxyType(dict(d)),
    "OrderedDict": collections.OrderedDict,
    "UserDict": collections.UserDict,
    "ChainMap": lambda d: collections.ChainMap(dict(d)),
}


@pytest.mark.parametrize("kind", MAPPINGS)
@pytest.mark.parametrize("form", READ_AS_A_MAPPING)
def test_what_reads_a_mapping(form, kind):
    def f(x):
        return READ_AS_A_MAPPING[form](MAPPINGS[kind]({"k": x * x}))["k"] * x

    assert mo.grad(f)(2.0) == 12.0
