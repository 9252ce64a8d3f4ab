from .adversary import EmbeddingAdversary
from .fgm import FGM
from .freelb import FreeLB
from .monitor import RobustnessEvaluation
from .perturbed_batch import PerturbedBatch, TrainingPass
from .pgd import PGD
from .substitution import SubstitutionAdversary

__all__ = [
    "FGM",
    "PGD",
    "EmbeddingAdversary",
    "FreeLB",
    "PerturbedBatch",
    "RobustnessEvaluation",
    "SubstitutionAdversary",
    "TrainingPass",
]
