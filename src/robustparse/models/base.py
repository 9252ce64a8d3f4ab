"""One base for every model: embed, forward, loss and decode.

A *delta* is added to the embeddings before dropout. It has a row for each unit: a word or a word
piece. Units that belong to no word, such as ROOT and padding, need zeros. Gradient defenses see
nothing else inside a model; white-box attacks use `embed` and `states_of`.
"""

import os
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Generic, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torchmetrics import Metric
from typing_extensions import TypeVar

from robustparse.data.batch import Batch, EncodedCorpus
from robustparse.data.datamodule import DataModule
from robustparse.data.plain_texts import Text, examples_of
from robustparse.data.read_options import FileUse
from robustparse.data.robust_encoding import Encoding
from robustparse.data.sampler import EvaluationLoader, Unit, forward_words
from robustparse.data.vocab import Vocabulary
from robustparse.data.word_recognition import WordRecognition
from robustparse.errors import InputError
from robustparse.files.checkpoints import checkpoint_file
from robustparse.files.paths import with_home
from robustparse.metrics import PunctuationPolicy
from robustparse.models.checkpoint import (
    KEY,
    check_same_class,
    check_same_files,
    describe,
    encoder_arguments,
    fill_weights,
    instantiate,
    model_arguments,
    read_checkpoint,
)
from robustparse.models.checkpoint_limits import making_from
from robustparse.models.codec import Codec
from robustparse.models.decisions import Decisions
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.dropout import evaluating
from robustparse.models.encoders.pretrained import PretrainedEncoder
from robustparse.models.mean_scores import Mean
from robustparse.models.optimization import Optimization
from robustparse.models.resumable import ResumableModule
from robustparse.models.shared_folder import write_model
from robustparse.pretrained.hub import fetched, uploaded
from robustparse.tasks.task import Task
from robustparse.types import Example, Prediction, Predictions, Sentence

States = TypeVar("States", default=Any)
"""Output of ``forward``, input of ``loss`` and ``decode``."""


