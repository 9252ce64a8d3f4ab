"""The unmodified parser of a spaCy pipeline, applied to tokenised sentences."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from robustparse.errors import InputError, optional_library
from robustparse.types import DependencyTree
from robustparse.victims.black_box import BlackBox, Texts


class Spacy(BlackBox):
    """A spaCy pipeline with a parser, on the CPU.

    The tokenisation is kept, and a text is one sentence. spaCy's label ``ROOT`` becomes ``root``,
    as in Universal Dependencies. The other labels of its English pipelines follow another scheme,
    so that only unlabelled scores are meaningful on such a treebank.

    Args:
        model: a pipeline's name or folder, as ``en_core_web_sm``.
        training: a file of its training sentences; see `BlackBox`.
        batch_texts: largest number of sentences in one call.
    """

    def __init__(self, model: str, *, training: str | None = None, batch_texts: int = 256) -> None:
        super().__init__(batch_texts=batch_texts)
        self.model = model
        self.training = [] if training is None else self.task.files.read(training)

    @property
    def name(self) -> str:
        """The class's name and the pipeline's."""
        return f"Spacy {self.model}"

    def answer(self, texts: Texts) -> list[DependencyTree]:
        """Parse sentences; a token that is its own head is the root."""
        pipeline, doc = self._pipeline
        # Only the first word begins a sentence.
        starts = [[index == 0 for index in range(len(words))] for words in texts]
        docs = [
            doc(pipeline.vocab, words=words, sent_starts=flags)
            for words, flags in zip(texts, starts, strict=True)
        ]
        return [
            DependencyTree(
                tuple(0 if token.head.i == token.i else token.head.i + 1 for token in parsed),
                tuple("root" if token.dep_ == "ROOT" else token.dep_ for token in parsed),
            )
            for parsed in pipeline.pipe(docs)
        ]

    @cached_property
    def _pipeline(self) -> tuple[Any, type[Any]]:
        """The pipeline and the class of its documents."""
        return loaded_pipeline(self.model, ("parser",))


def loaded_pipeline(model: str, components: Sequence[str]) -> tuple[Any, type[Any]]:
    """Load a pipeline; return it and the class of its documents.

    Args:
        model: the name or folder of the pipeline.
        components: the names of components of which it must have one.

    Raises:
        InputError: spaCy is missing, or cannot load the pipeline, or it has none of the components.
    """
    remedy = "run `pip install robustparse[spacy]`"
    library = optional_library("spacy", "victim: model", remedy)
    try:
        pipeline = library.load(model)
    except Exception as error:  # spaCy raises its own types for pipelines that it cannot load
        raise InputError(
            f"spaCy cannot load {model!r} ({' '.join(str(error).split())[:120]})",
            key="victim: model",
            remedy=f"run `python -m spacy download {model}`, or give a pipeline's folder",
        ) from error
    if not set(components) & set(pipeline.pipe_names):
        needed = " or ".join(components)
        problem = f"{model!r} has no {needed}, only {', '.join(pipeline.pipe_names)}"
        raise InputError(problem, key="victim: model", expected=f"a pipeline with a {needed}")
    return pipeline, library.tokens.Doc
