from .fgm import FGM
from .freelb import FreeLB
from .monitor import RobustnessEvaluation
from .pgd import PGD
from .substitution import SubstitutionAdversary

__all__ = ["FGM", "PGD", "FreeLB", "RobustnessEvaluation", "SubstitutionAdversary"]
