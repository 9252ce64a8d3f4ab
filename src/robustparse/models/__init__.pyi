from .base import Model
from .dependency.biaffine import BiaffineParser
from .encoders.base import Encoder
from .encoders.bilstm import LSTMEncoder
from .encoders.normalized import NormalizedLSTMEncoder
from .encoders.transformer import TransformerEncoder
from .optimization import Optimization
from .victim import ModelVictim

__all__ = [
    "BiaffineParser",
    "Encoder",
    "LSTMEncoder",
    "Model",
    "ModelVictim",
    "NormalizedLSTMEncoder",
    "Optimization",
    "TransformerEncoder",
]
