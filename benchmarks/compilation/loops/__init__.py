"""Loop programs: sequential recurrences, element-wise writes, slices with loop bounds, ``while``."""
