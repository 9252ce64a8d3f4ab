"""Utterances with logical forms, in files and datasets, as training data."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from robustparse.data.chosen import chosen_examples
from robustparse.data.columns import Format, check_columns, choose_alike
from robustparse.data.datamodule import DataModule
from robustparse.data.fractions import draw_fraction
from robustparse.data.labels import label_text
from robustparse.data.read_options import Known, ReadOptions
from robustparse.data.sample.questions import sample_questions
from robustparse.data.tables import ENDINGS, Table, read_table
from robustparse.data.text_files import each_example, each_row, words_of
from robustparse.data.utterances.raw import FOUR, check_raw
from robustparse.errors import InputError
from robustparse.files.paths import Sources, each_path
from robustparse.grammars import Language, language_named, language_of
from robustparse.types import ColumnName, Example, Layout, LogicalForm, Sentence

TWO = "an utterance and its logical form"


def _is_header(table: Table, _known: Known) -> bool:
    """Tell whether the first row names columns.

    It does if its utterance has at most two words, its form is one word, and all other forms have
    several tokens, none of them that word. Whether the form occurs again shows nothing, since
    nearly all forms of a corpus differ.
    """
    cells = [label_text(cell) for cell in table.first[1].values()]
    if len(cells) > 3 and set('{":}') & {*cells[3]}:  # slots that are damaged
        return False
    form = 2 if len(cells) > 3 else 1
    name = cells[form]
    if len(cells[form - 1].split()) > 2 or not re.fullmatch(r"\w+", name):
        return False
    forms = (label_text(values.get(form)).split() for _, values in table.others)
    several = [len(tokens) > 1 and name not in tokens for tokens in forms]
    return bool(several) and all(several)


FORMS = Format(
    pairs=(),
    texts=("text", "utterance", "question", "sentence"),
    labels=("label", "form", "logical_form", "program"),
    widths={2: TWO, 4: FOUR},
    is_header=_is_header,
    raw=True,
)
_HELD_OUT = "data.init_args.held_out"


def read_forms(
    path: Sources, options: ReadOptions = ReadOptions(), language: str | None = None
) -> list[Example]:
    """Read utterances with logical forms from a table of any kind, or from several as from one.

    A row without names of columns may also hold four columns or more: the raw text, the utterance,
    its form, and the text of each slot as a JSON object; see `raw`.

    Args:
        path: of any kind that `read_table` reads; or several with the same columns.
        options: how it is read; its columns are those of the utterance and of the logical form.
        language: of the forms, see `language_named`; None tells the shipped ones by their tokens.

    Raises:
        InputError: names the file and the line of what cannot be used, as an unbalanced form; or
            there is no such language.
    """
    check_columns(options.columns, FORMS)
    tables = [read_table(each, options.keep) for each in each_path(path)]
    several = choose_alike(tables, FORMS, options)
    tokens = (
        token
        for rows, _, values in each_row(several)
        for token in label_text(values.get(rows.layout.label)).split()
    )
    read_as = language_named(language or language_of(tokens))

    def answered(values: Mapping[ColumnName, Any], layout: Layout) -> tuple[Sentence, LogicalForm]:
        if layout.raw is not None:
            check_raw([values[column] for column in layout.raw])
        sentence = Sentence(words_of(values[layout.texts[0]], "text"))
        options.check_length(sentence)
        form = label_text(values.get(layout.label))
        if options.gold and not form:
            raise InputError("no logical form", expected=TWO)
        if form:
            _check(form, read_as, guessed=language is None)
        return sentence, LogicalForm(form, read_as.name)

    read = partial(each_example, several, answered)
    return chosen_examples(read(), read, options.choose)


def _check(form: str, language: Language, guessed: bool) -> None:
    """Read a form; an error names the language and how it was chosen."""
    try:
        language.parse(form)
    except InputError as error:
        remedy = f"forms are read as {language.name}, as the checkpoint or the settings say"
        if guessed:
            options = "--language (augment), --data.language (fit) or --victim.language"
            remedy = (
                f"{language.name} was guessed by the tokens; name another language by {options}"
            )
        error.remedy = f"{error.remedy}; {remedy}" if error.remedy else remedy
        raise


class LogicalFormDataModule(DataModule):
    """Utterances with a logical form each, whose files are named as those of `TextDataModule`.

    GEO and JOBS have no development set: train for a fixed number of epochs
    (``trainer.limit_val_batches: 0``), or hold a part of the training set out.

    Args:
        columns: the names of the columns of utterance and form, where columns have names.
        held_out: the fraction of the training utterances, drawn from the seed, that is not trained
            on and takes the place of the development set; not with copies (``augmentation``), whose
            copies may be those of held-out utterances.
        language: of the forms: ``lambda``, ``prolog``, or the class path of a `Language` of a
            trusted module; by default the first two are told by their tokens.
        settings: see `DataModule`.

    Raises:
        InputError: see `DataModule`; or ``held_out`` is not in [0, 1), or is not 0 with copies.
    """

    endings = ENDINGS
    corpus = staticmethod(sample_questions)

    def __init__(
        self,
        columns: list[str] | None = None,
        held_out: float = 0.0,
        language: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        if not 0.0 <= held_out < 1.0:
            raise InputError(f"must be in [0, 1), got {held_out}", key=_HELD_OUT)
        if held_out and self.augmentation.files:
            problem = f"got {held_out} with copies, whose originals may be held out"
            remedy = (
                "divide the training file, make copies of one part, and name the other dev_file"
            )
            raise InputError(problem, key=_HELD_OUT, remedy=remedy)
        self.columns, self.held_out = columns, held_out
        self.language = language

    def read(self, path: str | Path) -> list[Example]:
        """See `read_forms`."""
        options = replace(self.read_options, columns=self.columns)
        return read_forms(path, options, self.language)

    def find(self, folder: str, split: str) -> Path:
        """See `DataModule.find`."""
        try:
            return super().find(folder, split)
        except InputError as error:
            if split == "dev" and Path(folder).is_dir():
                error.remedy = (
                    "name it with dev_file, hold a part of the training set out "
                    "(data.init_args.held_out 0.1), or train without (trainer.limit_val_batches 0)"
                )
            raise

    def path(self, split: str) -> Path | None:
        """See `DataModule.path`; held-out utterances are in the training file."""
        return super().path("train" if split == "dev" and self.held_out else split)

    def examples(self, split: str) -> list[Example]:
        """Return the examples of ``train``, ``dev`` or ``test``, as ``held_out`` says."""
        if split == "test" or not self.held_out:
            return super().examples(split)
        kept, out = self._divided
        return kept if split == "train" else out

    @cached_property
    def _divided(self) -> tuple[list[Example], list[Example]]:
        """The training utterances that are trained on, and those held out."""
        examples = super().examples("train")
        lengths = [len(example.sentence) for example in examples]
        out = set(draw_fraction(lengths, self.held_out, "sentences", self.seed))
        parts = [example for i, example in enumerate(examples) if i not in out]
        if not parts:
            problem = f"{self.held_out} of {len(examples)} utterances leaves none to train on"
            raise InputError(problem, key=_HELD_OUT, remedy="hold fewer out")
        return parts, [example for i, example in enumerate(examples) if i in out]

    def doubts(self) -> Iterator[str]:
        """Warn of held-out utterances that nothing reads."""
        trainer: Any = self.trainer
        if self.held_out and not trainer.limit_val_batches:
            yield (
                f"{_HELD_OUT} {self.held_out}: the held-out utterances are not read, as "
                "trainer.limit_val_batches is 0; set it to 1.0 to score them after every epoch"
            )
