"""Tags for sentences whose file has none, by a tagger of other people's: ``--tagger``.

Parts of an attack that go by tags otherwise refuse texts and utterances. A task says what a tagger
reads: of an utterance with stems and slots, the raw text that it was made of.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Protocol, cast

from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.attacks.constraints.tagging.pipeline_tag import PipelineTag
from robustparse.errors import InputError, check_choice
from robustparse.tasks.task import Task
from robustparse.types import Example, Sentence

_KEY = "--tagger"
_LIBRARIES = ("nltk", "spacy", "stanza")


class Tagger(Protocol):
    """Tags texts that are split into words."""

    def tagged(self, texts: Sequence[tuple[str, ...]]) -> list[Sentence]:
        """Return every text with the tags of its words."""
        ...


def check_tagger(name: str) -> tuple[str, str]:
    """Return the library and the model that a tagger's name says.

    Raises:
        InputError: it says none.
    """
    library, _, model = name.partition(":")
    check_choice(_KEY, library, _LIBRARIES)
    if library == "nltk" and model:
        remedy = "give nltk, or name a pipeline as spacy:MODEL"
        raise InputError(f"{name!r}, and NLTK has one model only", key=_KEY, remedy=remedy)
    return library, model


def tagger_named(name: str) -> Tagger:
    """Return a tagger.

    Args:
        name: ``nltk``; ``spacy`` or ``stanza``, with a model as in `PipelineTag` after a colon.

    Raises:
        InputError: see `check_tagger`; or, now or when it first tags, its library or data are
            missing.
    """
    library, model = check_tagger(name)
    if library == "nltk":
        return PerceptronTags.load()
    return PipelineTag(cast(Literal["spacy", "stanza"], library), model)


def with_tags(examples: Sequence[Example], task: Task, tagger: Tagger) -> list[Example]:
    """Return examples, those without any tags with a tagger's, as ``task.tagging`` says."""
    bare = {one.id: task.tagging(one) for one in examples if not one.sentence.tags}
    texts = tagger.tagged([text for text, _ in bare.values()]) if bare else []
    found = dict(zip(bare, texts, strict=True))
    return [
        replace(one, sentence=_tagged(one.sentence, found[one.id], bare[one.id][1]))
        if one.id in bare
        else one
        for one in examples
    ]


def _tagged(sentence: Sentence, text: Sentence, places: Sequence[int]) -> Sentence:
    """Return a sentence whose words have the tags of these places of a text."""
    upos, xpos = (
        tuple(tags[at] for at in places) if tags else () for tags in (text.upos, text.xpos)
    )
    return replace(sentence, upos=upos, xpos=xpos)
