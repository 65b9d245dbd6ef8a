"""``docs/generality.md`` lists exactly the calls tested here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from thirdparty.harness import packages

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "generality.py"


def test_the_page_lists_every_package_and_call():
    spec = importlib.util.spec_from_file_location("docs_generality", SCRIPT)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text() == script.page(list(packages())), "run: python docs/generality.py"
