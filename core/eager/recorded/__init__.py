"""The tape of a run, and the recorded form of each operation of Python."""
