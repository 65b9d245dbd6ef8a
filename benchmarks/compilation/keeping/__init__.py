"""Programs to measure the memory of residuals."""
