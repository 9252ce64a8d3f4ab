from .black_box import BlackBox, FunctionVictim
from .endpoint import Endpoint
from .hugging_face import HuggingFaceClassifier, HuggingFaceTagger
from .json_service import Http
from .service import Service
from .spacy_pipelines import Spacy, SpacyTagger

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
