"""Words as pieces of a masked language model's vocabulary, and the model's inputs for a word."""

import unicodedata
from collections.abc import Sequence
from typing import Literal

from transformers import PreTrainedTokenizerBase

from robustparse.attacks.candidates.generator import Slot

Put = Literal["replace", "insert_before", "insert_after", "merge"]
"""Where the mask goes: in place of a word, before it, after it, or in place of it and the next."""


class WordPieces:
    """Converts words to pieces and back, for WordPiece, byte-level and SentencePiece vocabularies.

    Args:
        tokenizer: the model's tokenizer.
        size: the size of the vocabulary.
        room: maximum number of pieces of a text, special ones included.

    Attributes:
        whole_words: the word of each piece, "" if it is only part of a word.
        goes_on: whether each piece continues a word.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, size: int, room: int) -> None:
        self._tokenizer = tokenizer
        self._tokens = tokens = tokenizer.convert_ids_to_tokens(list(range(size)))
        self._marker = _marker([token for token in tokens if token])
        special = {None, *tokenizer.all_special_tokens}
        inside = self._marker == "##"  # the mark stands inside a word, not before one
        self.goes_on = [
            token not in special and token.startswith(self._marker) == inside for token in tokens
        ]
        self.whole_words = [
            "" if goes_on or token in special else self.word([number])
            for number, (token, goes_on) in enumerate(zip(tokens, self.goes_on, strict=True))
        ]
        first, last = ("cls_token_id", "bos_token_id"), ("sep_token_id", "eos_token_id")
        self._first, self._last = (
            [mark for name in names if (mark := getattr(tokenizer, name)) is not None][:1]
            for names in (first, last)
        )
        self._room = room - len(self._first + self._last)

    def word(self, pieces: Sequence[int]) -> str:
        """Return the word of its pieces, "" if it has no letter or number, or is several words."""
        tokens = [self._tokens[piece] for piece in pieces]
        if self._marker == "##":
            word = "".join(token.removeprefix("##") for token in tokens)
        else:
            word = self._tokenizer.convert_tokens_to_string(tokens).strip()
        visible = word.split() == [word] and "\ufffd" not in word
        readable = any(unicodedata.category(character)[0] in "LN" for character in word)
        return word if visible and readable else ""

    def masked(self, slots: Sequence[Slot], put: Put = "replace") -> list[tuple[list[int], int]]:
        """Encode each slot's sentence with a mask: piece ids and the mask's index."""
        pieces, mask = self._encoded(slots), [self._tokenizer.mask_token_id]
        inputs = []
        for slot in slots:
            begin = slot.position + 1 if put == "insert_after" else slot.position
            end = {"replace": begin + 1, "merge": begin + 2}.get(put, begin)
            inputs.append(self._around(slot.sentence.words, begin, mask, end, pieces))
        return inputs

    def unmasked(self, slots: Sequence[Slot]) -> list[tuple[list[int], int, int]]:
        """Encode each slot's sentence: piece ids, the index of the word's first piece, and how many
        pieces it has.
        """
        encoded, inputs = self._encoded(slots), []
        for slot in slots:
            word, at = encoded[slot.word][: self._room], slot.position
            ids, first = self._around(slot.sentence.words, at, word, at + 1, encoded)
            inputs.append((ids, first, len(word)))
        return inputs

    def _encoded(self, slots: Sequence[Slot]) -> dict[str, list[int]]:
        """Return the pieces of each word of the slots' sentences."""
        words = list(dict.fromkeys(word for slot in slots for word in slot.sentence.words))
        space = " " if self._marker == "Ġ" else ""
        encoded = self._tokenizer([space + word for word in words], add_special_tokens=False)
        unknown = self._tokenizer.unk_token_id
        empty = [] if unknown is None else [unknown]
        # A word of unusual characters may have no piece at all; it becomes the unknown piece.
        return {
            word: (ids or empty) if word else []
            for word, ids in zip(words, encoded["input_ids"], strict=True)
        }

    def _around(
        self,
        words: Sequence[str],
        begin: int,
        middle: list[int],
        end: int,
        pieces: dict[str, list[int]],
    ) -> tuple[list[int], int]:
        """Put pieces in the place of words[begin:end]; return the text and their first index."""
        before = [piece for word in words[:begin] for piece in pieces[word]]
        after = [piece for word in words[end:] for piece in pieces[word]]
        # If the sentence is too long for the model, keep the nearest context on both sides.
        keep = self._room - len(middle)
        left = min(len(before), max(keep // 2, keep - len(after)))
        before, after = before[len(before) - left :], after[: keep - left]
        return [*self._first, *before, *middle, *after, *self._last], len(self._first) + left


def _marker(tokens: Sequence[str]) -> str:
    """Return the vocabulary's mark: `##` inside a word, or one of two marks before a word."""
    counts = {mark: sum(token.startswith(mark) for token in tokens) for mark in ("##", "Ġ", "▁")}
    return max(counts, key=lambda mark: counts[mark])
