"""The derivatives in PyTorch, by module and name."""
