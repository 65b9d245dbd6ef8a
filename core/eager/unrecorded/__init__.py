"""Code that is not recorded: what it is given, what it stores and what it gives back is noticed."""
