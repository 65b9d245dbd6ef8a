"""Taylor mode: a tape that computes truncated series as each operation runs, and keeps no record of it."""
