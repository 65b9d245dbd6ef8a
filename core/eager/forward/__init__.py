"""Forward mode: a tape that computes tangents as each operation runs, and keeps no record of it."""
