"""A tiny random BERT: against transformers run plainly, one sentence and one mask at a time."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from attack_fakes import example
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertModel,
    BertTokenizer,
    DistilBertConfig,
    DistilBertForMaskedLM,
)

from robustparse.attacks.candidates import masked_lm
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.masked_lm import MaskedLM
from robustparse.attacks.candidates.word_pieces import WordPieces
from robustparse.errors import InputError
from tiny_language_models import VOCABULARY, WORDS

TEXTS = [
    "the dogs barking loudly .",
    "a cat",
    "Foxes run , unloudly , the jumping dog eats the cat .",
]


def slots(texts: list[str] = TEXTS) -> list[Slot]:
    sentences = [example(text, " ".join(["NN"] * len(text.split()))).sentence for text in texts]
    return [
        Slot(number, sentence, position)
        for number, sentence in enumerate(sentences)
        for position in range(len(sentence))
    ]


@cache
def plain(folder: Path):
    network = AutoModelForMaskedLM.from_pretrained(folder).double().eval()
    return AutoTokenizer.from_pretrained(folder), network


def plain_logits(folder: Path, slot: Slot) -> torch.Tensor:
    """Logits for the slot from the tokenizer's own encoding of the text with [MASK] in it."""
    tokenizer, network = plain(folder)
    words = list(slot.sentence.words)
    words[slot.position] = "[MASK]"
    batch = tokenizer(" ".join(words), return_tensors="pt")
    with torch.no_grad():
        logits = network(**batch).logits[0]
    (at,) = torch.nonzero(batch["input_ids"][0] == tokenizer.mask_token_id).flatten().tolist()
    return logits[at]


def test_ranked_candidates_equal_a_plain_run(bert: Path) -> None:
    generator = MaskedLM(str(bert), top_k=len(VOCABULARY), sample=None, precision="float64")
    names = list(VOCABULARY)
    for slot, found in zip(slots(), generator.propose(slots(), seed=0), strict=True):
        order = plain_logits(bert, slot).argsort(descending=True).tolist()
        whole = [names[index] for index in order if names[index] in [*WORDS, "un"]]
        assert found == whole


def test_a_word_of_several_pieces_is_one_mask(bert: Path) -> None:
    generator = MaskedLM(str(bert), sample=None)
    (slot,) = [slot for slot in slots() if slot.word == "barking"]
    ((ids, at),) = generator._pieces.masked([slot])
    tokens = [list(VOCABULARY)[index] for index in ids]
    assert tokens == ["[CLS]", "the", "dog", "##s", "[MASK]", "loud", "##ly", ".", "[SEP]"]
    assert tokens[at] == "[MASK]"


@pytest.mark.parametrize("sample", [None, 9])
def test_batched_equals_one_by_one(bert: Path, sample: int | None) -> None:
    generator = MaskedLM(str(bert), top_k=12, sample=sample, precision="float64")
    together = generator.propose(slots(), seed=3)
    assert [generator.propose([slot], seed=3)[0] for slot in slots()] == together
    assert generator.propose(slots()[::-1], seed=3)[::-1] == together
    assert (generator.propose(slots(), seed=4) == together) == (sample is None)
    for tokens in (1, 40):
        generator.batch_tokens = tokens
        assert generator.propose(slots(), seed=3) == together


def test_draws_follow_the_softmax_without_replacement(bert: Path) -> None:
    sentence = slots()[1].sentence
    logits = plain_logits(bert, Slot(0, sentence, 1))
    top = logits.topk(6).indices.tolist()
    names = list(VOCABULARY)
    probability = logits[top].softmax(0).numpy()
    generator = MaskedLM(str(bert), top_k=6, sample=6, precision="float64")
    runs = 600
    drawn = generator.propose([Slot(number, sentence, 1) for number in range(runs)], seed=0)
    kept = [names[index] for index in top if names[index] in [*WORDS, "un"]]
    assert len(kept) > 2
    assert all(sorted(words) == sorted(kept) for words in drawn)
    # Among whole words, the first drawn follows their renormalised softmax.
    share = np.array([p for p, index in zip(probability, top, strict=True) if names[index] in kept])
    share /= share.sum()
    counts = np.array([sum(words[0] == word for words in drawn) for word in kept])
    assert ((counts - runs * share) ** 2 / (runs * share)).sum() < 20.5  # 5 degrees, 1 in 1000
    generator.sample = 2
    assert all(len(words) <= 2 for words in generator.propose(slots(), 0))


