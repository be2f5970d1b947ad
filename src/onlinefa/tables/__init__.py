"""Tables: each reads one summary and fits nothing."""

FORMATS = ("csv", "md", "tex")
