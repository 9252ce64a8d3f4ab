from .casing import Casing
from .contractions import Contractions
from .perturbation import Perturbation, Rewording, WordPerturbation
from .punctuation import FinalStop, Punctuation
from .spelling import DoubledLetters, KeyboardSlips, Typos

__all__ = [
    "Casing",
    "Contractions",
    "DoubledLetters",
    "FinalStop",
    "KeyboardSlips",
    "Perturbation",
    "Punctuation",
    "Rewording",
    "Typos",
    "WordPerturbation",
]
