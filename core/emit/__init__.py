"""IR -> code: one file for each target."""
