"""``robustparse.substitutes``: make a substitution table from sources and data."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from robustparse.api.data_sources import DataFile, DataSource, GivenExamples, data_source
from robustparse.api.progress import progress_bar
from robustparse.api.taggers import tagger_named
from robustparse.attacks.pooled_substitutes import (
    Substitutes,
    TableSize,
    substitutes_of,
    symmetric_closure,
    united,
)
from robustparse.attacks.substitution_sources import NearWords, Source, SourceSettings
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.attacks.word_types import WordTypes
from robustparse.errors import InputError, check_all
from robustparse.files.output_folders import check_output_file
from robustparse.files.paths import with_home
from robustparse.tagsets import Tagset, check_tagset
from robustparse.tasks.registry import named, task_of
from robustparse.types import Example, Sentence

Data: TypeAlias = str | Path | DataFile
"""A data file, or ``"sample"`` for the training split of the built-in data."""

# The sources that read a setting.
_READERS = {
    "top": ("neighbours", "masked_lm", "training_words"),
    "contexts": ("masked_lm",),
}


def substitutes(
    sources: str | Sequence[str],
    data: Data | Sequence[Data] | Sequence[Example],
    *,
    same_tag: bool = False,
    symmetric: bool = False,
    tagset: Tagset | None = None,
    top: int = 50,
    cosine: float | None = None,
    contexts: int = 10,
    task: str | None = None,
    out: str | Path | None = None,
    device: str = "auto",
) -> SubstitutionTable:
    """Make a substitution table for the words of data files.

    >>> table = substitutes(["wordnet", "typos"], "train.conllu")  # doctest: +SKIP
    >>> table.of("Big")  # doctest: +SKIP

    Args:
        sources: where substitutes come from, in the order of preference:

            - ``wordnet``: synonyms for the part of speech of the word's most frequent tag, or for
              every part of speech if the word has no tag;
            - ``neighbours:FILE``: the nearest words, from a text file of word vectors or from the
              lists of a .json file;
            - ``masked_lm:FOLDER``: the words that a masked language model predicts in the place of
              the word, ranked by their mean probability over texts with the word;
            - ``typos``: every misspelling with one edit (insert a letter from a to z, delete one,
              swap two neighbours, replace one) of words of three letters or more;
            - ``training_words``: the most frequent words of the data with the same tag;
            - ``lexicon:FILE``: a JSON object of words, or words and tags (`Lexicon`);
            - ``sememes:FILE``: the words of a dictionary with the same sememes (`Sememes`).
        data: files of any tasks, or examples.
        same_tag: see the option of ``robustparse substitutes``.
        symmetric: see the option of ``robustparse substitutes``.
        tagset: see the option of ``robustparse substitutes``.
        task: see the option of ``robustparse substitutes``.
        device: see the option of ``robustparse substitutes``.
        top: the most substitutes of a word from each of ``neighbours``, ``masked_lm`` and
            ``training_words`` (50 as in Jin et al. 2020).
        cosine: least cosine of neighbours by word vectors, from -1 to 1 (0.7 in Jin et al. 2020);
            None takes the ``top`` nearest words.
        contexts: the most distinct texts in which ``masked_lm`` predicts a word; if more texts hold
            the word, they are sorted and taken at equal distances. A candidate's probability in a
            text is its softmax among the 110 most probable pieces (`MaskedLM`), otherwise 0.
        out: a file for the table, see the option; by default none is written.

    Returns:
        The table. Its settings hold the arguments, the digests of the data, the fingerprints of the
        sources and, under ``sizes``, what each source, all sources (``pooled``) and the whole table
        (``table``) can change (`TableSize`).

    Raises:
        InputError: an argument cannot be used, a file is missing or malformed, or the table would
            be written without a word.
    """
    names = [sources] if isinstance(sources, str) else list(dict.fromkeys(sources))
    given, cache = _data(data), None
    if out is not None:
        out = with_home(out)
        check_output_file(out, [*names, *(name for each in given for name in each.names)])
        cache = Path(f"{out}.cache")
    settings = SourceSettings(top=top, cosine=cosine, contexts=contexts, cache=cache, device=device)
    check_tagset("substitutes", tagset)
    made = _loaded(names, settings)
    sentences = [sentence for each in given for sentence in _sentences(each, task)]
    types = WordTypes.of(sentences, tagset)
    needing = [name for name, source in made.items() if source.needs_tags]
    needing += ["same_tag"] if same_tag else []
    if needing and not types.tags:
        raise InputError(
            f"the data have no tags ({types.tagset}) to compare",
            key=", ".join(needing),
            remedy="leave this out, or give the texts tags, as by --tagger nltk",
        )
    by_source: dict[str, Substitutes] = {}
    for name, source in made.items():
        with progress_bar(f"{name}: words", len(types.words)) as show:
            by_source[name] = substitutes_of(source, types, same_tag, show)
    pooled = united(by_source.values())
    whole = symmetric_closure(pooled, types) if symmetric else pooled
    sizes = {name: TableSize.of(some, types) for name, some in by_source.items()}
    sizes |= {"pooled": TableSize.of(pooled, types), "table": TableSize.of(whole, types)}
    about: dict[str, Any] = {
        "sources": {name: source.fingerprint() for name, source in made.items()},
        "data": dict(sorted(item for each in given for item in each.digests().items())),
        "same_tag": same_tag,
        "symmetric": symmetric,
        "tagset": types.tagset,
        "sizes": {name: asdict(size) for name, size in sizes.items()},
    }
    table = SubstitutionTable(whole, about)
    if out is not None and not table.substitutes:
        problem = f"have no substitute for any of the {len(types.words)} words of the data"
        raise InputError(problem, key=", ".join(names), remedy="add a source")
    if out is not None:
        table.write(out)
    return table


def _loaded(names: Sequence[str], settings: SourceSettings) -> dict[str, Source]:
    """Make and load all sources; one error names everything that is missing.

    Raises:
        InputError: no source is named, none reads a setting, such as the vectors that ``cosine``
            compares, or see `SourceSettings.source` and `Source.load`.
    """
    if not names:
        raise InputError("names no source", key="sources", expected="at least one")
    for option, readers in _READERS.items():
        is_set = getattr(settings, option) != getattr(SourceSettings, option)
        if is_set and not {name.partition(":")[0] for name in names} & {*readers}:
            problem = f"no source is {' or '.join(readers)}"
            raise InputError(problem, key=option, remedy="leave it out, or add such a source")
    made: dict[str, Source] = {}

    def make(name: str) -> None:
        made[name] = settings.source(name)
        made[name].load()

    check_all(partial(make, name) for name in names)
    if settings.cosine is not None and not any(
        isinstance(each, NearWords) for each in made.values()
    ):
        problem = "no source has word vectors"
        remedy = "leave it out, or add neighbours:FILE with a file of vectors"
        raise InputError(problem, key="cosine", remedy=remedy)
    return made


def _data(data: Data | Sequence[Data] | Sequence[Example]) -> list[DataSource]:
    """Return the sources of the sentences."""
    several = [data] if isinstance(data, str | Path | DataFile) else list(data)
    if not several:
        expected = "files, or examples as of robustparse.read"
        raise InputError("names no data", key="data", expected=expected)
    sources = [several] if all(isinstance(each, Example) for each in several) else several
    return [
        each if isinstance(each, DataFile) else data_source(each, "data", split="train")
        for each in sources
    ]


def _sentences(data: DataSource, task: str | None) -> list[Sentence]:
    """Return the texts that attacks reword; those without tags are tagged by the data's tagger."""
    if isinstance(data, GivenExamples):
        files = None if task is None else named(task).files
        examples = data.sentences
        return [each.sentence if files is None else files.surface(each) for each in examples]
    kind = task_of(data.names[0]) if task is None else named(task)
    sentences = [kind.files.surface(example) for example in data.read(kind)]
    if data.tagger is None:
        return sentences
    untagged = [at for at, sentence in enumerate(sentences) if not sentence.tags]
    tagged = tagger_named(data.tagger).tagged([sentences[at].words for at in untagged])
    for at, sentence in zip(untagged, tagged, strict=True):
        sentences[at] = replace(sentences[at], upos=sentence.upos, xpos=sentence.xpos)
    return sentences
