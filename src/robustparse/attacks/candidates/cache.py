"""A disk cache around any candidate generator."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from robustparse.attacks.candidates.generator import CandidateGenerator, Merged, Slot
from robustparse.attacks.candidates.union import blanks
from robustparse.attacks.disk_cache import DiskCache
from robustparse.attacks.victim import Victim
from robustparse.types import Example


class CachedCandidates(CandidateGenerator):
    """Asks the wrapped generator only for slots it has not answered before.

    The key is a hash of the generator's settings and files, the words, the tags and the position,
    and, where the generator draws at random, of the seed and the example's id.

    Args:
        generator: what to cache.
        path: the cache file, created if missing.
    """

    CACHES = ("path",)
    changes = ""

    def __init__(self, generator: CandidateGenerator, path: str) -> None:
        self.generator = generator
        self.path = Path(path).expanduser()
        self.draws, self.is_model = generator.draws, generator.is_model
        self.verbatim, self.features = generator.verbatim, generator.features
        self.spans, self.follows = generator.spans, generator.follows

    def for_victim(self, victim: Victim) -> CandidateGenerator:
        """See `CandidateGenerator.for_victim`."""
        return CachedCandidates(self.generator.for_victim(victim), str(self.path))

    def name(self) -> str:
        """Return the name of the wrapped generator."""
        return self.generator.name()

    def check(self, examples: Sequence[Example]) -> None:
        """See `CandidateGenerator.check`."""
        self.generator.check(examples)

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """See `CandidateGenerator.warnings`."""
        return self.generator.warnings(examples)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if not slots:
            return []
        keys, cache = self._keys(slots, seed), DiskCache(self.path, "candidate")
        rows = cache.read(keys)
        known = {
            key: _decoded(cache, key, rows[key], None if self.spans else slot.word)
            for key, slot in zip(keys, slots, strict=True)
            if key in rows
        }
        missing = [index for index, key in enumerate(keys) if key not in known]
        if missing:
            fresh = self.generator.propose([slots[index] for index in missing], seed)
            new = {keys[index]: words for index, words in zip(missing, fresh, strict=True)}
            cache.write({key: [_encoded(word) for word in words] for key, words in new.items()})
            known |= new
        return [list(known[key]) for key in keys]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return self.generator.fingerprint()

    def _keys(self, slots: Sequence[Slot], seed: int) -> list[bytes]:
        settings = self.generator.fingerprint()
        keys = []
        for slot in slots:
            drawn = [seed, slot.id] if self.draws else []
            tags: list[object] = [slot.tagged("upos"), slot.tagged("xpos")]
            if self.generator.features:
                tags.append(slot.analysis)
            content = json.dumps([settings, slot.sentence.words, tags, slot.position, drawn])
            keys.append(hashlib.sha256(content.encode()).digest())
        return keys


def _encoded(word: str) -> str | list[str]:
    """Return a candidate as JSON: a merged one is a list."""
    return [str(word)] if isinstance(word, Merged) else word


def _decoded(cache: DiskCache, key: bytes, words: list[object], original: str | None) -> list[str]:
    """Return the candidates in a row for a word, or for any span if the word is None.

    Raises:
        InputError: the row contains something that is not a candidate.
    """
    decoded: list[str] = []
    for word in words:
        if original is None and isinstance(word, list) and len(word) == 1:
            decoded.append(Merged(word[0]))
        elif isinstance(word, str) and (original is None or _is_word(word, original)):
            decoded.append(word)
        else:
            raise cache.row_error(key, f"candidate {word!r:.60}", "single words")
    return decoded


def _is_word(word: str, original: str) -> bool:
    return bool(word) and blanks(word) in ([], blanks(original))
