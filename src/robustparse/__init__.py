"""robustparse: neural parsers that stay right when their input is perturbed."""

import lazy_loader

__version__ = "0.1.0"

# Public names are listed in `__init__.pyi` and imported on first use: torch takes a second, which
# the command's help need not wait for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
