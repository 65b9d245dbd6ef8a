"""The tape of a run, and what each operation of Python does on it."""
