"""C functions for the hand-written contenders, compiled at the first call into a temporary folder of the process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fno-math-errno", "-fPIC", "-std=gnu11")


@cache
def _library(source: str) -> ctypes.CDLL:
    folder = _folder()
    code = Path(folder.name) / f"{abs(hash(source))}.c"
    code.write_text(source)
    target = code.with_suffix(".so")
    compiler = os.environ.get("CC", "gcc")
    compiled = code.with_suffix(".o")
    subprocess.run([compiler, *FLAGS, "-c", str(code), "-o", str(compiled)], check=True)
    # Linked apart: with -ffast-math, gcc adds code that turns subnormal numbers off in the whole process that loads it.
    subprocess.run([compiler, "-shared", str(compiled), "-o", str(target), "-lmvec", "-lm"], check=True)
    return ctypes.CDLL(str(target))


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="morula-bench-")


def c_function(source: str, name: str, result: Any = None) -> Callable[..., Any]:
    """The function ``name`` of C source: arrays go as pointers to their C-ordered elements, ints as long, floats as double.

    Raises:
        FileNotFoundError: no C compiler (``gcc``, or what the variable CC names).
    """

    def call(*args: Any) -> Any:
        function = getattr(_library(source), name)
        function.restype = result
        return function(*map(_argument, args))

    return call


def _argument(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        assert x.flags.c_contiguous
        return ctypes.c_void_p(x.ctypes.data)
    return ctypes.c_long(x) if isinstance(x, int) else ctypes.c_double(x)
