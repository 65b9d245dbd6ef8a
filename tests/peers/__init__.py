"""Suites that were written for peers, run against morula by a thin shim: ``make test-peers``."""
