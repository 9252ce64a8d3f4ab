from .adversary import EmbeddingAdversary
from .copies.concatenation import Concatenation
from .copies.copying import CopyingAdversary
from .copies.perturbation import PerturbationAdversary
from .copies.substitution import SubstitutionAdversary
from .fgm import FGM
from .freelb import FreeLB
from .monitor import RobustnessEvaluation
from .perturbed_batch import PerturbedBatch, TrainingPass
from .pgd import PGD

__all__ = [
    "FGM",
    "PGD",
    "Concatenation",
    "CopyingAdversary",
    "EmbeddingAdversary",
    "FreeLB",
    "PerturbationAdversary",
    "PerturbedBatch",
    "RobustnessEvaluation",
    "SubstitutionAdversary",
    "TrainingPass",
]
