"""Native code uses the processor's instruction set, and code for one processor is not run on another."""

from __future__ import annotations

import re

import numpy as np
import pytest

import morula as mo
from morula.core.compilation import targets
from morula.core.emit.native import compile_function, machine, real_functions
from morula.core.ir.evaluate import evaluate

HOST = machine.host()
PROCESSORS = {
    "this one": (HOST, ()),
    "AVX2": (HOST.without("avx512f"), (r"%zmm", r"_ZGVe", r"%k[1-7]\b")),
    "AVX": (HOST.without("avx512f", "avx2"), (r"%zmm", r"_ZGV[ed]")),
    "SSE": (HOST.without("avx512f", "avx2", "avx"), (r"%zmm", r"%ymm", r"_ZGV[ed]")),
}
x86 = pytest.mark.skipif(not HOST.has("sse2"), reason="the registers are those of x86-64")


def functions(x, y):
    """Loops with every function of C that has vector versions."""
    a = np.sin(x) + np.cos(x) * np.exp(-x) + np.log(x) + np.tan(x) + np.expm1(x) + np.log1p(x) + np.log2(x)
    b = np.arctan2(x, y) + np.hypot(x, y) + x**y + np.cbrt(x) + np.sinh(x) + np.cosh(x) + np.tanh(x) + np.exp2(x)
    c = np.arcsin(x / 9) + np.arccos(x / 9) + np.arctan(x) + np.arcsinh(x) + np.arccosh(1 + x) + np.arctanh(x / 9)
    return a * b + c, np.sum(np.where(x > y, a, b) @ y), np.sort(x * y)[::-1]


def in_a_loop(x, y):
    s, z = 0.0, np.zeros(len(x))
    for i in range(len(x)):
        z[i] = np.exp(-x[i]) * y[i] + 1.0
        s += np.sin(z[i])
    return z, np.float64(s), np.argmax(z)


def integers(x, y):
    n = (x * 100).astype(np.int32)
    return n // 7 + n % 5, (n << 2).sum(), np.cumsum(n * n)


def arguments(dtype):
    rng = np.random.default_rng(3)
    return [rng.uniform(0.5, 4.0, 67).astype(dtype) for _ in range(2)]


@pytest.fixture(scope="module")
def programs():
    """The typed functions, their arguments, and what they give run by NumPy."""
    found = []
    for f in (functions, in_a_loop, integers, mo.grad(lambda x, y: np.sum(functions(x, y)[0]))):
        for dtype in (np.float64, np.float32):
            given = arguments(dtype)
            function = mo.jit(f, target="native").lower(*given).compilation.function
            found.append((function, given, evaluate(function, given)))
    return found


def check(program, given, expected):
    for a, b in zip(program(given), expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        tolerance = 200 * np.finfo(given[0].dtype).eps if b.dtype.kind == "f" else 0
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.max(np.abs(b)))


@x86
@pytest.mark.parametrize("name", PROCESSORS)
def test_code_for_a_processor_uses_only_what_it_has(name, programs):
    processor, absent = PROCESSORS[name]
    for function, given, expected in programs:
        compiled = compile_function(function, processor=processor)
        text = machine.assembly(compiled.llvm_text, processor)
        for pattern in absent:
            assert re.search(pattern, text) is None, pattern
            assert re.search(pattern, compiled.llvm_text) is None, pattern
        check(compiled, given, expected)


@x86
def test_the_widest_versions_are_used_where_the_processor_has_them(programs):
    if real_functions._vector_library() is None:
        pytest.fail("this C library has no vector versions of its functions: nothing has been tested")
    texts = [compile_function(function, processor=PROCESSORS["AVX2"][0]).llvm_text for function, *_ in programs[:4]]
    assert "_ZGVdN4v_sin" in texts[0] and "_ZGVdN8v_sinf" in texts[1]


def test_a_c_library_without_vector_versions(programs, monkeypatch):
    monkeypatch.setattr(real_functions, "_vector_library", lambda: None)
    for function, given, expected in programs:
        compiled = compile_function(function)
        assert "_ZGV" not in compiled.llvm_text
        check(compiled, given, expected)


def test_code_that_was_kept_is_not_run_on_another_processor(tmp_path, monkeypatch, programs):
    monkeypatch.setenv("MORULA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("MORULA_CACHE", raising=False)
    function, given, expected = programs[0]
    kept = targets.compile_for("native", function, True).to_bytes()
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setattr(machine, "host", lambda: PROCESSORS["SSE"][0])
    with pytest.raises(mo.BadInput, match="another processor"):
        type(compile_function(function)).from_bytes(kept)
    compiled = targets.compile_for("native", function, True)
    assert "_ZGVd" not in compiled.llvm_text and "_ZGVe" not in compiled.llvm_text
    check(compiled, given, expected)
    assert files < {path.name for path in tmp_path.rglob("*") if path.is_file()}


@x86
def test_a_hyperbolic_tangent_that_steers_a_branch_uses_vector_versions_and_one_that_is_fused_does_not():
    """NumPy's own tanh rounds in another way than any version here; a value in memory is the same wherever it is read."""

    def steered(x):
        y = np.tanh(x)
        return y @ x if np.sum(y) > 0.0 else -y @ x

    def steered_by_exponential(x):
        y = np.exp(x)
        return y @ x if np.sum(y) > 9.0 else -y @ x

    x = np.linspace(-1.0, 2.0, 9)
    texts = {}
    for f in (steered, steered_by_exponential):
        function = mo.jit(f, target="native").lower(x).compilation.function
        texts[f.__name__] = compile_function(function, processor=PROCESSORS["AVX2"][0]).llvm_text
        assert np.isclose(mo.jit(f, target="native")(x), f(x), rtol=1e-14)
    assert "_ZGVdN4v_tanh" in texts["steered"] and "_ZGVdN4v_exp" not in texts["steered_by_exponential"]
