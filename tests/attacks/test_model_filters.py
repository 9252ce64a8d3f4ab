"""Perplexity against plain runs of tiny random models; filters with models, from YAML."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from jsonargparse import ArgumentParser
from tiny_language_models import save_bert, save_gpt2
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from robustparse.attacks.constraints import language_model
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.language_model import LanguageModel, PerplexityRise
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.errors import InputError
from robustparse.pretrained import Kind
from robustparse.types import Sentence

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "##s", "##ing", "##ly"]
WORDS = ["dog", "cat", "bark", "loud", "the", "a", "fox", "jump", "run", "eat"]
VOCABULARY = {piece: number for number, piece in enumerate(PIECES + WORDS)}
TEXTS = [
    tuple(text.split())
    for text in (
        "the dogs barking loudly .",
        "a cat",
        "dog",
        "the foxes run , the jumping dog eats the cat .",
        "unknown words here",
        "the dogs barking loudly .",
    )
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {kind: tmp_path_factory.mktemp(kind) for kind in ("causal", "masked")}
    torch.manual_seed(0)
    save_bert(made["masked"], VOCABULARY)
    save_gpt2(made["causal"], VOCABULARY)
    return made


@pytest.fixture(params=["causal", "masked"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def model(folders: dict[str, Path], kind: Kind, **settings) -> LanguageModel:
    return LanguageModel(str(folders[kind]), kind, **({"precision": "float64"} | settings))


@torch.no_grad()
def by_hand(folder: Path, kind: Kind, text: tuple[str, ...]) -> float:
    """Perplexity of one text, a piece at a time, without padding."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    special = kind == "masked"
    ids = tokenizer(" ".join(text), add_special_tokens=special)["input_ids"]
    loader = AutoModelForMaskedLM if special else AutoModelForCausalLM
    network = loader.from_pretrained(folder).double().eval()
    losses = []
    for at in range(1, len(ids) - special):
        seen = [*ids[:at], tokenizer.mask_token_id, *ids[at + 1 :]] if special else ids[:at]
        logits = network(torch.tensor([seen])).logits[0, at if special else at - 1]
        losses.append(-float(logits.log_softmax(0)[ids[at]]))
    return math.exp(sum(losses) / max(1, len(losses)))


def test_perplexities_equal_a_plain_run(folders, kind: Kind) -> None:
    found = model(folders, kind).perplexities(TEXTS)
    expected = [by_hand(folders[kind], kind, text) for text in TEXTS]
    assert found == pytest.approx(expected, rel=1e-9)
    assert found.min() >= 1.0
    assert len(set(found.round(6))) == 5
    assert (found[2] == 1.0) == (kind == "causal")  # one piece: nothing to predict


@pytest.mark.parametrize("batch_tokens", [1, 13, 4096])
def test_padding_and_batches_change_nothing(folders, kind: Kind, batch_tokens: int) -> None:
    found = model(folders, kind, batch_tokens=batch_tokens).perplexities(TEXTS)
    alone = [model(folders, kind).perplexities([text])[0] for text in TEXTS]
    assert found == pytest.approx(alone, rel=1e-12)


def test_long_texts_are_cut(folders, kind: Kind) -> None:
    long = ("dog", "cat", "eat", "run") * 20
    room = {"causal": 38, "masked": 36}[kind]  # special pieces take two places
    read = model(folders, kind).perplexities([long])
    assert read == pytest.approx(model(folders, kind).perplexities([long[:room]]), rel=1e-9)
    short = model(folders, kind, longest=7).perplexities([long])
    cut = long[: 7 if kind == "causal" else 5]
    assert short == pytest.approx(model(folders, kind).perplexities([cut]), rel=1e-9)
    assert model(folders, kind).perplexities([]).shape == (0,)


def test_a_rise_is_measured_from_the_current_sentence(folders, kind: Kind, monkeypatch) -> None:
    original = Sentence(TEXTS[0])
    current = ("the", "cats", "barking", "loudly", ".")
    edits = [
        Edit(original, words, position, word)
        for words in (original.words, current)
        for position, word in ((0, "a"), (1, "fox"), (2, "eating"), (4, ","))
    ]
    known = {text: by_hand(folders[kind], kind, text) for edit in edits for text in _texts(edit)}
    rises = [known[edit.changed] - known[edit.current] for edit in edits]
    most = float(np.median(rises))
    one = PerplexityRise(model(folders, kind), most=most)
    expected = [rise <= most for rise in rises]
    assert 0 < sum(expected) < len(edits)
    assert one.admits(edits).tolist() == expected
    # One at a time, in another order, with a memory of two texts.
    monkeypatch.setattr(language_model, "_REMEMBERED", 2)
    again = PerplexityRise(model(folders, kind), most=most)
    assert [again.admits([edit])[0] for edit in edits[::-1]] == expected[::-1]
    assert again.admits([]).shape == (0,)


def _texts(edit: Edit) -> list[tuple[str, ...]]:
    return [edit.changed, edit.current]


def test_what_cannot_be_loaded_or_set(folders, tmp_path) -> None:
    text = [("a", "cat")]
    with pytest.raises(InputError, match="causal language model 'no/such': neither a folder"):
        LanguageModel("no/such", device="cpu").perplexities(text)
    for device in ("gpu", "cuda:99", "cpu:x", "mps"):
        with pytest.raises(InputError, match=f"device {device}: expected auto, cpu or cuda"):
            LanguageModel(str(folders["causal"]), device=device).perplexities(text)
    with pytest.raises(InputError, match="no mask token"):
        LanguageModel(str(folders["causal"]), "masked").perplexities(text)
    for file in folders["causal"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(InputError, match=r"causal language model .*cannot load it"):
        LanguageModel(str(tmp_path)).perplexities(text)
    with pytest.raises(InputError, match="kind must be one of masked, causal, got 'gpt'"):
        LanguageModel("x", "gpt")
    with pytest.raises(InputError, match="longest must be >= 2, got 1"):
        LanguageModel("x", longest=1)
    with pytest.raises(InputError, match="most must be a number"):
        PerplexityRise(LanguageModel("x"), most=float("nan"))


def test_filters_come_from_yaml() -> None:
    room = "robustparse.attacks.constraints"
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--constraints", type=list[Constraint])
    config = parser.parse_string(f"""
constraints:
- class_path: {room}.perplexity.PerplexityRise
  init_args:
    most: 30
    language_model:
      class_path: {room}.language_model.LanguageModel
      init_args: {{model: gpt2, longest: 64}}
- class_path: {room}.similarity.SentenceSimilarity
  init_args: {{model: some-encoder, window: 15}}
- class_path: {room}.grammar.GrammarErrors
  init_args:
    checker:
      class_path: {room}.link_grammar.LinkGrammar
      init_args: {{longest: 30}}
""")
    rise, similarity, grammar = parser.instantiate(config).constraints
    assert (rise.most, rise.language_model.longest) == (30.0, 64)
    assert similarity.window == 15
    assert grammar.checker.longest == 30
