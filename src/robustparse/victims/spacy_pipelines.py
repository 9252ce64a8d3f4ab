"""Unmodified parsers and taggers of spaCy pipelines, applied to tokenised sentences."""

import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, get_args

from robustparse.data.tags.schemes import OUTSIDE
from robustparse.errors import InputError, check_choice, optional_library
from robustparse.types import DependencyTree, TagSequence
from robustparse.victims.black_box import BlackBox, Texts

Answers = Literal["ner", "tag", "pos"]

_POS = re.compile(r"\bPOS=(\w+)")  # in labels such as Number=Sing|POS=NOUN
# The components of which a tagger must have one.
_COMPONENTS = {"ner": ("ner",), "tag": ("tagger",), "pos": ("morphologizer", "tagger")}


class SpacyPipeline(BlackBox):
    """A spaCy pipeline on the CPU, which keeps the words as they are; a text is one sentence."""

    def __init__(self, task: str, model: str, training: str | None, batch_texts: int) -> None:
        super().__init__(task, batch_texts=batch_texts)
        self.model = model
        self.training = [] if training is None else self.task.files.read(training)

    @property
    def name(self) -> str:
        """The class's name and the pipeline's."""
        return f"{type(self).__name__} {self.model}"

    @property
    @abstractmethod
    def components(self) -> Sequence[str]:
        """The names of components of which the pipeline must have one."""

    @property
    def answerable(self) -> list[str] | None:
        """The labels of the component that answers, or None if it names no such labels."""
        pipeline, _ = self._loaded
        name = next(name for name in self.components if name in pipeline.pipe_names)
        labels = pipeline.get_pipe(name).labels
        return self.names_of(name, labels) if labels else None  # of rules, such as a lookup

    @abstractmethod
    def names_of(self, component: str, labels: Sequence[str]) -> list[str] | None:
        """Return the names that answers have for the labels of a component."""

    def processed(self, texts: Texts) -> Iterator[Any]:
        """Yield the document that the pipeline makes of each text."""
        pipeline, doc = self._loaded
        return iter(
            pipeline.pipe(
                # Only the first word begins a sentence.
                doc(pipeline.vocab, words=words, sent_starts=[at == 0 for at in range(len(words))])
                for words in texts
            )
        )

    @cached_property
    def _loaded(self) -> tuple[Any, type[Any]]:
        """The pipeline and the class of its documents.

        Raises:
            InputError: spaCy is missing, or cannot load the pipeline, or it has none of the
                components.
        """
        remedy = "run `pip install robustparse[spacy]`"
        library = optional_library("spacy", "victim: model", remedy)
        try:
            pipeline = library.load(os.path.expanduser(self.model))  # noqa: PTH111 - or a name
        except Exception as error:  # spaCy raises its own types for pipelines that it cannot load
            raise InputError(
                f"spaCy cannot load {self.model!r} ({' '.join(str(error).split())[:120]})",
                key="victim: model",
                remedy=f"run `python -m spacy download {self.model}`, or give a pipeline's folder",
            ) from error
        if not set(self.components) & set(pipeline.pipe_names):
            needed = " or ".join(self.components)
            problem = f"{self.model!r} has no {needed}, only {', '.join(pipeline.pipe_names)}"
            raise InputError(problem, key="victim: model", expected=f"a pipeline with {needed}")
        return pipeline, library.tokens.Doc


class Spacy(SpacyPipeline):
    """A spaCy pipeline with a parser, on the CPU.

    The words are kept as they are, and a text is one sentence. spaCy's label ``ROOT`` becomes
    ``root``, as in Universal Dependencies. The other labels of its English pipelines follow another
    scheme, so that only unlabelled scores are meaningful on such a treebank.

    Args:
        model: a pipeline's name or folder, such as ``en_core_web_sm``.
        training: a file of its training sentences; see `BlackBox`.
        batch_texts: largest number of sentences in one call.
    """

    components = ("parser",)

    def __init__(self, model: str, *, training: str | None = None, batch_texts: int = 256) -> None:
        super().__init__("dependency", model, training, batch_texts)

    def names_of(self, component: str, labels: Sequence[str]) -> list[str]:
        """See `SpacyPipeline.names_of`."""
        return list(map(_relation, labels))

    def answer(self, texts: Texts) -> list[DependencyTree]:
        """Parse sentences; a token that is its own head is the root."""
        return [
            DependencyTree(
                tuple(0 if token.head.i == token.i else token.head.i + 1 for token in parsed),
                tuple(_relation(token.dep_) for token in parsed),
            )
            for parsed in self.processed(texts)
        ]


class SpacyTagger(SpacyPipeline):
    """A spaCy pipeline with an entity recogniser or a tagger, on the CPU.

    The words are kept as they are, and a text is one sentence.

    Args:
        model: a pipeline's name or folder, such as ``en_core_web_sm``.
        answers: ``ner`` takes entities as BIO, ``tag`` fine-grained tags (Penn tags in English),
            ``pos`` universal tags.
        training: a file of its training sentences; see `BlackBox`.
        batch_texts: largest number of sentences in one call.

    Raises:
        InputError: the pipeline cannot be loaded or has no such component.
    """

    def __init__(
        self,
        model: str,
        *,
        answers: Answers = "ner",
        training: str | None = None,
        batch_texts: int = 256,
    ) -> None:
        super().__init__("tags", model, training, batch_texts)
        check_choice("victim: answers", answers, get_args(Answers))
        self.kind = answers

    @property
    def components(self) -> Sequence[str]:
        """The names of the components that give these answers."""
        return _COMPONENTS[self.kind]

    def names_of(self, component: str, labels: Sequence[str]) -> list[str] | None:
        """See `SpacyPipeline.names_of`; rules that turn tags into universal tags name none."""
        if self.kind == "ner":
            return [OUTSIDE, *(f"{prefix}-{label}" for label in labels for prefix in "BI")]
        if self.kind == "tag":
            return list(labels)
        if component != "morphologizer":
            return None
        return sorted({"_", *(tag for label in labels for tag in _POS.findall(label))})

    def answer(self, texts: Texts) -> list[TagSequence]:
        """Tag sentences."""
        return [TagSequence(tuple(map(self._tag, tagged))) for tagged in self.processed(texts)]

    def _tag(self, token: Any) -> str:
        if self.kind == "ner":
            inside = token.ent_iob_ in ("B", "I")
            return f"{token.ent_iob_}-{token.ent_type_}" if inside else OUTSIDE
        return str(token.tag_ if self.kind == "tag" else token.pos_) or "_"


def _relation(label: str) -> str:
    return "root" if label == "ROOT" else label
