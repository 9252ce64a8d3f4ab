from .black_box import BlackBox, FunctionVictim
from .endpoint import Endpoint
from .hugging_face import HuggingFaceClassifier
from .json_service import Http
from .pipeline import Spacy
from .service import Service
from .taggers import HuggingFaceTagger, SpacyTagger

__all__ = [
    "BlackBox",
    "Endpoint",
    "FunctionVictim",
    "Http",
    "HuggingFaceClassifier",
    "HuggingFaceTagger",
    "Service",
    "Spacy",
    "SpacyTagger",
]
