"""Taggers for sentences without tags: NLTK, spaCy or Stanza (``--tagger``).

Components of an attack that read tags reject sentences without them. The task decides which text is
tagged: for an utterance with stems and slots, it is the raw text.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, cast

from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.attacks.constraints.tagging.pipeline_tag import PipelineTag
from robustparse.errors import InputError, check_choice
from robustparse.tasks.task import Task
from robustparse.types import Example, Sentence

_KEY = "--tagger"
_LIBRARIES = ("nltk", "spacy", "stanza")


Tagger = PerceptronTags | PipelineTag


def check_tagger(name: str) -> tuple[str, str]:
    """Return the library and the model in a tagger's name.

    Raises:
        InputError: the library is unknown, or has no choice of models.
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
        name: ``nltk``, ``spacy`` or ``stanza``; the last two may name a model after a colon.

    Raises:
        InputError: see `check_tagger`; or, now or at its first use, its library or data are
            missing.
    """
    library, model = check_tagger(name)
    if library == "nltk":
        return PerceptronTags.load()
    return PipelineTag(cast(Literal["spacy", "stanza"], library), model)


def with_tags(examples: Sequence[Example], task: Task, tagger: Tagger) -> list[Example]:
    """Return the examples; a tagger tags those without tags (see ``task.files.tagging``)."""
    untagged = {each.id: task.files.tagging(each) for each in examples if not each.sentence.tags}
    texts = tagger.tagged([text for text, _ in untagged.values()]) if untagged else []
    tagged = dict(zip(untagged, texts, strict=True))
    return [
        replace(each, sentence=_with_tags(each.sentence, tagged[each.id], untagged[each.id][1]))
        if each.id in untagged
        else each
        for each in examples
    ]


def _with_tags(sentence: Sentence, text: Sentence, positions: Sequence[int]) -> Sentence:
    """Return a sentence whose words have the tags at these positions of a text."""
    upos, xpos = (
        tuple(tags[position] for position in positions) if tags else ()
        for tags in (text.upos, text.xpos)
    )
    return replace(sentence, upos=upos, xpos=xpos)
