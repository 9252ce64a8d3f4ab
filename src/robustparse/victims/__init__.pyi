from .black_box import BlackBox, FunctionVictim
from .endpoint import Endpoint
from .hugging_face import HuggingFaceClassifier
from .json_service import Http
from .pipeline import Spacy
from .service import Service

__all__ = [
    "BlackBox",
    "Endpoint",
    "FunctionVictim",
    "Http",
    "HuggingFaceClassifier",
    "Service",
    "Spacy",
]
