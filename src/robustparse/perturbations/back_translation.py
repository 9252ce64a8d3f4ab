"""Back-translation: translates sentences into another language and back (Huang et al. 2021, 3.1).

The paper uses Google's interface with Russian, French and Japanese and keeps the best of the three
by Sentence-BERT. Here any command or Marian model can translate.
"""

import hashlib
import json
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import regex

from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.attacks.disk_cache import DiskCache
from robustparse.devices import chosen_device
from robustparse.errors import InputError
from robustparse.files.digests import folder_digest
from robustparse.files.writing import unwritable
from robustparse.perturbations.perturbation import NEW, Perturbation, Rewording
from robustparse.pretrained.loading import TRANSLATOR, load_translator, model_folder
from robustparse.types import Example, Sentence

# A word of letters with their marks, or one other character as a reader sees it.
_TOKEN = regex.compile(r"\w+(?:[-'’.]\w+)*|(?!\s)\X")
_TEXTS_AT_ONCE = 64
_MOST_UNITS = 3  # maximum length of a translation, in units per unit of the text
_BEAMS = 4


class Translator(ABC):
    """Translates from one language to another."""

    @property
    @abstractmethod
    def settings(self) -> str:
        """A text that changes with everything that affects the translations."""

    @abstractmethod
    def translate(self, texts: Sequence[str]) -> list[str]:
        """Translate texts of one line each, independently of each other."""


class TranslationCommand(Translator):
    """A program that reads one text per line and writes one translation per line.

    A file may name it only with ``--trust`` and the program's name, see `robustparse.trust`.

    Args:
        command: the program and its arguments, such as ``[apertium, -u, eng-spa]`` (Debian: `apt
            install apertium apertium-eng-spa`; ``-u`` omits the marks at unknown words).
        seconds: the time limit for 64 texts.

    Raises:
        InputError: when first used: the command is missing, fails, takes longer, or answers with
            another number of lines or in another encoding.
    """

    runs_programs = True

    def __init__(self, command: list[str], *, seconds: float = 300.0) -> None:
        if not command:
            raise InputError("is empty", key="translation command", expected="a program")
        if not seconds > 0:
            raise InputError(f"must be > 0, got {seconds}", key="translation command: seconds")
        self.command, self.seconds = list(command), seconds

    @property
    def settings(self) -> str:
        """See `Translator.settings`."""
        return json.dumps(self.command)

    def translate(self, texts: Sequence[str]) -> list[str]:
        """See `Translator.translate`."""
        key = f"translation command: {' '.join(self.command)}"
        again = "then run again: what has been translated is kept in the cache"
        lines = "".join(f"{text}\n" for text in texts)
        try:
            done = subprocess.run(
                self.command,
                input=lines.encode(errors="replace"),
                capture_output=True,
                timeout=self.seconds,
                check=False,
            )
        except OSError as error:
            remedy = f"install it, or give its path, {again}"
            raise InputError(f"cannot be run ({error.strerror})", key=key, remedy=remedy) from error
        except subprocess.TimeoutExpired:
            problem = f"no answer to {len(texts)} texts in {self.seconds:g} s"
            raise InputError(problem, key=key, remedy=f"raise `seconds`, {again}") from None
        try:
            output = done.stdout.decode().replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            problem = f"answers with the byte 0x{done.stdout[error.start]:02x}"
            remedy = f"set its encoding, {again}"
            raise InputError(problem, key=key, expected="UTF-8", remedy=remedy) from None
        answers = output.removesuffix("\n").split("\n") if output else []
        if done.returncode or len(answers) != len(texts):
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
            # The cause is in the last line of a traceback, and in the first line of a usage.
            ends = " … ".join(line.strip()[:120] for line in dict.fromkeys((said[0], said[-1])))
            problem = f"ended with code {done.returncode} and {len(answers)} lines for {len(texts)}"
            raise InputError(f"{problem}, saying: {ends}", key=key, remedy=f"correct it, {again}")
        return answers


class TranslationModel(Translator):
    """A model of the library transformers, such as Marian's ``Helsinki-NLP/opus-mt-en-fr``.

    Some of them need the library sentencepiece.

    Args:
        model: folder of a saved model, or a hub name (read from the local cache).
        device: `auto` takes a GPU if there is one.
        download: whether to download a model that is not in the local cache.

    Raises:
        InputError: when first used: the model or the device is missing.
    """

    def __init__(self, model: str, *, device: str = "auto", download: bool = False) -> None:
        self.model, self.device, self.download = model, device, download

    @property
    def settings(self) -> str:
        """See `Translator.settings`."""
        files = folder_digest(model_folder(self.model, self.download, TRANSLATOR))
        return json.dumps([files, _BEAMS])

    def translate(self, texts: Sequence[str]) -> list[str]:
        """See `Translator.translate`; texts are not batched, since that could change results."""
        model, tokenizer = self._loaded
        translations = []
        for text in texts:
            units = tokenizer([text], return_tensors="pt", truncation=True).to(model.device)
            read = {name: units[name] for name in ("input_ids", "attention_mask")}
            most = _MOST_UNITS * units["input_ids"].shape[1]
            made = model.generate(**read, num_beams=_BEAMS, do_sample=False, max_new_tokens=most)
            translations.append(str(tokenizer.decode(made[0], skip_special_tokens=True)))
        return translations

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        model, tokenizer = load_translator(self.model, self.download)
        return model.to(chosen_device("device", self.device)), tokenizer


