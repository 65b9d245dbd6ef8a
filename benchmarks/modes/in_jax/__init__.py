"""The derivatives in JAX, by module and name."""
