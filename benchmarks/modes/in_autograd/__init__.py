"""The derivatives in autograd, by module and name."""

from __future__ import annotations

from typing import Any

import autograd

make_jvp: Any = autograd.make_jvp
"""Its annotations do not fit how it is called: ``make_jvp(f)(x)(v)``."""
