"""Fixtures for compiled programs: a test that uses one runs on each path or target."""

from path_fixtures import check, path, target, value  # noqa: F401
