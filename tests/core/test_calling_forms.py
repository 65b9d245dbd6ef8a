"""Each calling form of a NumPy function gives the right gradient, a clear refusal, or NumPy's exception.

``calling_forms`` generates about 18,000 forms from the signatures.  The tests run a sample of them, or all with
``MORULA_TEST_FORMS=all`` in the environment.
"""

from __future__ import annotations

import os
from collections import defaultdict

import numpy as np
import pytest
from calling_forms import Form, all_forms, verdict

import morula as mo

EVERY = os.environ.get("MORULA_TEST_FORMS") == "all"
STEP = 1 if EVERY else 47  # prime, so that the sample covers every way of passing an argument

GROUPS: dict[str, list[Form]] = defaultdict(list)
for _form in all_forms()[::STEP]:
    _name = _form.callee.text
    GROUPS[_name if EVERY else _name.rpartition(".")[0] or _name].append(_form)


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "structured"])
@pytest.mark.parametrize("group", GROUPS)
def test_every_form_is_right_or_refused_or_raises_as_in_numpy(group, recorded):
    found = [v for form in GROUPS[group] if (v := verdict(form, recorded)) is not None]
    assert [(v.form.name, v.kind, v.message) for v in found if v.kind in ("wrong", "crashes")] == []
    refused = [v for v in found if v.kind == "refused"]
    words = ("no derivative", "no known derivative", "in the memory of an argument")
    assert [v for v in refused if not any(w in v.message for w in words)] == []
    assert len(refused) <= 0.1 * len(found) + 10


ONCE_WRONG = """
np.add(a, b, out, where=MASK)  # out: itself
np.add(a, b, out, where=MASK)  # out: new
np.modf(a, None, out, where=MASK)  # out: strided
np.divmod(a, b, None, out, dtype=float)  # out: itself
np.frexp(a, None, out)  # out: new
np.frexp(a, casting='no')
np.absolute(a, dtype=float)
np.maximum(a, b, dtype=np.float32)
np.clip(a, 0.4, 0.6, out)  # out: itself
np.clip(a, 0.4, 0.6, out=out, where=MASK)  # out: overlapping
np.clip(a=a, a_min=0.4, a_max=0.6, max=0.6)
a.clip(0.4, None, out)  # out: itself
a.clip(0.4, where=MASK)
a.all(1, None, out)  # out: new
a.sort(None)
np.percentile(a, [30.0, 80.0], 1, out)  # out: new
np.nanpercentile(a, 30.0, 1, out)  # out: itself
np.fix(a, out)  # out: itself
np.isneginf(a, out)  # out: itself
np.subtract.reduce(a, 0, None, out)  # out: new
np.subtract.reduce(a, axis=1, keepdims=True)
np.hypot.reduce(a, initial=0.9, where=MASK)
np.hypot.reduce(a, 0, None, None, False, None, True)
np.maximum.accumulate(a, 0, None, out)  # out: itself
np.logaddexp.reduceat(a, [0, 2], 0, None, out)  # out: new
np.add.accumulate(a, None)
np.logical_and.reduce(a, 0, complex)
np.vecdot(a, b, axis=1, keepdims=True)
np.fft.hfft(a, 2, -1, None, out)  # out: new
np.fft.ifft2(a, None, (0, 1), None, out)  # out: new
np.dot(a, b, out)  # out: strided
np.stack(arrays=[a, b])
np.hstack(tup=(a, b))
np.stack([a, b], 0, out, dtype=float)  # out: new
""".strip().split("\n")


@pytest.mark.parametrize("name", ONCE_WRONG)
def test_forms_that_were_wrong_once(name):
    form = FORMS[name]
    for recorded in (True, False):
        found = verdict(form, recorded)
        assert found is None or found.kind in ("right", "raises", "refused"), found


FORMS = {form.name: form for form in all_forms()}


def test_a_result_in_the_memory_of_an_argument_that_is_still_read_is_refused():
    def program(x):
        a = x * 1.0
        np.percentile(a, [20.0, 50.0, 80.0], 0, a, overwrite_input=False)
        return np.sum(a)

    def apart(x):
        a = x * 1.0
        np.equal(a, a + 0.0, out=a[::-1], where=np.array([True, False, True]))
        return np.sum(a)

    x = np.array([[0.3, 0.9, 0.2], [0.4, 0.6, 0.5], [0.7, 0.1, 0.8]])
    np.testing.assert_allclose(
        mo.grad(program)(x), mo.grad(lambda x: np.sum(np.percentile(x, [20.0, 50.0, 80.0], 0)))(x)
    )
    with pytest.raises(
        mo.NoDerivative,
        match=r"equal with out= in the memory of an argument .* pass a separate array",
    ):
        mo.grad(apart)(x[0])


def test_memory_of_another_dtype_is_converted_to():
    def program(x):
        single = np.zeros(3, np.float32)
        np.maximum(x, 0.5, out=single)
        np.sum(np.stack([x, single]), axis=0, out=single, dtype=np.float32)
        return np.sum(single * x)

    x = np.array([0.25, 0.75, 1.5])
    np.testing.assert_allclose(mo.grad(program)(x), [0.5 + 2 * 0.25, 4 * 0.75, 4 * 1.5], rtol=1e-6)


def test_an_element_that_is_left_alone_is_not_computed():
    def program(x):
        out = np.zeros(3)
        with np.errstate(all="raise"):
            np.log(x, out=out, where=x > 0)
        return np.sum(out)

    assert mo.grad(program)(np.array([0.5, -1.0, 2.0])).tolist() == [2.0, 0.0, 0.5]