class BackTranslation(Perturbation):
    """Translates a sentence into another language and back.

    Words that both sentences share in the same order are aligned.

    Args:
        there: translators into other languages.
        back: translators from each of these languages, in the same order.
        similarity: accepts a translation if its similarity to the original reaches the threshold,
            and chooses the most similar one of several languages; without it, the first language is
            used.
        cache: file of translations, created if missing; None: no cache.

    Raises:
        InputError: the numbers of translators differ; or see the translators.
    """

    def __init__(
        self,
        there: list[Translator],
        back: list[Translator],
        *,
        similarity: TextSimilarity | None = None,
        cache: str | None = "~/.cache/robustparse/translations.sqlite",
    ) -> None:
        if len(there) != len(back) or not there:
            raise InputError(
                f"{len(there)} translators to other languages, but {len(back)} back",
                key="back translation",
                expected="equal numbers, at least one",
            )
        self.there, self.back = list(there), list(back)
        self.similarity, self.cache = similarity, cache

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`; nothing is drawn."""
        (rewording,) = self.rewordings([Example(0, sentence, None)], 0)
        return rewording

    def rewordings(self, examples: Sequence[Example], seed: int) -> list[Rewording]:
        """See `Perturbation.rewordings`; nothing is drawn."""
        texts = [" ".join(example.sentence.words) for example in examples]
        if not texts:
            return []
        versions = [
            self._translated(self._translated(texts, there), back)
            for there, back in zip(self.there, self.back, strict=True)
        ]
        chosen = self._best(texts, versions)
        return [
            _aligned(example.sentence.words, text)
            for example, text in zip(examples, chosen, strict=True)
        ]

    def _best(self, texts: Sequence[str], versions: Sequence[Sequence[str]]) -> list[str]:
        if self.similarity is None:
            return list(versions[0])
        measured = np.stack([self.similarity.between(version, texts) for version in versions])
        best = measured.argmax(axis=0).tolist()
        enough = (measured.max(axis=0) >= self.similarity.minimum).tolist()
        return [
            versions[which][at] if kept else text
            for at, (text, which, kept) in enumerate(zip(texts, best, enough, strict=True))
        ]

    def _translated(self, texts: Sequence[str], translator: Translator) -> list[str]:
        """Translate texts, using the cache; new translations are made and stored in batches."""
        settings = translator.settings  # computed once: it may be the digest of a folder
        keys = {text: _key(settings, text) for text in texts}
        cache = None
        known: dict[bytes, str] = {}
        if self.cache is not None:
            cache = DiskCache(Path(self.cache).expanduser(), "translation")
            rows = cache.read([*keys.values()])
            known = {key: _text(cache, key, row) for key, row in rows.items()}
            known = {key: text for key, text in known.items() if unwritable(text) is None}
        left = [text for text, key in keys.items() if key not in known]
        for begin in range(0, len(left), _TEXTS_AT_ONCE):
            batch = left[begin : begin + _TEXTS_AT_ONCE]
            new = zip([keys[text] for text in batch], translator.translate(batch), strict=True)
            fresh = dict(new)
            for text in batch:
                _check(translator, text, fresh[keys[text]])
            if cache is not None:
                cache.write({key: [text] for key, text in fresh.items()})
            known |= fresh
        return [known[keys[text]] for text in texts]


def _key(settings: str, text: str) -> bytes:
    return hashlib.sha256(f"{settings}\n{text}".encode()).digest()


def _check(translator: Translator, text: str, answer: str) -> None:
    """Reject a translation with a character that cannot be written to a file of sentences.

    Raises:
        InputError: names the translator and the character.
    """
    if character := unwritable(answer):
        raise InputError(
            f"answers {text!r:.60} with {character}",
            key=f"{type(translator).__name__} {translator.settings}",
            expected="a line of text without control characters",
            remedy="correct the command, or choose another model",
        )


def _text(cache: DiskCache, key: bytes, row: Sequence[object]) -> str:
    if len(row) != 1 or not isinstance(row[0], str):
        raise cache.row_error(key, f"{row!r:.60}", "one text")
    return row[0]


def _aligned(words: Sequence[str], text: str) -> Rewording:
    """Split a text into words, lower-cased if the original is, and align equal words."""
    new: list[str] = _TOKEN.findall(text)
    if not any(word != word.lower() for word in words):
        new = [word.lower() for word in new]
    if not new:
        return Rewording.of(words)
    origins = [NEW] * len(new)
    for block in SequenceMatcher(None, words, new, autojunk=False).get_matching_blocks():
        origins[block.b : block.b + block.size] = range(block.a, block.a + block.size)
    return Rewording(tuple(new), tuple(origins))
