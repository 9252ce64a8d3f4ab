from .black_box import BlackBox, FunctionVictim
from .pipeline import Spacy

__all__ = ["BlackBox", "FunctionVictim", "Spacy"]
