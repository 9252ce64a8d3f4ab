"""Constraints: which words may be changed, and which candidates are accepted."""
