"""Files and the built-in sample, as encoded batches."""

import lazy_loader

# Public names are listed in `__init__.pyi` and imported on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