def test_each_slot_draws_on_its_own(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids, logits = np.arange(11, 24), np.zeros(13)
    monkeypatch.setattr(
        MaskedLM, "_top", lambda self, some: ((i, ids, logits) for i in range(len(some)))
    )
    one, two = slots(["a cat", "a cat"])[:2], slots(["a cat", "a cat"])[2:]
    drawn = MaskedLM(str(bert), top_k=13, sample=13).propose(one + two, seed=0)
    assert len({tuple(words) for words in drawn}) == 4


def test_the_head_on_only_the_mask_is_the_whole_model(bert: Path) -> None:
    lean = MaskedLM(str(bert), sample=None, precision="float64")
    assert lean._loaded.head is not None
    full = MaskedLM(str(bert), sample=None, precision="float64")
    full._loaded.__dict__["head"] = None
    assert lean.propose(slots(), 0) == full.propose(slots(), 0)


def test_a_model_whose_head_cannot_be_split(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = DistilBertConfig(
        vocab_size=len(VOCABULARY), dim=16, hidden_dim=32, n_layers=1, n_heads=2
    )
    DistilBertForMaskedLM(config).save_pretrained(tmp_path)
    BertTokenizer(vocab=VOCABULARY).save_pretrained(tmp_path)
    generator = MaskedLM(str(tmp_path), top_k=len(VOCABULARY), sample=None)
    assert generator._loaded.head is None
    assert all(sorted(words) == sorted([*WORDS, "un"]) for words in generator.propose(slots(), 0))


def test_long_and_odd_sentences(bert: Path) -> None:
    generator = MaskedLM(str(bert), top_k=12, sample=None)
    words = ["dogs"] * 30
    for position in (0, 3, 15, 29):
        text = [*words[:position], "cat", *words[position + 1 :]]
        slot = slots([" ".join(text)])[position]
        ((ids, at),) = generator._pieces.masked([slot])
        assert len(ids) <= 24  # the table of positions
        assert ids[at] == VOCABULARY["[MASK]"]
        assert generator.propose([slot], 0)[0]
    # A word without a piece still takes a place.
    ((ids, at),) = generator._pieces.masked([slots(["\u200b dog"])[1]])
    assert ids == [VOCABULARY[piece] for piece in ("[CLS]", "[UNK]", "[MASK]", "[SEP]")]
    assert generator.propose([], 0) == []


def test_byte_level_vocabularies_mark_the_start_of_a_word(tmp_path: Path) -> None:
    tokens = ["Ġdog", "Ġcat", "s", "Ġ,", "<mask>", "ĠÃ©tÃ©", "dog"]

    class Tokenizer:
        all_special_tokens = ("<mask>",)
        cls_token_id = sep_token_id = eos_token_id = None
        bos_token_id = 1

        def convert_ids_to_tokens(self, ids):
            return [tokens[index] for index in ids]

        def convert_tokens_to_string(self, some):
            return some[0].replace("ĠÃ©tÃ©", " été").replace("Ġ", " ")

    pieces = WordPieces(Tokenizer(), len(tokens), room=512)
    assert pieces.whole_words == ["dog", "cat", "", "", "", "été", ""]


def test_nothing_is_loaded_before_the_first_slot_and_no_random_state_moves(bert: Path) -> None:
    assert MaskedLM("no/such/folder").propose([], 0) == []
    state = torch.get_rng_state()
    MaskedLM(str(bert), sample=9, top_k=9).propose(slots(), 0)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_fingerprint_follows_settings_and_weights(bert: Path, tmp_path: Path) -> None:
    prints = {
        MaskedLM(str(bert)).fingerprint(),
        MaskedLM(str(bert), top_k=111).fingerprint(),
        MaskedLM(str(bert), sample=None).fingerprint(),
    }
    for file in bert.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert MaskedLM(str(tmp_path)).fingerprint() in prints
    weights = tmp_path / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert MaskedLM(str(tmp_path)).fingerprint() not in prints
    assert len(prints) == 3


def test_a_model_is_fetched_before_its_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two models may have one config.json, which comes first."""

    def load(name: str, *settings: object) -> None:
        (tmp_path / "model.safetensors").write_text(name)

    monkeypatch.setattr(masked_lm, "model_folder", lambda *settings: tmp_path)
    monkeypatch.setattr(masked_lm, "LoadedModel", load)
    prints = {MaskedLM(name, download=True).fingerprint() for name in ("one", "two")}
    assert len(prints) == 2


def other_tokenizer(folder: Path) -> None:
    BertTokenizer(vocab=VOCABULARY | {"more": len(VOCABULARY)}).save_pretrained(folder)


def no_head(folder: Path) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(VOCABULARY), intermediate_size=32, **sizes)
    BertModel(config).save_pretrained(folder)


def no_tokenizer(folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (folder / name).unlink(missing_ok=True)


def change(name: str, **settings: object) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        config = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(config | settings))

    return changed


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")


def torn(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])


MISTAKES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "neither a folder nor a model in the local cache"),
    "no config": (lambda folder: (folder / "config.json").unlink(), "no config.json"),
    "no tokenizer": (no_tokenizer, "it has no tokenizer"),
    "other tokenizer": (
        other_tokenizer,
        "its tokenizer has piece ids up to 24, its weights rows up to 23",
    ),
    "no head": (no_head, r"weights lack cls\.predictions"),
    "no mask": (change("tokenizer_config.json", mask_token=None), "no mask token"),
    "bad config": (lambda folder: (folder / "config.json").write_text("{"), "cannot be loaded"),
    "no weights": (
        lambda folder: (folder / "model.safetensors").unlink(),
        "transformers cannot load it",
    ),
    "torn weights": (torn, "transformers cannot load it"),
    "pickled weights": (pickled, "transformers cannot load it"),
    "not masked": (change("config.json", model_type="gpt2"), "transformers cannot load it"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_what_cannot_be_loaded(bert: Path, tmp_path: Path, case: str) -> None:
    spoil, message = MISTAKES[case]
    folder = shutil.copytree(bert, tmp_path / "bert")
    spoil(folder)
    with pytest.raises(InputError, match=message):
        MaskedLM(str(folder)).propose(slots(["a cat"]), seed=0)


def test_a_name_that_is_not_in_the_cache() -> None:
    with pytest.raises(InputError, match="set `download: true`"):
        MaskedLM("bert-of-nobody").propose(slots(["a cat"]), seed=0)
