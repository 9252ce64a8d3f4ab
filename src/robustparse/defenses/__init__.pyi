from .adversary import EmbeddingAdversary
from .ascc import ASCC
from .certified_evaluation import CertifiedEvaluation
from .concatenation import Concatenation
from .copying import CopyingAdversary
from .embedding_layer import EmbeddingLayer
from .fgm import FGM
from .freelb import FreeLB
from .perturbation import PerturbationAdversary
from .perturbed_batch import PerturbedBatch, TrainingPass
from .pgd import PGD
from .robustness_evaluation import RobustnessEvaluation
from .substitution import SubstitutionAdversary

__all__ = [
    "ASCC",
    "FGM",
    "PGD",
    "CertifiedEvaluation",
    "Concatenation",
    "CopyingAdversary",
    "EmbeddingAdversary",
    "EmbeddingLayer",
    "FreeLB",
    "PerturbationAdversary",
    "PerturbedBatch",
    "RobustnessEvaluation",
    "SubstitutionAdversary",
    "TrainingPass",
]
