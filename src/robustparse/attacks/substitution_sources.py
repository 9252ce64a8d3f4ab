"""Sources of a substitution table: each proposes substitutes for all words of a corpus.

A source is named as in ``wordnet`` or ``neighbours:FILE``.
"""

import hashlib
import json
import string
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from robustparse.attacks.candidates.characters import CharacterEdits
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.masked_lm import MaskedLM
from robustparse.attacks.candidates.neighbours import EmbeddingNeighbours
from robustparse.attacks.candidates.sememes import Sememes
from robustparse.attacks.candidates.wordnet import WordNetSynonyms
from robustparse.attacks.constraints.vector_cosine import WordVectorCosine
from robustparse.attacks.disk_cache import DiskCache
from robustparse.attacks.word_types import WordTypes, is_type
from robustparse.errors import InputError, check_least, did_you_mean
from robustparse.files.compression import plain_ending
from robustparse.graphemes import graphemes, is_letters
from robustparse.types import Sentence

Proposal = tuple[str, Sequence[str]]
"""A word and its substitutes, the best first."""

_AT_ONCE = 64  # words that are looked up together, and whose answers are stored together
_SHORTEST = 3  # letters of a word with typos, as in `robustparse.perturbations.Typos`

SOURCES = {
    "wordnet": "",
    "neighbours": "FILE",
    "masked_lm": "FOLDER",
    "typos": "",
    "training_words": "",
    "lexicon": "FILE",
    "sememes": "FILE",
}
"""Map the names of sources to what follows them after a colon."""

GENERATORS = {
    "wordnet": "WordNetSynonyms",
    "neighbours": "EmbeddingNeighbours",
    "masked_lm": "MaskedLM",
    "typos": "CharacterEdits",
    "training_words": "TrainingWords",
    "lexicon": "Lexicon",
    "sememes": "Sememes",
}
"""Map the names of sources to the candidate generators that propose such words in an attack."""


class Source(ABC):
    """Proposes substitutes for words.

    Attributes:
        misspells: whether substitutes are the word itself, misspelt, and so have its tag.
        needs_tags: whether it needs the tags of the words.
    """

    misspells: bool = False
    needs_tags: bool = False

    @abstractmethod
    def load(self) -> None:
        """Load what the source needs.

        Raises:
            InputError: something is missing or cannot be read.
        """

    @abstractmethod
    def propose(self, types: WordTypes) -> Iterator[Proposal]:
        """Yield every word of ``types.words`` with its substitutes, in any casing."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a text that changes with all settings and files, but not with the corpus."""


class Generated(Source):
    """Asks a candidate generator that looks at a word and its tag alone.

    Args:
        generator: the generator; a word has its most frequent tag.
        top: substitutes of a word, the best; None takes all.
    """

    def __init__(self, generator: CandidateGenerator, top: int | None = None) -> None:
        self.generator, self.top = generator, top

    def load(self) -> None:
        """See `Source.load`; generators load everything for their first word."""
        self.generator.propose([Slot(0, Sentence(("a",)), 0)], 0)

    def propose(self, types: WordTypes) -> Iterator[Proposal]:
        """See `Source.propose`."""
        for words in _chunks(types.words):
            slots = [Slot(0, types.alone(word), 0) for word in words]
            for word, some in zip(words, self.generator.propose(slots, 0), strict=True):
                yield word, some[: self.top]

    def fingerprint(self) -> str:
        """See `Source.fingerprint`."""
        return f"{self.generator.fingerprint()} top {self.top}"


class NearWords(Generated):
    """Proposes words of a file of vectors whose cosine reaches a minimum.

    Args:
        vectors: the file, see `EmbeddingNeighbours`.
        top: substitutes of a word, the nearest.
        cosine: the minimum.
    """

    def __init__(self, vectors: str, top: int, cosine: float) -> None:
        super().__init__(EmbeddingNeighbours(vectors, k=top))
        self._vectors = WordVectorCosine(vectors, minimum=cosine)

    def propose(self, types: WordTypes) -> Iterator[Proposal]:
        """See `Source.propose`."""
        for word, some in super().propose(types):
            near = self._vectors.near(self._vectors.cosines([word] * len(some), some))
            yield word, [each for each, is_near in zip(some, near, strict=True) if is_near]

    def fingerprint(self) -> str:
        """See `Source.fingerprint`."""
        return f"{super().fingerprint()} cosine {self._vectors.minimum}"


