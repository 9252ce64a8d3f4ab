from .api.attack import attack, recipe
from .api.augment import augment
from .api.certify import CertifiedResults, certify
from .api.encode import encode
from .api.evaluate import evaluate, read, sample
from .api.report import report
from .api.results import AttackResults
from .api.share import share
from .api.substitutes import substitutes
from .api.transfer import TransferRates, transfer
from .api.verify import Verification, verify
from .api.worst_of_attacks import worst_of_attacks
from .attacks.substitution_table import SubstitutionTable
from .data.robust_encoding import Encoding
from .models.load import load

__all__ = [
    "AttackResults",
    "CertifiedResults",
    "Encoding",
    "SubstitutionTable",
    "TransferRates",
    "Verification",
    "attack",
    "augment",
    "certify",
    "encode",
    "evaluate",
    "load",
    "read",
    "recipe",
    "report",
    "sample",
    "share",
    "substitutes",
    "transfer",
    "verify",
    "worst_of_attacks",
]

__version__: str
