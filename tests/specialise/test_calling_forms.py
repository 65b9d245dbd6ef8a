"""Each calling form of a NumPy function, compiled, has NumPy's value and gradient, or is refused with a message."""

from __future__ import annotations

import os

import numpy as np
import pytest
from calling_forms import all_forms, compiled_verdict

import morula as mo

EVERY = os.environ.get("MORULA_TEST_FORMS") == "all"
FORMS = all_forms()
PARTS = 100 if EVERY else 1
BY_NAME = {form.name: form for form in FORMS}

ONCE_WRONG = """
np.vecdot(a, b, out=out)  # out: overlapping
np.vecdot(a, b, axis=1, keepdims=True)
np.matvec(a, b, out=out)  # out: overlapping
np.vecmat(a[0], b, out)  # out: strided
np.matmul(a, b, out, dtype=float)  # out: transposed
np.matmul(a, b, dtype=np.float32)
np.less(a, b, out=out, where=MASK)  # out: transposed
np.clip(a, 0.4, 0.6, out=out, where=MASK)  # out: overlapping
np.clip(a, 0.4, 0.6, out, dtype=float)  # out: overlapping
np.logical_and.reduce(a, initial=x[0, 0] * 3)
np.nanvar(a, None, None, None, 1, where=MASK)
np.nanmin(a, 1, None, True)
np.nanmax(a, 1, None, True)
np.arctan2.reduce(a, axis=-1)
np.nanquantile(a, [0.3, 0.8], axis=(0, 1))
a.compress([True, False, True], 0)
""".strip().split("\n")


@pytest.mark.parametrize("name", [name for name in ONCE_WRONG if name in BY_NAME])
def test_forms_that_were_wrong_once(name, target):
    found = compiled_verdict(BY_NAME[name], target)
    assert found is not None and found.kind in ("right", "refused"), found


@pytest.mark.parametrize("part", range(PARTS))
def test_a_sample_of_all_forms(target, part):
    step = 1 if EVERY else 331 if target == "native" else 1009
    found = [v for form in FORMS[::step][part::PARTS] if (v := compiled_verdict(form, target)) is not None]
    assert [(v.form.name, v.kind, v.message) for v in found if v.kind in ("wrong", "crashes")] == []
    refused = [v.message for v in found if v.kind == "refused"]
    assert len(refused) < 0.4 * len(found)


def test_axes_that_compiled_code_does_not_know_are_refused(target):
    f = mo.jit(lambda x: np.sum(np.matmul(x, x, axes=[(1, 0), (0, 1), (0, 1)])), target=target)
    with pytest.raises(mo.BadInput, match=r"np.matmul\(axes=\) cannot be compiled; leave it out"):
        f(np.eye(3))


def test_a_keyword_that_compiled_code_does_not_know_is_refused_in_words(target):
    f = mo.jit(lambda x: np.clip(x, 0.0, 1.0, where=np.array([True, False, True])), target=target)
    with pytest.raises(mo.BadInput, match=r"clip.* got an unexpected keyword argument 'where' when compiled"):
        f(np.ones(3))
