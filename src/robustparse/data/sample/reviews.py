"""A stand-in: nothing yet."""
