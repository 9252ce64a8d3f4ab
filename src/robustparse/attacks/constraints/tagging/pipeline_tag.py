"""Candidates must have the tag of the word that they replace, assigned by spaCy or Stanza.

Wang et al. 2021 use the Stanford tagger on the whole changed sentence; their code supports these
two as well.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.constraint import Constraint, Masks, Words
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice, check_least, optional_library
from robustparse.tagsets import Tagset, check_tagset
from robustparse.types import Sentence


class PipelineTag(Constraint):
    """A neural tagger must give the candidate the word's tag in the changed sentence.

    Only the one word is changed in the *original* sentence.

    Args:
        library: `spacy` or `stanza`; the tokenisation of the corpus is kept.
        model: spaCy's pipeline, a name or a folder (`en_core_web_sm`), or Stanza's language (`en`),
            whose model must have been downloaded.
        reference: the expected tag: the `corpus` tag of the original word, or the `tagger`'s tag
            of the original word in the original sentence.
        tagset: which tags are compared; None: a sentence's Penn tags, or its universal tags if it
            has none.
        window: words on either side of the change that the tagger sees; None: the whole sentence.
        features: whether morphological features must be equal, too. Only tags are compared if the
            original or the tagged sentence has no features.

    Raises:
        InputError: when first used: the library or model is missing.
    """

    needs = ("spaCy or Stanza",)
    is_model = True
    without_tags = "set `reference: tagger` for it in the recipe"
    loads = ("_pipeline",)

    def __init__(
        self,
        library: Literal["spacy", "stanza"],
        model: str = "",
        *,
        reference: Literal["corpus", "tagger"] = "corpus",
        tagset: Tagset | None = None,
        window: int | None = None,
        features: bool | None = None,
    ) -> None:
        check_choice("tagger: library", library, _DEFAULT_MODELS)
        check_choice("tagger: reference", reference, ("corpus", "tagger"))
        check_tagset("tagger", tagset)
        check_least("tagger", 0, window=window)
        self.library = library
        self.model = model or _DEFAULT_MODELS[library]
        self.reference = reference
        self.reads_tags, self.tagset = reference == "corpus", tagset
        self.window, self.features = window, features

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        occurrences = [
            self._seen(slot, word)
            for slot, words in zip(slots, candidates, strict=True)
            for word in words
        ]
        originals = [self._seen(slot, slot.word) for slot in slots]
        by_tagger = self.reference == "tagger"
        texts = dict.fromkeys(text for text, _ in occurrences + (originals if by_tagger else []))
        tags = dict(zip(texts, self.tagged(list(texts)), strict=True)) if texts else {}
        changed = iter([Slot(0, tags[text], at) for text, at in occurrences])
        masks = []
        for slot, (text, at), words in zip(slots, originals, candidates, strict=True):
            original = Slot(0, tags[text], at) if by_tagger else slot
            kept = [self._same(original, next(changed)) for _ in words]
            masks.append(np.array(kept, dtype=np.bool_))
        return masks

    def _same(self, original: Slot, changed: Slot) -> bool:
        """Tell whether a word has the tag and the features of the word that it replaces."""
        tagset, tag = original.tagged(self.tagset)
        if changed.tagged(tagset)[1] != tag:
            return False
        if not (self.features and original.sentence.feats and changed.sentence.feats):
            return True
        feats = (slot.sentence.feats[slot.position] for slot in (original, changed))
        return len(set(feats)) == 1

    def _seen(self, slot: Slot, word: str) -> tuple[tuple[str, ...], int]:
        """Return the text around a change that the tagger sees, and the position of the change."""
        words, at = slot.sentence.words, slot.position
        begin = 0 if self.window is None else max(0, at - self.window)
        end = len(words) if self.window is None else at + self.window + 1
        return (*words[begin:at], word, *words[at + 1 : end]), at - begin

    def tagged(self, texts: Sequence[tuple[str, ...]]) -> list[Sentence]:
        """Tag texts in both tagsets, with features."""
        pipeline = self._pipeline
        if self.library == "stanza":
            sentences = pipeline([list(text) for text in texts]).sentences
            rows = [[(w.upos, w.xpos, w.feats or "_") for w in each.words] for each in sentences]
        else:
            doc = import_module("spacy.tokens").Doc
            docs = pipeline.pipe(doc(pipeline.vocab, words=list(text)) for text in texts)
            rows = [[(t.pos_, t.tag_, str(t.morph) or "_") for t in tagged] for tagged in docs]
        return [_sentence(text, row) for text, row in zip(texts, rows, strict=True)]

    @cached_property
    def _pipeline(self) -> Any:
        remedy = f"run `pip install {self.library}`, or use TaggerTag, which needs only NLTK"
        library = optional_library(self.library, "tagger: library", remedy)
        try:
            if self.library == "stanza":
                return library.Pipeline(
                    self.model,
                    processors="tokenize,pos",
                    tokenize_pretokenized=True,
                    download_method=None,
                    verbose=False,
                )
            path = os.path.expanduser(self.model)  # noqa: PTH111 - or a name
            return library.load(path, exclude=["parser", "ner", "lemmatizer"])
        except Exception as error:  # each library raises types of its own for a missing model
            command = (
                f"python -m spacy download {self.model}"
                if self.library == "spacy"
                else f"python -c \"import stanza; stanza.download('{self.model}')\""
            )
            raise InputError(
                f"{self.library} cannot load {self.model!r} ({error})",
                key="tagger: model",
                remedy=f"run `{command}`, or give the folder of a model",
            ) from error


def _sentence(words: tuple[str, ...], rows: Sequence[tuple[str, str, str]]) -> Sentence:
    """Make a sentence from words with universal tags, treebank tags and features.

    A column without any value becomes empty.
    """
    upos, xpos, feats = (
        column if {*column} - {"", "_"} else () for column in zip(*rows, strict=True)
    )
    return Sentence(words, upos, xpos, feats=feats)


_DEFAULT_MODELS = {"spacy": "en_core_web_sm", "stanza": "en"}