class OneEditTypos(Source):
    """Proposes every typing error of one edit.

    The edits insert a letter from a to z anywhere, delete a letter, swap two neighbours, or replace
    a letter by one from a to z. Words of fewer than three letters or with other characters have no
    typos, since an error there often gives another word.
    """

    misspells = True

    def __init__(self) -> None:
        self._edits = CharacterEdits(sample=None, alphabet=string.ascii_lowercase)

    def load(self) -> None:
        """See `Source.load`; there is nothing to load."""

    def propose(self, types: WordTypes) -> Iterator[Proposal]:
        """See `Source.propose`."""
        for word in types.words:
            typed = is_letters(word) and len(graphemes(word)) >= _SHORTEST
            yield word, self._edits.propose([Slot(0, Sentence((word,)), 0)], 0)[0] if typed else []

    def fingerprint(self) -> str:
        """See `Source.fingerprint`."""
        return f"OneEditTypos {self._edits.fingerprint()}"


class WordsOfTag(Source):
    """Proposes words of the corpus with the same most frequent tag, the most frequent first.

    Args:
        top: substitutes of a word.
    """

    needs_tags = True

    def __init__(self, top: int) -> None:
        self.top = top

    def load(self) -> None:
        """See `Source.load`; there is nothing to load."""

    def propose(self, types: WordTypes) -> Iterator[Proposal]:
        """See `Source.propose`."""
        for word in types.words:
            alike = types.by_tag.get(types.tags.get(word, ""), [])[: self.top + 1]
            yield word, [other for other in alike if other != word][: self.top]

    def fingerprint(self) -> str:
        """See `Source.fingerprint`."""
        return f"WordsOfTag top {self.top}"


class MaskedWords(Source):
    """Proposes what a masked language model predicts where the word occurs.

    A candidate's score in an occurrence is its softmax among the pieces that the model keeps
    (`MaskedLM.probabilities`), 0 if it is not among them; candidates that differ in casing add up.
    Its score for the word is the mean over the word's occurrences (`WordTypes.occurrences`). The
    ``top`` candidates with the highest scores are proposed, ties by name.

    Args:
        model: the masked language model.
        top: substitutes of a word.
        contexts: occurrences of a word that are looked at, at most.
        cache: a file that keeps finished words, so that an interrupted run resumes; None keeps
            nothing. Words are stored 64 at a time with what they depend on.
    """

    def __init__(self, model: MaskedLM, top: int, contexts: int, cache: Path | None = None) -> None:
        self.model, self.top, self.contexts, self.cache = model, top, contexts, cache

    def load(self) -> None:
        """See `Source.load`."""
        self.model.probabilities([Slot(0, Sentence(("a",)), 0)])

    def propose(self, types: WordTypes) -> Iterator[Proposal]:
        """See `Source.propose`."""
        cache = None if self.cache is None else DiskCache(self.cache, "candidate")
        for words in _chunks(types.words):
            keys = [self._key(types, word) for word in words]
            known = {} if cache is None else cache.read(keys)
            missing = {key: word for key, word in zip(keys, words, strict=True) if key not in known}
            pooled = self._pooled(types, [*missing.values()])
            new = dict(zip(missing, pooled, strict=True))
            if cache is not None and new:
                cache.write(new)
            for key, word in zip(keys, words, strict=True):
                some = new[key] if key in new else known[key]
                if cache is not None and not all(isinstance(each, str) for each in some):
                    raise cache.row_error(key, f"{some!r:.60}", "words")
                yield word, some

    def _key(self, types: WordTypes, word: str) -> bytes:
        content = [self.fingerprint(), word, types.occurrences(word, self.contexts)]
        return hashlib.sha256(json.dumps(content).encode()).digest()

    def _pooled(self, types: WordTypes, words: Sequence[str]) -> list[list[str]]:
        """Return the candidates of each word, by falling mean probability."""
        occurrences = [types.occurrences(word, self.contexts) for word in words]
        slots = [Slot(0, Sentence(text), at) for some in occurrences for text, at in some]
        probabilities = iter(self.model.probabilities(slots) if slots else [])
        pooled = []
        for word, some in zip(words, occurrences, strict=True):
            sums: dict[str, float] = {}
            for _ in some:
                for candidate, probability in next(probabilities):
                    lowered = candidate.lower()
                    sums[lowered] = sums.get(lowered, 0.0) + probability
            sums.pop(word, None)
            ranked = sorted(sums, key=lambda candidate: (-sums[candidate], candidate))
            pooled.append([each for each in ranked if is_type(each)][: self.top])
        return pooled

    def fingerprint(self) -> str:
        """See `Source.fingerprint`."""
        return f"MaskedWords {self.model.fingerprint()} top {self.top} contexts {self.contexts}"


