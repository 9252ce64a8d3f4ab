"""Unmodified taggers of Hugging Face and spaCy, applied to tokenised sentences."""

from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import torch

from robustparse.data.sampler import forward_words
from robustparse.data.tags.schemes import BEGIN, INSIDE, OUTSIDE, scheme_of, split_tag, to_bio
from robustparse.devices import chosen_device
from robustparse.errors import InputError, check_choice
from robustparse.pretrained.foreign_code import settings_in
from robustparse.pretrained.loaded_model import LoadedModel, WeightPrecision
from robustparse.pretrained.loading import TAGGER, model_folder, output_names
from robustparse.types import TagSequence
from robustparse.victims.black_box import BlackBox, Texts
from robustparse.victims.pipeline import loaded_pipeline

Answers = Literal["ner", "tag", "pos"]


class HuggingFaceTagger(BlackBox):
    """Any ``AutoModelForTokenClassification``.

    The tag of a word is that of its first piece; tags of spans are read in the model's scheme and
    become BIO, repaired as conlleval reads them.

    Args:
        model: the folder of a saved model, or its name on the hub.
        device: ``auto`` takes a GPU if there is one; ``--device`` of a command comes first.
        precision: number format of the model.
        download: whether to download a model that is not in the local cache.
        training: a file of training sentences; see `BlackBox`.
        batch_texts: largest number of texts in one forward pass.

    Raises:
        InputError: there is no such model, it names code of its own, or a sentence has more pieces
            than it reads.
    """

    def __init__(
        self,
        model: str,
        *,
        device: str = "auto",
        precision: WeightPrecision = "float32",
        download: bool = False,
        training: str | None = None,
        batch_texts: int = 64,
    ) -> None:
        super().__init__("tags", batch_texts=batch_texts)
        path = model_folder(model, download, TAGGER) / "config.json"
        self.tags = output_names(path, settings_in(path, TAGGER))
        self.model, self.device, self.precision = model, device, precision
        self.download = download
        self.training = [] if training is None else self.task.files.read(training)

    @property
    def name(self) -> str:
        """The name of the model, without the folders above it."""
        return Path(self.model).name

    @property
    def unknown_word(self) -> str:
        """The tokenizer's unknown token."""
        return str(self._loaded.tokenizer.unk_token or super().unknown_word)

    @property
    def batch_words(self) -> int:  # type: ignore[override]
        """See ``forward_words``."""
        return forward_words(torch.device(chosen_device("device", self.device)), None)

    @property
    def answerable(self) -> list[str]:
        """The tags of the model in BIO."""
        parts = map(split_tag, self.tags)
        return [
            name
            for prefix, kind in parts
            for name in ([BEGIN + kind, INSIDE + kind] if prefix else [kind])
        ]

    @torch.inference_mode()
    def answer(self, texts: Texts) -> list[TagSequence]:
        """Tag sentences."""
        loaded = self._loaded
        inputs: Any = loaded.tokenizer(
            texts, is_split_into_words=True, padding=True, return_tensors="pt"
        )
        pieces = inputs["input_ids"].shape[1]
        if pieces > loaded.max_pieces:
            problem = f"a sentence has {pieces} pieces, over the limit of {loaded.max_pieces}"
            raise InputError(problem, key="victim", remedy="take the sentence out of the data")
        best = loaded.network(**inputs.to(loaded.device)).logits.argmax(-1).tolist()
        scheme = scheme_of([self.tags])
        answers = []
        for row, (words, tags) in enumerate(zip(texts, best, strict=True)):
            # A word without a piece, such as a zero-width blank, gets O, or the first tag if there
            # is no O.
            of_words = [OUTSIDE if OUTSIDE in self.tags else self.tags[0]] * len(words)
            for piece, word in reversed([*enumerate(inputs.word_ids(row))]):
                if word is not None:
                    of_words[word] = self.tags[tags[piece]]
            answers.append(TagSequence(to_bio(of_words, scheme, repair=True)))
        return answers

    @cached_property
    def _loaded(self) -> LoadedModel:
        return LoadedModel(self.model, "tagger", self.precision, self.device, self.download)


class SpacyTagger(BlackBox):
    """A spaCy pipeline with an entity recogniser or a tagger, on the CPU.

    The tokenisation is kept, and a text is one sentence.

    Args:
        model: a pipeline's name or folder, as ``en_core_web_sm``.
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
        super().__init__("tags", batch_texts=batch_texts)
        check_choice("victim: answers", answers, get_args(Answers))
        self.model, self.kind = model, answers
        self.training = [] if training is None else self.task.files.read(training)

    @property
    def name(self) -> str:
        """The class's name and the pipeline's."""
        return f"SpacyTagger {self.model}"

    def answer(self, texts: Texts) -> list[TagSequence]:
        """Tag sentences."""
        pipeline, doc = self._pipeline
        docs = [
            doc(pipeline.vocab, words=words, sent_starts=[at == 0 for at in range(len(words))])
            for words in texts
        ]
        return [TagSequence(tuple(map(self._tag, tagged))) for tagged in pipeline.pipe(docs)]

    def _tag(self, token: Any) -> str:
        if self.kind == "ner":
            inside = token.ent_iob_ in ("B", "I")
            return f"{token.ent_iob_}-{token.ent_type_}" if inside else OUTSIDE
        return str(token.tag_ if self.kind == "tag" else token.pos_) or "_"

    @cached_property
    def _pipeline(self) -> tuple[Any, type[Any]]:
        needed = {"ner": ("ner",), "tag": ("tagger",), "pos": ("morphologizer", "tagger")}
        return loaded_pipeline(self.model, needed[self.kind])
