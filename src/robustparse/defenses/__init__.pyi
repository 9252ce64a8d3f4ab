from .adversary import EmbeddingAdversary
from .copying import CopyingAdversary
from .fgm import FGM
from .freelb import FreeLB
from .monitor import RobustnessEvaluation
from .perturbation import PerturbationAdversary
from .perturbed_batch import PerturbedBatch, TrainingPass
from .pgd import PGD
from .substitution import SubstitutionAdversary

__all__ = [
    "FGM",
    "PGD",
    "CopyingAdversary",
    "EmbeddingAdversary",
    "FreeLB",
    "PerturbationAdversary",
    "PerturbedBatch",
    "RobustnessEvaluation",
    "SubstitutionAdversary",
    "TrainingPass",
]