@dataclass(frozen=True, kw_only=True)
class SourceSettings:
    """Settings of all sources.

    Args:
        top: substitutes of a word, at most, from each source that ranks very many words:
            `neighbours`, `masked_lm` and `training_words`.
        cosine: least cosine of neighbours by word vectors; None takes the nearest ones, however
            far.
        contexts: see `MaskedWords`.
        cache: see `MaskedWords`.
        device: where a masked language model computes: auto, cpu or cuda.
    """

    top: int = 50
    cosine: float | None = None
    contexts: int = 10
    cache: Path | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        check_least("substitutes", top=self.top, contexts=self.contexts)

    def source(self, name: str) -> Source:
        """Make a source by its name.

        ``neighbours`` takes a JSON object of words and their neighbours (a file ending in .json),
        or a text file of word vectors.

        Raises:
            InputError: the name is unknown, lacks its file or has one too many; or the file is not
                there or malformed. Some files are only read by `Source.load`.
        """
        kind, colon, file = name.partition(":")
        if kind not in SOURCES:
            known = [*map(_written, SOURCES)]
            raise InputError(
                f"got {name!r}",
                key="sources",
                expected=f"some of {', '.join(known)}",
                remedy=did_you_mean(kind, known),
            )
        if bool(file) != bool(SOURCES[kind]) or (colon and not file):
            raise InputError(f"got {name!r}", key="sources", expected=_written(kind))
        path = Path(file).expanduser()
        if file and not (path.is_file() if SOURCES[kind] == "FILE" else path.is_dir()):
            problem = f"no such {SOURCES[kind].lower()}"
            raise InputError(problem, path=file, key=f"sources: {kind}")
        return self._made(kind, file)

    def _made(self, kind: str, file: str) -> Source:
        match kind:
            case "wordnet":
                return Generated(WordNetSynonyms())
            case "neighbours" if plain_ending(file) == ".json":
                return Generated(Lexicon(file), self.top)
            case "neighbours" if self.cosine is not None:
                return NearWords(file, self.top, self.cosine)
            case "neighbours":
                return Generated(EmbeddingNeighbours(file, k=self.top), self.top)
            case "masked_lm":
                model = MaskedLM(file, sample=None, device=self.device)
                return MaskedWords(model, self.top, self.contexts, self.cache)
            case "typos":
                return OneEditTypos()
            case "training_words":
                return WordsOfTag(self.top)
            case "lexicon":
                return Generated(Lexicon(file))
            case _:
                return Generated(Sememes(file, words="dictionary"))


def _written(kind: str) -> str:
    return f"{kind}:{SOURCES[kind]}" if SOURCES[kind] else kind


def _chunks(words: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(words), _AT_ONCE):
        yield words[begin : begin + _AT_ONCE]
