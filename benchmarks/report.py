"""Common parts of all reports: tables in Markdown, and the machine's name."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np

import morula as mo

Table = list[list[str]]
RESULTS = Path(__file__).resolve().parent / "results"


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    return (
        f"{cpu}, {os.cpu_count()} cores; {platform.system()}; Python {platform.python_version()},"
        f" NumPy {np.__version__}, morula {mo.__version__}"
    )


def markdown(rows: Table) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])
