"""Programs for the table of modes: a recurrence of numbers, whole arrays, the steps of an ODE."""
