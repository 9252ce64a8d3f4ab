from .clustering import clusters
from .exhaustion import Certificate, Exhaustive, Witness
from .recoding import Recoding
from .word_answers import WordAnswers, substitutes_as_read

__all__ = [
    "Certificate",
    "Exhaustive",
    "Recoding",
    "Witness",
    "WordAnswers",
    "clusters",
    "substitutes_as_read",
]
