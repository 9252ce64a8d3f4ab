"""BERT-Attack's candidates: all combinations of pieces, one text after the other, in float64."""

from functools import cache
from itertools import product
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForMaskedLM, AutoTokenizer

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.unmasked_lm import UnmaskedLM
from robustparse.types import Sentence
from tiny_language_models import VOCABULARY, WORDS, save_bert

NAMES = list(VOCABULARY)
WHOLE = [*WORDS, "un"]
SENTENCES = [
    Sentence(tuple(text.split()))
    for text in ("the dogs barking unloudly . runs", "cats", "Foxes eat a , dog")
]
SLOTS = [
    Slot(number, sentence, position)
    for number, sentence in enumerate(SENTENCES)
    for position in range(len(sentence))
]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(3)
    save_bert(folder, VOCABULARY)
    return folder


@cache
def plain(folder: Path):
    network = AutoModelForMaskedLM.from_pretrained(folder).double().eval()
    return AutoTokenizer.from_pretrained(folder), network


@torch.no_grad()
def by_hand(folder: Path, slot: Slot, top_k: int, alone: bool) -> list[str]:
    """Section 3.2 of Li et al. (2020) for one word."""
    tokenizer, network = plain(folder)
    words = slot.sentence.words
    pieces = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    batch = tokenizer(" ".join(words), return_tensors="pt")
    begin = 1 + sum(map(len, pieces[: slot.position]))
    logits = network(**batch).logits[0, begin : begin + len(pieces[slot.position])]
    predicted = logits.topk(top_k).indices.tolist()
    ranked = []
    for chosen in product(*predicted):
        first, *others = (NAMES[piece] for piece in chosen)
        if first in WHOLE and all(piece.startswith("##") for piece in others):
            ids = torch.tensor([chosen])
            own = network(input_ids=ids).logits[0] if alone and others else logits
            word = first + "".join(piece[2:] for piece in others)
            ranked.append((cross_entropy(own, ids[0]).item(), word))
    return [word for _, word in sorted(ranked)[:top_k]]


@pytest.mark.parametrize("perplexity", ["alone", "sentence"])
@pytest.mark.parametrize("top_k", [9, len(VOCABULARY)])
def test_candidates_are_the_most_fluent_of_all_combinations(perplexity, top_k, bert) -> None:
    generator = UnmaskedLM(
        str(bert), top_k=top_k, perplexity=perplexity, precision="float64", combinations=10**6
    )
    expected = [by_hand(bert, slot, top_k, perplexity == "alone") for slot in SLOTS]
    assert generator.propose(SLOTS, 0) == expected
    assert [generator.propose([slot], 0)[0] for slot in SLOTS[::-1]] == expected[::-1]
    assert len(max(expected, key=len)) > 3
    assert generator.propose([], 0) == []


def test_fewer_combinations_are_the_most_probable_ones(bert) -> None:
    settings = {"top_k": 20, "precision": "float64"}
    by_sentence = UnmaskedLM(str(bert), combinations=3, perplexity="sentence", **settings)
    alone = UnmaskedLM(str(bert), combinations=3, perplexity="alone", **settings)
    slot = SLOTS[3]
    first = by_hand(bert, slot, 20, alone=False)[:3]
    assert by_sentence.propose([slot], 0) == [first]
    order = by_hand(bert, slot, len(VOCABULARY), alone=True)
    assert alone.propose([slot], 0) == [sorted(first, key=order.index)]
    assert by_sentence.fingerprint() != alone.fingerprint()


def test_long_sentences_keep_the_words_around(bert) -> None:
    sentence = Sentence(("cats",) * 60)
    for position in (0, 30, 59):
        ((ids, first, size),) = UnmaskedLM(str(bert))._pieces.unmasked(
            [Slot(0, sentence, position)]
        )
        assert len(ids) <= 40
        assert [NAMES[piece] for piece in ids[first : first + size]] == ["cat", "##s"]
        assert UnmaskedLM(str(bert)).propose([Slot(0, sentence, position)], 0)[0]
