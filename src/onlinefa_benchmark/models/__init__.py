"""Models whose posterior or distribution is known, with which estimates are compared."""
