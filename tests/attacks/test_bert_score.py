"""BERTScore against its equations in NumPy, a piece at a time, over a tiny random BERT."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from attack_fakes import HashVictim
from transformers import AutoModel, AutoTokenizer

from robustparse.attacks.constraints import bert_score
from robustparse.attacks.constraints.bert_score import BERTScore
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.errors import InputError
from robustparse.types import Sentence
from tiny_language_models import VOCABULARY, save_bert

ROOM = 38  # pieces, the two marks included
TEXTS = [
    tuple(text.split())
    for text in (
        "the dogs barking loudly .",
        "a cat",
        "the foxes run , the jumping dog eats the cat .",
        "unknown words here",
        "dog",
    )
]
PAIRS = [(text, reference) for text in TEXTS for reference in TEXTS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bert")
    torch.manual_seed(0)
    save_bert(made, VOCABULARY, positions=ROOM, layers=4)
    return made


def score(folder: Path, **settings) -> BERTScore:
    return BERTScore(str(folder), precision="float64", device="cpu", **settings)


@cache
def plain(folder: Path):
    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).double().eval()


@torch.no_grad()
def by_hand(
    folder: Path,
    text: tuple[str, ...],
    reference: tuple[str, ...],
    layer: int = 3,
    specials: str = "out",
) -> float:
    """Equations 1 to 3, one text and one piece at a time."""
    tokenizer, network = plain(folder)
    vectors = []
    for words in (text, reference):
        own = tokenizer(" ".join(words))["input_ids"]
        states = network(torch.tensor([own]), output_hidden_states=True).hidden_states[layer][0]
        vectors.append([vector / np.linalg.norm(vector) for vector in states.numpy()])

    def mean(one: int) -> float:
        inner = slice(None) if specials == "match" else slice(1, -1)
        best = [
            max(float(vector @ other) for other in vectors[1 - one][inner])
            for vector in vectors[one][1:-1]
        ]
        return sum(best) / len(best)

    precision, recall = mean(0), mean(1)
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize(
    "settings",
    [{}, {"layer": 0}, {"layer": 4}, {"specials": "match"}],
    ids=str,
)
def test_scores_equal_the_equations(folder: Path, settings: dict) -> None:
    found = score(folder, **settings).between(*zip(*PAIRS, strict=True))
    assert found == pytest.approx([by_hand(folder, *pair, **settings) for pair in PAIRS], rel=1e-9)
    same = np.array([text == reference for text, reference in PAIRS])
    assert found[same] == pytest.approx(1.0)
    assert found[~same].max() < 0.999


def test_no_setting_is_without_effect(folder: Path) -> None:
    """Nor does the oracle agree by chance: each setting moves scores."""
    settings = [{}, {"layer": 0}, {"layer": 4}, {"specials": "match"}]
    found = [[by_hand(folder, *pair, **one) for pair in PAIRS] for one in settings]
    assert all(not np.allclose(found[0], other, atol=1e-4) for other in found[1:])


def test_scores_do_not_depend_on_batches(folder: Path, monkeypatch) -> None:
    together = score(folder).between(*zip(*PAIRS, strict=True))
    alone = [score(folder).between([text], [other])[0] for text, other in PAIRS]
    assert together == pytest.approx(alone, rel=1e-12)
    monkeypatch.setattr(bert_score, "_SCORES", 2)
    monkeypatch.setattr(bert_score, "_REFERENCES", 2)
    for batch_tokens in (1, 17):
        one = score(folder, batch_tokens=batch_tokens)
        backwards = one.between(*zip(*PAIRS[::-1], strict=True))[::-1]
        assert backwards == pytest.approx(together, rel=1e-12)
    assert score(folder).between([], []).shape == (0,)


def test_edits_are_compared_with_the_original(folder: Path) -> None:
    original = Sentence(TEXTS[0])
    current = ("the", "cats", "barking", "loudly", ".")
    edits = [
        Edit(original, words, position, word)
        for words in (original.words, current)
        for position, word in ((0, "a"), (1, "fox"), (2, "eating"), (4, ","))
    ]
    expected = np.array([by_hand(folder, edit.changed, original.words) for edit in edits])
    minimum = float(np.median(expected))
    one = score(folder, minimum=minimum)
    assert one.similarities(edits) == pytest.approx(expected, rel=1e-9)
    assert one.admits(edits).tolist() == (expected >= minimum).tolist()
    assert one.admits([]).shape == (0,)


def test_a_change_that_the_model_does_not_read(folder: Path) -> None:
    """The first 36 words are read; the score of a change after them is that of no change."""
    words = ("dog", "cat", "eat", "run") * 12
    inside, outside = (Edit(Sentence(words), words, at, "fox") for at in (ROOM - 3, ROOM - 2))
    strict = score(folder, minimum=0.0)
    assert strict.admits([inside, outside]).tolist() == [True, False]
    expected = by_hand(folder, inside.changed[: ROOM - 2], words[: ROOM - 2])
    assert strict.similarities([inside, outside]) == pytest.approx([expected, 1.0])
    assert expected < 0.9999
    # What the other changes of a text take, a longer word may push beyond.
    longer = Edit(Sentence(words), words, ROOM - 3, "dogs")
    assert strict.admits([longer]).tolist() == [False]


def test_a_text_is_tokenized_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its beginning is read in addition only where the model does not read all of it."""
    original, long = Sentence(TEXTS[0]), ("dog", "cat", "eat", "run") * 12
    edits = [Edit(original, TEXTS[0], at, word) for at in (0, 1) for word in ("fox", "cat", "dogs")]
    one, asked = score(folder, minimum=0.0), []
    tokenizer = type(one._loaded.tokenizer)
    own = tokenizer.__call__

    def recorded(self, texts: list[str], **options: bool) -> object:
        asked.extend(texts)
        return own(self, texts, **options)

    monkeypatch.setattr(tokenizer, "__call__", recorded)
    assert one.admits(edits).all()
    whole = {" ".join(edit.changed) for edit in edits}  # the original's own words among them
    assert sorted(asked) == sorted(whole)
    assert one.admits(edits).all()
    assert one.admits([Edit(Sentence(long), long, 2, "fox")]).all()
    cut = ["dog cat fox", " ".join(("dog", "cat", "fox", *long[3:])), " ".join(long)]
    assert sorted(asked[len(whole) :]) == sorted(cut)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"minimum": 1.5}, "BERTScore: minimum"),
        ({"specials": "in"}, "BERTScore: specials"),
        ({"layer": 5}, "BERTScore: layer"),
    ],
)
def test_settings_that_are_refused(folder: Path, settings: dict, key: str) -> None:
    with pytest.raises(InputError) as error:
        score(folder, **settings).between([TEXTS[0]], [TEXTS[1]])
    assert error.value.key == key


def test_a_model_that_is_not_there() -> None:
    with pytest.raises(InputError) as error:
        BERTScore("no/such", device="cpu").prepare(HashVictim())
    assert error.value.key == "pretrained encoder 'no/such'"
