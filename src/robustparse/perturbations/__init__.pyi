from .back_translation import BackTranslation, TranslationCommand, TranslationModel, Translator
from .casing import Casing
from .contractions import Contractions
from .entities import EntityReplacement
from .function_words import Deletion, FunctionWordSubstitution, Insertion
from .perturbation import Perturbation, Rewording, WordPerturbation
from .punctuation import FinalStop, Punctuation
from .reordering import Reordering
from .spelling import DoubledLetters, KeyboardSlips, Typos
from .synonyms import WordSubstitution

__all__ = [
    "BackTranslation",
    "Casing",
    "Contractions",
    "Deletion",
    "DoubledLetters",
    "EntityReplacement",
    "FinalStop",
    "FunctionWordSubstitution",
    "Insertion",
    "KeyboardSlips",
    "Perturbation",
    "Punctuation",
    "Reordering",
    "Rewording",
    "TranslationCommand",
    "TranslationModel",
    "Translator",
    "Typos",
    "WordPerturbation",
    "WordSubstitution",
]
