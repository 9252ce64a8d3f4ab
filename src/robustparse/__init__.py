"""robustparse: neural parsers that stay right when their input is perturbed."""

__version__ = "0.1.0"
