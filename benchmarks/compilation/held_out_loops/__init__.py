"""Loop programs that are never looked at when tuning: recurrences, sweeps and elimination step by step."""
