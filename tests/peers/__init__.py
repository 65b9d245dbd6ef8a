"""Test suites of peers, run against morula through a thin shim: ``make test-peers``."""
