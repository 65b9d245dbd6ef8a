"""Fixtures of programs that are compiled: every test that asks for one runs on each path or target."""

from path_fixtures import check, path, target, value  # noqa: F401
