"""The base of semantic parsers: beam search, checks of forms, and warnings.

A parse does not depend on the other utterances of a batch.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from robustparse.data.batch import Batch
from robustparse.data.read_options import FileUse
from robustparse.data.utterances.stems import are_stems
from robustparse.errors import InputError, check_least, located
from robustparse.grammars import (
    LambdaCalculus,
    Language,
    Prolog,
    by_heads,
    canonical,
    language_calls,
    language_named,
    language_of,
)
from robustparse.metrics import PunctuationPolicy
from robustparse.models.base import Model, States
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.optimization import Optimization
from robustparse.models.semantic.form_codec import FormCodec
from robustparse.tasks.semantic import semantic_task
from robustparse.types import Example, LogicalForm


class SemanticParser(Model[States]):
    """Answers with a logical form; see `FormCodec` for its predictions and gold columns.

    Args:
        encoder: returns a vector for each word.
        beam: beam size (5, Yin and Neubig 2018; 1 is greedy).
        longest: the most tokens of a form; a longer form is cut off.
        base: see `Model`; the default is Adam at 1e-3, constant.

    Attributes:
        copy: whether forms may contain words of the utterance, known or not.
    """

    task = semantic_task()
    unit = "texts"
    codec: FormCodec
    copy = False

    default_optimization = Optimization(1e-3, (0.9, 0.999), 1e-8, schedule="constant")

    def __init__(self, encoder: Encoder, beam: int, longest: int, **base: Any) -> None:
        super().__init__(encoder, **base)
        check_least(type(self).__name__, beam=beam, longest=longest)
        self.beam, self.longest = beam, longest

    @abstractmethod
    def forms(
        self, members: Sequence[Any], states: Sequence[States], batches: Sequence[Batch]
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Return forms and their probabilities, ``(batch,)``; see `decode` for the arguments."""

    def reset_matrices(self) -> None:
        """Initialize all matrices as TranX's code does (Glorot and Bengio 2010).

        Of encoders, only LSTMs without pretrained embeddings are initialized in this way.
        """
        lstm = isinstance(self.encoder, LSTMEncoder) and self.encoder.vectors is None
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 and (lstm or not name.startswith("encoder.")):
                nn.init.xavier_normal_(parameter)
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                    module.weight[module.padding_idx] = 0.0

    def initialize(self) -> None:
        """See `Model`; then files are read in the language of the training data."""
        super().initialize()
        stems = are_stems(self.vocabulary.words)
        # None means that the words do not show it; the public corpora consist of stems.
        shipped = type(self.language) in (LambdaCalculus, Prolog)
        self.task = semantic_task(
            self.language.name, self.copy, shipped if stems is None else stems
        )

    @cached_property
    def language(self) -> Language:
        """The language of the logical forms."""
        languages = self.vocabulary.languages or (language_of(self.vocabulary.labels),)
        return language_named(languages[0])

    def decode(
        self, members: Sequence[Any], states: Sequence[States], batches: Sequence[Batch]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """See `Model`; the members choose each step of the forms together."""
        forms, probabilities = self.forms(members, states, batches)
        return self.codec.rows(forms), self.codec.meanings(forms), probabilities

    def check_readable(
        self, examples: Sequence[Example], path: str | Path, punctuation: PunctuationPolicy = "none"
    ) -> None:
        """Reject utterances that it cannot read, and forms that it cannot learn."""
        super().check_readable(examples, path, punctuation)
        checked: set[LogicalForm] = set()
        for example in examples:
            with located(example.path or path, example.line):
                if example.gold not in checked:
                    self.check_form(example.gold)
                    checked.add(example.gold)

    def check_form(self, form: LogicalForm) -> None:
        """Check that the gold steps of a form build this form, and that it can be compared.

        Raises:
            InputError: the form has no steps, or they build another form; or see `canonical` and
                `by_heads`.
        """
        canonical(form, self.language.name)
        by_heads(self.language.parse(form), self.language)
        with language_calls(self.language, "to_ast or from_ast"):
            tree = self.codec.learnt(form)
            answer = self.codec.rebuilt(tree)
            text = self.language.unparse(answer)
            if answer == tree == self.language.parse(text):
                return
        kind, what = type(self.language).__name__, type(self).__name__
        steps = f"the steps of {what}" if answer != tree else f"{kind}.print and {kind}.read"
        methods = "to_ast and from_ast" if answer != tree else "print, the inverse of read,"
        raise InputError(
            f"{form!r:.80} comes back from {steps} as {text!r:.80}",
            expected="the same form",
            remedy=f"correct {methods} in the language {self.language.name}, or its operators",
        )

    def warnings(self, examples: Sequence[Example], use: FileUse) -> Iterator[str]:
        """See `Model`; also warns about forms longer than `longest`."""
        yield from super().warnings(examples, use)
        steps = [
            self.codec.steps(self.codec.columns_of(example.gold))
            for example in examples
            if use.gold
        ]
        sizes = zip(examples, steps, strict=False)
        long = [example for example, size in sizes if size > self.longest]
        if long:
            yield (
                f"{long[0].place(use.path)}: a logical form of {max(steps)} steps, over the limit "
                f"of {self.longest} (model.init_args.longest): the {len(long)} utterances with "
                "such forms count as wrong"
            )
