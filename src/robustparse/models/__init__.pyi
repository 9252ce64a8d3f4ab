from .base import Model
from .classification.classifier import TextClassifier
from .classification.cnn import WordCNN
from .classification.esim import ESIM
from .classification.infersent import InferSent
from .classification.lstm import WordLSTM
from .classification.pair_encoder import PairEncoderClassifier
from .classification.pairs import PairClassifier
from .classification.pretrained import EncoderClassifier
from .dependency.biaffine import BiaffineParser
from .dependency.stack_pointer import StackPointerParser
from .encoders.base import Encoder
from .encoders.bilstm import LSTMEncoder
from .encoders.canine import CanineEncoder
from .encoders.elmo import ELMoEncoder
from .encoders.normalized import NormalizedLSTMEncoder
from .encoders.transformer import TransformerEncoder
from .encoders.word_embeddings import WordEmbeddings
from .optimization import Optimization
from .semantic.coarse2fine import Coarse2Fine
from .semantic.parser import SemanticParser
from .semantic.seq2seq import Seq2Seq
from .semantic.tranx import TranX
from .tags.tagger import BiLSTMTagger
from .victim import ModelVictim

__all__ = [
    "ESIM",
    "BiLSTMTagger",
    "BiaffineParser",
    "CanineEncoder",
    "Coarse2Fine",
    "ELMoEncoder",
    "Encoder",
    "EncoderClassifier",
    "InferSent",
    "LSTMEncoder",
    "Model",
    "ModelVictim",
    "NormalizedLSTMEncoder",
    "Optimization",
    "PairClassifier",
    "PairEncoderClassifier",
    "SemanticParser",
    "Seq2Seq",
    "StackPointerParser",
    "TextClassifier",
    "TranX",
    "TransformerEncoder",
    "WordCNN",
    "WordEmbeddings",
    "WordLSTM",
]
