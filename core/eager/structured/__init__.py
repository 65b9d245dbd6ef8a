"""Functions whose control flow and types are simple enough to print a forward and a backward sweep as Python."""
