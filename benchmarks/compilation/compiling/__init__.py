"""Programs to measure the time to compile, and to call a compiled program."""
