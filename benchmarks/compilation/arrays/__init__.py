"""Array programs: whole arrays or planes at a time."""
