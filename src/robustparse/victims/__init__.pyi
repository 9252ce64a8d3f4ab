from .black_box import BlackBox, FunctionVictim
from .hugging_face import HuggingFaceClassifier
from .pipeline import Spacy

__all__ = ["BlackBox", "FunctionVictim", "HuggingFaceClassifier", "Spacy"]
