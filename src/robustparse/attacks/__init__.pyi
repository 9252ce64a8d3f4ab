from .attack import Attack
from .candidates.cache import CachedCandidates
from .candidates.characters import CharacterEdits, CharacterVariant
from .candidates.entity_words import EntityWords
from .candidates.generator import CandidateGenerator, Merged, Slot
from .candidates.imperceptible import ImperceptibleEdits
from .candidates.inflections import Inflections
from .candidates.lexicon import Lexicon
from .candidates.masked_lm import MaskedInsertion, MaskedLM, MaskedMerge
from .candidates.named_entities import ContractedForms, NamedEntities
from .candidates.neighbours import EmbeddingNeighbours
from .candidates.omission import Omission
from .candidates.one_of import OneOf
from .candidates.sememes import Sememes
from .candidates.similar_characters import Homoglyphs, KeyboardNeighbours
from .candidates.table import TableCandidates
from .candidates.training_words import TrainingWords
from .candidates.union import Union
from .candidates.unmasked_lm import UnmaskedLM
from .candidates.vocabulary import VocabularyWords
from .candidates.word_splits import WordSplits
from .candidates.wordnet import WordNetSynonyms
from .constraints.bert_score import BERTScore
from .constraints.constraint import Constraint
from .constraints.edits import EditBudget, LevenshteinDistance, Repeat
from .constraints.grammar import GrammarChecker, GrammarErrors, LanguageTool
from .constraints.language_model import LanguageModel, LanguageModelPerplexity, PerplexityRise
from .constraints.link_grammar import LinkGrammar
from .constraints.overlap import BLEU, ChrF
from .constraints.references import ReferenceParsers
from .constraints.sentence_constraint import Edit, SentenceConstraint
from .constraints.similarity import (
    SentenceSimilarity,
    TextSimilarity,
    ThoughtVectors,
    VectorSimilarity,
)
from .constraints.tagging.current_tag import CurrentTag
from .constraints.tagging.perceptron import PerceptronTags
from .constraints.tagging.pipeline_tag import PipelineTag
from .constraints.tagging.same_tag import DictionaryTag, TaggerTag
from .constraints.tagging.tags import AttackableTags, ForbiddenTags
from .constraints.vector_cosine import WordVectorCosine
from .constraints.words import (
    ForbiddenRelations,
    MinimumLength,
    ProtectedPositions,
    ProtectedSpans,
    SeenInTraining,
    Slots,
    StopWordCandidates,
    StopWords,
)
from .goals.attachment import AttachmentDrop, TreeGoal
from .goals.goal import Goal, Verdict
from .goals.input_reduction import InputReduction
from .goals.label_flip import LabelFlip
from .goals.non_overlapping import NonOverlappingOutput
from .goals.phrases import PhraseDrop
from .goals.tag_errors import TagErrors
from .goals.targets import TargetedArc, TargetedSubtree
from .goals.wrong_form import WrongForm
from .problem import Problem
from .results import AttackResult
from .search.beam import Beam, Greedy
from .search.deepwordbug import DeepWordBug
from .search.differential_evolution import DifferentialEvolution
from .search.genetic import Genetic, ImprovedGenetic
from .search.gradient_substitution import NearestCharacter, NearestWord, Substitution
from .search.hard_label import HardLabel
from .search.hotflip import HotFlip
from .search.importance import PWWS, GreedyByImportance
from .search.leap import LEAP
from .search.particle_swarm import ParticleSwarm
from .search.random_substitution import RandomSubstitution
from .search.rankings import (
    DeletedWord,
    GradientNorm,
    RandomOrder,
    Ranking,
    TemporalScore,
    TextOrder,
    UnknownWord,
    WeightedSaliency,
)
from .search.requests import (
    Answer,
    Check,
    Compare,
    Expand,
    Gradient,
    Predict,
    Propose,
    Score,
    Search,
    Searching,
)
from .search.wang2021 import Wang2021
from .search.zheng2020 import Zheng2020
from .search.zheng2020_phrase import PhraseBlackBox, PhraseWhiteBox
from .search.zheng2020_whitebox import Zheng2020WhiteBox
from .victim import Victim

__all__ = [
    "BLEU",
    "LEAP",
    "PWWS",
    "Answer",
    "AttachmentDrop",
    "Attack",
    "AttackResult",
    "AttackableTags",
    "BERTScore",
    "Beam",
    "CachedCandidates",
    "CandidateGenerator",
    "CharacterEdits",
    "CharacterVariant",
    "Check",
    "ChrF",
    "Compare",
    "Constraint",
    "ContractedForms",
    "CurrentTag",
    "DeepWordBug",
    "DeletedWord",
    "DictionaryTag",
    "DifferentialEvolution",
    "Edit",
    "EditBudget",
    "EmbeddingNeighbours",
    "EntityWords",
    "Expand",
    "ForbiddenRelations",
    "ForbiddenTags",
    "Genetic",
    "Goal",
    "Gradient",
    "GradientNorm",
    "GrammarChecker",
    "GrammarErrors",
    "Greedy",
    "GreedyByImportance",
    "HardLabel",
    "Homoglyphs",
    "HotFlip",
    "ImperceptibleEdits",
    "ImprovedGenetic",
    "Inflections",
    "InputReduction",
    "KeyboardNeighbours",
    "LabelFlip",
    "LanguageModel",
    "LanguageModelPerplexity",
    "LanguageTool",
    "LevenshteinDistance",
    "Lexicon",
    "LinkGrammar",
    "MaskedInsertion",
    "MaskedLM",
    "MaskedMerge",
    "Merged",
    "MinimumLength",
    "NamedEntities",
    "NearestCharacter",
    "NearestWord",
    "NonOverlappingOutput",
    "Omission",
    "OneOf",
    "ParticleSwarm",
    "PerceptronTags",
    "PerplexityRise",
    "PhraseBlackBox",
    "PhraseDrop",
    "PhraseWhiteBox",
    "PipelineTag",
    "Predict",
    "Problem",
    "Propose",
    "ProtectedPositions",
    "ProtectedSpans",
    "RandomOrder",
    "RandomSubstitution",
    "Ranking",
    "ReferenceParsers",
    "Repeat",
    "Score",
    "Search",
    "Searching",
    "SeenInTraining",
    "Sememes",
    "SentenceConstraint",
    "SentenceSimilarity",
    "Slot",
    "Slots",
    "StopWordCandidates",
    "StopWords",
    "Substitution",
    "TableCandidates",
    "TagErrors",
    "TaggerTag",
    "TargetedArc",
    "TargetedSubtree",
    "TemporalScore",
    "TextOrder",
    "TextSimilarity",
    "ThoughtVectors",
    "TrainingWords",
    "TreeGoal",
    "Union",
    "UnknownWord",
    "UnmaskedLM",
    "VectorSimilarity",
    "Verdict",
    "Victim",
    "VocabularyWords",
    "Wang2021",
    "WeightedSaliency",
    "WordNetSynonyms",
    "WordSplits",
    "WordVectorCosine",
    "WrongForm",
    "Zheng2020",
    "Zheng2020WhiteBox",
]
