"""Operations that reword sentences and keep what they mean, as surface noise.

Public names are listed in ``__init__.pyi`` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
