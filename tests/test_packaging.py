"""Build and installation: one distribution, one import name, with all packages."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("core", "ode", "linalg", "optim", "physics", "ml", "symbolic", "foreign")

# One worker runs these, so that the distribution is built once.
pytestmark = pytest.mark.xdist_group("packaging")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    # Without PYTHONPATH, so that what is imported is what was installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel made from it, as an installer does that has only the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run("-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site-packages")
    run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target, wheel)
    return target


def test_the_wheel_holds_every_source_file_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    face = {f"morula/{path.name}" for path in (ROOT / "src" / "morula").iterdir() if path.is_file()}
    code = {f"morula/{p.relative_to(ROOT).as_posix()}" for folder in PACKAGES for p in (ROOT / folder).rglob("*.py")}
    assert face | code <= names
    assert "morula/py.typed" in names
    assert all(name.startswith("morula/") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_wheel_made_from_the_checkout_is_the_one_made_from_the_sdist(wheel, tmp_path):
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT)
    (direct,) = tmp_path.glob("*.whl")
    assert sorted(zipfile.ZipFile(direct).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())


def test_the_sdist_holds_what_a_packager_needs(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "tests/conftest.py", "tests/test_packaging.py"}
    assert needed <= names


def test_the_metadata_says_what_is_needed(wheel):
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (archive.read(n).decode() for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    required = {
        line.removeprefix("Requires-Dist: ")
        for line in metadata.splitlines()
        if line.startswith("Requires-Dist: ") and "extra ==" not in line
    }
    assert {requirement.split(">=")[0] for requirement in required} == {"llvmlite", "numpy", "scipy", "tqdm"}
    assert "Requires-Python: >=3.11" in metadata
    assert "License-Expression: MIT" in metadata


def test_nothing_generic_lands_in_site_packages(installed):
    names = {path.name for path in installed.iterdir()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"morula"}


def test_the_installed_package_imports_and_differentiates(installed, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import sys
sys.path.insert(0, {str(installed)!r})
import morula as mo
from morula import core, linalg, ml, ode, optim, physics, testing

def cube(x):
    return x * x * x

assert mo.gradient(cube, 2.0) == (12.0,)
print(mo.__file__, mo.__version__, *(m.__file__ for m in (core, linalg, ml, ode, optim, physics, testing)))
"""
    )
    files = run("-P", program, cwd=tmp_path).split()
    version = files.pop(1)
    assert all(Path(file).is_relative_to(installed) for file in files)
    assert (installed / f"morula-{version}.dist-info").is_dir()
