"""Programs that tell what the way back needs to be kept."""