class Model(ResumableModule, Generic[States]):
    """A network over an encoder; subclasses define its layers, loss and decoding.

    Args:
        encoder: returns a vector for each word.
        optimization: optimizer and schedule; None takes `default_optimization`.
        seed: seed of initialization and dropout.
        init_from: a checkpoint to start from, with a new optimizer: its weights, its vocabulary,
            its encoding and what its encoder had read from files.
        vocabulary: set by the data module or a checkpoint.
        encoding: a file of `robustparse encode`: the model reads only the code of each word.
        clusters: the clusters of the encoding, from a checkpoint; the file is then not read again.
        word_recognition: read words that it does not know as the training words that they misspell
            (`WordRecognition`). A word is known if it has an embedding; to pretrained encoders, if
            it occurs at least twice in the training data. None takes the setting of ``init_from``;
            without it, no words are recognized.

    Raises:
        InputError: an argument is out of range, or see `initialize`.

    Attributes:
        task: the task of its answers, such as dependency parsing.
        unit: losses are averaged over words or over texts.
        reads_pairs: whether it reads the context of a text too.
        vocabulary: the words and labels of the training data.
        codec: translates answers into numbers and back.
        mean: what an ensemble averages.
        shared_settings: arguments that the members of an ensemble must have in common.
        checkpoint: the file that it was loaded from.
        trained_on: digest of the training data, without copies; None if unknown.
        data_columns: names of the columns of the training data; None if they have no names.
        numeric_labels: whether the labels of the training data are numbers in their file.
    """

    default_optimization: ClassVar[Optimization] = Optimization()
    mean: Mean = "probabilities"
    unit: ClassVar[Unit] = "words"
    shared_settings: ClassVar[tuple[str, ...]] = ()
    checkpoint: str | None = None
    trained_on: str | None = None
    data_columns: list[str] | None = None
    numeric_labels: bool = False
    reads_pairs: ClassVar[bool] = False
    vocabulary: Vocabulary
    codec: Codec
    _encoding: Encoding | None = None
    _recognition: WordRecognition | None = None
    task: Task

    def __init__(
        self,
        encoder: Encoder,
        optimization: Optimization | None = None,
        seed: int = 0,
        init_from: str | None = None,
        vocabulary: Vocabulary | None = None,
        encoding: str | None = None,
        clusters: list[dict[str, int]] | None = None,
        word_recognition: bool | None = None,
    ) -> None:
        super().__init__(optimization or copy(self.default_optimization), seed)
        self.word_recognition = word_recognition
        self.encoder = encoder
        self._start = (vocabulary, init_from)
        self.encoding, self.clusters = encoding, clusters
        if encoding is not None and clusters is None:
            self.clusters = Encoding.read(encoding).to_lists()

    def initialize(self) -> None:
        """Make the layers: the last statement of a subclass's constructor.

        Raises:
            InputError: there is neither a vocabulary nor a checkpoint, or the checkpoint does not
                fit or holds NaN.
        """
        vocabulary, init_from = self._start
        if init_from is not None:
            start = read_checkpoint(init_from, "init_from")
            check_same_class(self, start, "init_from", str(init_from))
            self._take_encoding(str(init_from), start)
            with making_from(init_from, start["state_dict"]):
                self.encoder.restore(encoder_arguments(start))
                self._make(Vocabulary.from_lists(start[KEY]["vocabulary"]))
            fill_weights(self, str(init_from), start)
        elif vocabulary is not None:
            self._make(vocabulary)
        else:
            raise InputError(
                "neither a vocabulary nor a checkpoint is given",
                key=type(self).__name__,
                remedy="pass vocabulary=Vocabulary.from_examples(examples), or init_from=PATH",
            )

    def _take_encoding(self, path: str, start: Mapping[str, Any]) -> None:
        """Take the encoding of a checkpoint.

        Raises:
            InputError: the model names another encoding, or the checkpoint has none.
        """
        stored = model_arguments(start)
        clusters = stored.get("clusters")
        if self.clusters is not None and not _same(self.clusters, clusters):
            trained = "without an encoding" if clusters is None else "with another encoding"
            raise InputError(
                f"the checkpoint {path} was trained {trained}",
                path=self.encoding,
                key="encoding",
                remedy="leave it out, or train from the start",
            )
        self.encoding, self.clusters = stored.get("encoding"), clusters
        if self.word_recognition is None:
            self.word_recognition = stored.get("word_recognition")

    def _make(self, vocabulary: Vocabulary) -> None:
        self.vocabulary, read = vocabulary, vocabulary
        if self.clusters is not None:
            encoding = Encoding.from_lists(self.clusters)
            self._encoding = encoding.without(self.uncoded(vocabulary))
            read = self._encoding.vocabulary(vocabulary)
        self.word_recognition = bool(self.word_recognition)
        if self.word_recognition:
            self._recognition = WordRecognition(vocabulary.words)
        self.codec = self.make_codec(vocabulary)
        self.validation_score, self.test_score = self.codec.metric(), self.codec.metric()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.encoder.build(read)
            self.build(vocabulary)

    # Defined by subclasses

    @abstractmethod
    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers above the encoder."""

    @abstractmethod
    def make_codec(self, vocabulary: Vocabulary) -> Codec:
        """Return the codec of the model's answers."""

    @abstractmethod
    def states_of(self, embeddings: Tensor, batch: Batch) -> States:
        """Return the output of ``forward`` for embeddings, ``(batch, units, dim)``."""

    @abstractmethod
    def loss(self, states: States, batch: Batch) -> Tensor:
        """Return the loss of each text, ``(batch,)``, the sum over its words."""

    @abstractmethod
    def decode(
        self, members: Sequence[Any], states: Sequence[States], batches: Sequence[Batch]
    ) -> Predictions:
        """Return the answers to a batch, arrays of ``batch`` rows.

        Args:
            members: the models of an ensemble, this one first.
            states: the output of each model.
            batches: the same texts as each model reads them.
        """

    def uncoded(self, vocabulary: Vocabulary) -> Collection[str]:
        """Return lower-cased words that keep codes of their own in any encoding; by default none.

        Models that copy words into their answers need this.
        """
        return ()

    def codes(self, words: Sequence[str]) -> Sequence[str]:
        """Return what the model reads instead of words.

        These are their codes in its encoding, if it has one. If it recognizes words, a word that
        has no other code and is unknown is read as the word that it misspells.
        """
        if self._encoding is None and self._recognition is None:
            return words
        read = self._coded(words)
        if self._recognition is not None:
            # Pretrained encoders have pieces for nearly every word, misspelled or not.
            pieces = isinstance(self.encoder, PretrainedEncoder)
            known = None if pieces else self.encoder.embedded(read)
            for at, word in enumerate(words):
                if read[at] == word and (known is None or not known[at]):
                    (read[at],) = self._coded([self._recognition.read(word)])
        return read

    def _coded(self, words: Sequence[str]) -> list[str]:
        return list(words if self._encoding is None else map(self._encoding.code, words))

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of each word, ``(words,)``; words with equal codes have equal rows."""
        return self.encoder.intern(self.codes(words))

    def intern_marks(self, marks: Sequence[str]) -> NDArray[np.int32]:
        """Return ids of the marks of positions, usually tags, ``(marks,)``."""
        return self.encoder.intern_tags(marks)

    def margin(self, states: States, batch: Batch) -> Tensor:
        """Return the margin loss of each text, ``(batch,)``, which white-box attacks may increase.

        Raises:
            InputError: the model has no margin loss.
        """
        problem = f"{type(self).__name__} has no margin loss"
        raise InputError(problem, key="loss", remedy="choose cross_entropy")

    def decisions(self, states: States, batch: Batch) -> list[Decisions]:
        """Return the distributions of the decisions in `loss`, by kind, for agreement losses.

        Raises:
            InputError: the model does not define this method.
        """
        problem = f"{type(self).__name__} has no agreement loss"
        expected = "a model that defines the method decisions"
        raise InputError(problem, key="model", expected=expected)

    # Forward

    def embed(self, batch: Batch) -> Tensor:
        """Return the embeddings, ``(batch, units, dim)``; ROOT comes first."""
        return self.encoder.embed(batch.words, batch.marks)

    def forward(self, batch: Batch, delta: Tensor | None = None) -> States:
        """Return the network's output; a delta, ``(batch, units, dim)``, changes the embeddings."""
        embeddings = self.embed(batch)
        return self.states_of(embeddings if delta is None else embeddings + delta, batch)

    def zero_delta(self, batch: Batch) -> Tensor:
        """Return zeros in the embeddings' shape, ``(batch, units, dim)``."""
        shape = (*self.encoder.delta_mask(batch.words, batch.lengths).shape, self.encoder.dim)
        return next(self.parameters()).new_zeros(shape)

    def delta_mask(self, batch: Batch) -> Tensor:
        """Return ``(batch, units, 1)``: 1 for units of words, where a delta is allowed."""
        mask = self.encoder.delta_mask(batch.words, batch.lengths)
        return mask.unsqueeze(-1).to(next(self.parameters()).dtype)

    def predicted(self, batch: Batch) -> Predictions:
        """Return the answers to a batch, see `decode`."""
        return self.decode([self], [self(batch)], [batch])

    def predict(
        self, sentences: Sequence[Text], batch_words: int | None = None, checked: bool = True
    ) -> list[Any]:
        """Return the answers to texts.

        Args:
            sentences: lists of words, or ``Sentence`` objects with tags.
            batch_words: padded words of a forward pass; None chooses by device, see
                ``forward_words``.
            checked: see ``encode``.

        Raises:
            InputError: see ``examples_of`` and ``check``; or ``batch_words`` is below 1.
        """
        examples, size = examples_of(sentences), forward_words(self.device, batch_words)
        data = self.encode(examples, checked=checked, gold=False)
        with evaluating(self):
            batches = (batch.to(self.device) for batch in EvaluationLoader(data, size))
            answers = {p.id: p.answer for batch in batches for p in self.predict_step(batch, 0)}
        return [answers[index] for index in range(len(data))]

    def predict_step(self, batch: Batch, batch_idx: int) -> list[Prediction]:
        """Return the answer to each text."""
        answers = self.codec.decode_rows(self.predicted(batch), batch.lengths.tolist())
        return list(map(Prediction, batch.ids.tolist(), answers))

    def add_scores(self, metric: Metric, batch: Batch) -> None:
        """See `ResumableModule`."""
        self.codec.update(metric, self.predicted(batch), batch)

    @property
    def headline(self) -> str:
        """See `ResumableModule`."""
        return self.task.scores.headline

    def pretrained_parameters(self) -> Sequence[nn.Parameter]:
        """See `ResumableModule`."""
        return self.encoder.pretrained_parameters()

    def on_fit_start(self) -> None:
        """See `ResumableModule`; also asks the data module what the model is trained on."""
        super().on_fit_start()
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(data, DataModule):
            self.trained_on, self.data_columns = data.digest, data.data_columns
            self.numeric_labels = data.numeric_labels

    # Checkpoints

    def description(self) -> dict[str, Any]:
        """See `ResumableModule`."""
        about = (self.trained_on, self.data_columns, self.numeric_labels)
        return describe(self, self.vocabulary, *about)

    def check_continues(self, checkpoint: dict[str, Any]) -> None:
        """Reject another class, vectors, tokenizer, vocabulary, encoding or word recognition."""
        check_same_class(self, checkpoint, "ckpt_path")
        check_same_files(self.encoder, self.vocabulary, checkpoint)
        if not _same(self.clusters, model_arguments(checkpoint).get("clusters")):
            remedy = "set model.init_args.encoding to the file that it was trained with"
            raise InputError("the checkpoint was trained with another encoding", remedy=remedy)
        recognized = bool(model_arguments(checkpoint).get("word_recognition"))
        if recognized != self.word_recognition:
            problem = f"the checkpoint was trained with word_recognition {str(recognized).lower()}"
            raise InputError(problem, key="word_recognition", remedy="train with the same setting")

    # Sharing

    def save_pretrained(self, save_directory: str | Path) -> None:
        """Write the model into a folder for others: JSON and safetensors, nothing pickled.

        Args:
            save_directory: the folder; every ``--checkpoint`` and `from_pretrained` read it.

        Raises:
            InputError: it could not be loaded, see `specification`; or see `write_model`.
        """
        write_model(with_home(save_directory), self.description(), self.state_dict())

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        force_download: bool = False,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
        revision: str | None = None,
    ) -> Self:
        """Return a model, on the CPU, in evaluation mode; no other file is read.

        Args:
            pretrained_model_name_or_path: a folder or a checkpoint, or else a model on the Hugging
                Face hub, ``OWNER/NAME``.
            force_download: whether to download a model that is in the cache.
            token: for private models; by default that of ``hf auth login``.
            cache_dir: the folder of the cache.
            local_files_only: whether to take the model from the cache only.
            revision: a branch, a tag or a commit on the hub.

        Raises:
            InputError: see ``fetched`` and ``read_checkpoint``; the checkpoint describes no model
                of this class, or its weights are not finite.
        """
        # A path, or a name, which `Path` could change.
        source = os.path.expanduser(pretrained_model_name_or_path)  # noqa: PTH111
        options = {"token": token, "cache_dir": cache_dir, "local_files_only": local_files_only}
        if not os.path.lexists(source):
            source = str(fetched(source, revision, force_download=force_download, **options))
        path = checkpoint_file(source)
        content = read_checkpoint(path)
        described = content[KEY]
        try:
            with making_from(path, content["state_dict"]):
                vocabulary = Vocabulary.from_lists(described["vocabulary"])
                model = instantiate(described["model"], vocabulary=vocabulary, init_from=None)
        except InputError as error:
            raise error if error.path == str(path) else InputError(str(error), path=path) from error
        if not isinstance(model, cls):
            problem = f"{described['model']['class_path']!r} is not a model"
            raise InputError(problem, path=path, expected=f"a {cls.__name__}")
        fill_weights(model, path, content)
        model.checkpoint, model.trained_on = str(path), described.get("trained_on")
        columns = described.get("data_columns")
        if isinstance(columns, list) and len(columns) > 1 and all(type(c) is str for c in columns):
            model.data_columns = columns
        model.numeric_labels = described.get("numeric_labels") is True
        return model.eval()

    def push_to_hub(
        self,
        repo_id: str,
        *,
        commit_message: str = "Push model using robustparse.",
        private: bool | None = None,
        token: str | None = None,
        branch: str | None = None,
        create_pr: bool | None = None,
        allow_patterns: list[str] | str | None = None,
        ignore_patterns: list[str] | str | None = None,
        delete_patterns: list[str] | str | None = None,
    ) -> str:
        """Upload the model to the Hugging Face hub; `huggingface_hub.ModelHubMixin` has the same.

        Args:
            repo_id: ``OWNER/NAME``.
            commit_message: the message of the commit.
            private: whether a new repository is private; by default, what the owner has set.
            token: the user's token; by default that of ``hf auth login``.
            branch: the branch; by default ``main``.
            create_pr: whether to open a pull request instead.
            allow_patterns: only files that match are uploaded.
            ignore_patterns: files that match are not uploaded.
            delete_patterns: files on the hub that match are deleted.

        Returns:
            The address of the commit.

        Raises:
            InputError: see `save_pretrained` and `uploaded`.
        """
        patterns = {"allow_patterns": allow_patterns, "ignore_patterns": ignore_patterns}
        patterns["delete_patterns"] = delete_patterns
        commit = {"commit_message": commit_message, "revision": branch, "create_pr": create_pr}
        with TemporaryDirectory() as folder:
            self.save_pretrained(folder)
            return uploaded(Path(folder), repo_id, private, token, **commit, **patterns)

    # Data

    def check(self, examples: Sequence[Example]) -> None:
        """Reject sentences that this model cannot read.

        Raises:
            InputError: names the first such sentence, counted from 1.
        """
        for example in examples:
            try:
                self.encoder.check(self._read(example.sentence))
            except InputError as error:
                raise InputError(str(error), key=f"sentence {example.id + 1}") from None

    def _read(self, sentence: Sentence) -> Sentence:
        """Return a sentence with the codes of its words and of its context's."""
        if self._encoding is None:
            return sentence
        words, context = self.codes(sentence.words), self.codes(sentence.context)
        return replace(sentence, words=tuple(words), context=tuple(context))

    def check_readable(
        self, examples: Sequence[Example], path: str | Path, punctuation: PunctuationPolicy = "none"
    ) -> None:
        """Reject sentences of a file that this model cannot read, by file and line."""
        if not isinstance(examples[0].gold, self.task.answers.gold_type):
            problem = f"read as data of another task than that of {type(self).__name__}"
            remedy = f"set data to a class for the task {self.task.name}"
            raise InputError(problem, path=path, remedy=remedy)
        self.task.files.check(examples, path, self.check, punctuation)

    def warnings(self, examples: Sequence[Example], use: FileUse) -> Iterator[str]:
        """Yield warnings about a file, see `Files.warnings`."""
        texts = [self._read(example.sentence) for example in examples]
        yield from (f"{use.path}: {warning}" for warning in self.encoder.warnings(texts))
        if use.gold:
            yield from self.task.files.warnings(examples, self.vocabulary.labels, use)

    def encode(
        self,
        examples: Sequence[Example],
        punctuation: PunctuationPolicy = "none",
        *,
        checked: bool = True,
        gold: bool = True,
    ) -> EncodedCorpus:
        """Return texts as rows of the word table, and their gold answers as columns.

        Args:
            examples: the texts.
            punctuation: which words count in scores.
            checked: whether ``check`` applies; not to texts that an attack has perturbed.
            gold: whether to encode gold answers.
        """
        if checked:
            self.check(examples)
        columns = self.codec.encode(examples, punctuation) if gold else {}
        return EncodedCorpus.of(examples, self.intern, self.intern_marks, columns)


def _same(first: Any, second: Any) -> bool:
    """Tell whether two models have the same clusters, or neither has any."""
    if first is None or second is None:
        return first is second
    return Encoding.from_lists(first).digest == Encoding.from_lists(second).digest
