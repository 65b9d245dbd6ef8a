"""Array programs that are never looked at when tuning: whole arrays at a time."""
