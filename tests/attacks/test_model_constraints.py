"""Perplexity against plain runs of tiny random models; similarity by an encoder made by hand."""

import math
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from attack_fakes import HashVictim, example
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints import language_model
from robustparse.attacks.constraints.language_model import LanguageModel, PerplexityRise
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.similarity import SentenceSimilarity, VectorSimilarity
from robustparse.attacks.search.beam import Greedy
from robustparse.errors import InputError
from robustparse.pretrained.loaded_model import Kind
from robustparse.types import Sentence
from tiny_language_models import save_bert, save_gpt2

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


@pytest.fixture(scope="module")
def models(folders) -> dict[str, LanguageModel]:
    """One of each kind, loaded once."""
    return {
        kind: LanguageModel(str(folder), kind, precision="float64")
        for kind, folder in folders.items()
    }


@cache
def plain(folder: Path, kind: Kind):
    loader = AutoModelForMaskedLM if kind == "masked" else AutoModelForCausalLM
    network = loader.from_pretrained(folder).double().eval()
    return AutoTokenizer.from_pretrained(folder), network


@cache
@torch.no_grad()
def by_hand(folder: Path, kind: Kind, text: tuple[str, ...]) -> float:
    """Perplexity of one text, a piece at a time, without padding."""
    tokenizer, network = plain(folder, kind)
    special = kind == "masked"
    ids = tokenizer(" ".join(text), add_special_tokens=special)["input_ids"]
    losses = []
    for at in range(1, len(ids) - special):
        seen = [*ids[:at], tokenizer.mask_token_id, *ids[at + 1 :]] if special else ids[:at]
        logits = network(torch.tensor([seen])).logits[0, at if special else at - 1]
        losses.append(-float(logits.log_softmax(0)[ids[at]]))
    return math.exp(sum(losses) / max(1, len(losses)))


def test_perplexities_equal_a_plain_run(folders, models, kind: Kind) -> None:
    found = models[kind].perplexities(TEXTS)
    expected = [by_hand(folders[kind], kind, text) for text in TEXTS]
    assert found == pytest.approx(expected, rel=1e-9)
    assert found.min() >= 1.0
    assert len(set(found.round(6))) == 5
    assert (found[2] == 1.0) == (kind == "causal")  # one piece: nothing to predict


def test_log_probabilities_are_sums_over_the_predicted_pieces(folders, models, kind: Kind) -> None:
    """By the perplexities, whose pieces the tokenizer counts."""
    tokenizer, _ = plain(folders[kind], kind)
    pieces = [
        len(tokenizer(" ".join(text), add_special_tokens=False)["input_ids"]) for text in TEXTS
    ]
    predicted = [count - (kind == "causal") for count in pieces]
    logs = [math.log(by_hand(folders[kind], kind, text)) for text in TEXTS]
    expected = [-log * count for log, count in zip(logs, predicted, strict=True)]
    assert models[kind].log_probabilities(TEXTS) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert models[kind].log_probabilities([]).shape == (0,)


def test_padding_and_batches_change_nothing(models, kind: Kind, monkeypatch) -> None:
    alone = [models[kind].perplexities([text])[0] for text in TEXTS]
    for batch_tokens in (1, 13, 4096):
        monkeypatch.setattr(models[kind], "batch_tokens", batch_tokens)
        assert models[kind].perplexities(TEXTS) == pytest.approx(alone, rel=1e-12)


def test_long_texts_are_cut(folders, models, kind: Kind) -> None:
    long = ("dog", "cat", "eat", "run") * 20
    room = {"causal": 40, "masked": 38}[kind]  # special pieces take two places
    read = models[kind].perplexities([long])
    assert read == pytest.approx(models[kind].perplexities([long[:room]]), rel=1e-9)
    short = LanguageModel(str(folders[kind]), kind, precision="float64", longest=7)
    cut = long[: 7 if kind == "causal" else 5]
    expected = models[kind].perplexities([cut])
    assert short.perplexities([long]) == pytest.approx(expected, rel=1e-9)
    assert models[kind].perplexities([]).shape == (0,)


def test_a_rise_is_measured_from_the_current_sentence(
    folders, models, kind: Kind, monkeypatch
) -> None:
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
    one = PerplexityRise(models[kind], most=most)
    expected = [rise <= most for rise in rises]
    assert 0 < sum(expected) < len(edits)
    assert one.admits(edits).tolist() == expected
    # One at a time, in another order, with a memory of two texts.
    monkeypatch.setattr(language_model, "_REMEMBERED", 2)
    again = PerplexityRise(models[kind], most=most)
    assert [again.admits([edit])[0] for edit in edits[::-1]] == expected[::-1]
    assert again.admits([]).shape == (0,)


def _texts(edit: Edit) -> list[tuple[str, ...]]:
    return [edit.changed, edit.current]


def test_what_cannot_be_loaded(folders, tmp_path) -> None:
    text = [("a", "cat")]
    for file in folders["causal"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    causal = str(folders["causal"])
    cases = [
        (
            LanguageModel("no/such", device="cpu"),
            "causal language model 'no/such': neither a folder",
        ),
        *(
            (LanguageModel(causal, device=device), f"device {device}: .*expected auto, cpu or cuda")
            for device in ("gpu", "cuda:99", "cpu:x", "mps")
        ),
        (LanguageModel(causal, "masked"), "no mask token"),
        (LanguageModel(str(tmp_path)), r"causal language model .*cannot load it"),
    ]
    for one, message in cases:
        with pytest.raises(InputError, match=message):
            one.perplexities(text)


# The encoder made by hand: a text's vector is the mean of its words' directions in the plane.
DEGREES = {"north": 90, "east": 0, "up": 80, "right": 10, "a": 45, "nowhere": None}


class Encoder:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def to(self, dtype: torch.dtype) -> "Encoder":
        assert dtype == torch.float32
        return self

    def eval(self) -> "Encoder":
        return self

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        self.asked += texts
        return np.stack([self.one(text) for text in texts]).astype(np.float32)

    def one(self, text: str) -> np.ndarray:
        angles = [DEGREES[word] for word in text.split()]
        turns = [np.deg2rad(angle) for angle in angles if angle is not None]
        return 3 * sum((np.array([np.cos(x), np.sin(x)]) for x in turns), np.zeros(2))


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Encoder:
    made = Encoder()
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = lambda *_, **__: made
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    return made


def angle(one: str, other: str) -> float:
    a, b = Encoder().one(one), Encoder().one(other)
    return math.acos(min(1.0, float(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))))


MEASURES: dict[str, Callable[[float], float]] = {
    "cosine": math.cos,
    "angular": lambda theta: 1 - theta / math.pi,
    "textfooler": lambda theta: 1 - theta,
}
START, CURRENT = "north a east", ("north", "up", "east")


def change(position: int, word: str) -> Edit:
    return Edit(Sentence(tuple(START.split())), CURRENT, position, word)


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize("measure", list(MEASURES))
@pytest.mark.parametrize("reference", ["original", "current"])
def test_measures_and_references(measure: str, reference: str) -> None:
    edits = [change(0, "up"), change(2, "north"), change(1, "a"), change(1, "right")]
    of = {"original": START, "current": " ".join(CURRENT)}[reference]
    expected = [MEASURES[measure](angle(of, " ".join(edit.changed))) for edit in edits]
    one = SentenceSimilarity("x", measure=measure, reference=reference)
    assert one.similarities(edits) == pytest.approx(expected, abs=1e-3)
    one.minimum = sorted(expected)[2] - 1e-3
    admitted = one.admits(edits)
    assert admitted.tolist() == [value > one.minimum for value in expected]
    assert admitted.sum() == 2
    assert [one.admits([edit])[0] for edit in edits] == admitted.tolist()
    assert one.admits([]).shape == (0,)


def test_windows_keep_their_size_at_the_ends(encoder: Encoder) -> None:
    words = ("north", "up", "a", "right", "east")
    one = SentenceSimilarity("x", window=3, reference="current")
    for position, begin in ((0, 0), (1, 0), (2, 1), (3, 2), (4, 2)):
        encoder.asked.clear()
        one._known = type(one._known)(99)
        edit = Edit(Sentence(words), words, position, "nowhere")
        one.admits([edit])
        expected = {" ".join(text[begin : begin + 3]) for text in (edit.changed, edit.current)}
        assert set(encoder.asked) == expected
    short = [change(0, "east"), Edit(Sentence(("up", "up")), ("up", "up"), 0, "nowhere")]
    strict, lenient = (SentenceSimilarity("x", window=3, short=mode) for mode in ("check", "pass"))
    strict.minimum = lenient.minimum = 1.1  # nothing is as similar as that
    assert strict.admits(short).tolist() == [False, False]
    assert lenient.admits(short).tolist() == [False, True]
    # What passes unchecked is measured all the same, if a search compares.
    unchecked = Edit(Sentence(("up", "up")), ("up", "up"), 0, "east")
    expected = 1 - angle("up up", "east up") / math.pi
    assert lenient.admits([unchecked])[0]
    assert lenient.similarities([unchecked]) == pytest.approx([expected], abs=1e-3)
    assert expected < 0.9
    # A number is the minimum of short sentences only; that of the others stays.
    for least, short_least in ((1.0, expected - 0.01), (-1.0, expected + 0.01)):
        numbered = SentenceSimilarity("x", window=3, minimum=least, short=short_least)
        admitted = numbered.admits([change(0, "east"), unchecked]).tolist()
        assert admitted == [least < 0, short_least < expected]


def test_word_vectors_have_means(tmp_path: Path) -> None:
    """Words without a vector are left out, and a text of such words is like no other."""
    (tmp_path / "vectors.txt").write_text("up 0 3\neast 3 0\nEast 9 9\n")
    one = VectorSimilarity(str(tmp_path / "vectors.txt"), measure="cosine")
    texts = ["up east", "EAST", "up up", "nowhere", "a up"]
    expected = [1 / math.sqrt(2), 0.0, 1.0, 0.0, 1.0]
    assert one.between(texts, ["up"] * 5) == pytest.approx(expected)
    sentence = Sentence(("up", "east"))
    edits = [Edit(sentence, sentence.words, 1, word) for word in ("up", "East", "nowhere")]
    root = 1 / math.sqrt(2)
    assert one.similarities(edits) == pytest.approx([root, 1.0, root])
    one.minimum = 0.8
    assert one.admits(edits).tolist() == [False, True, False]
    assert [one.admits([edit])[0] for edit in edits] == [False, True, False]


def test_texts_are_embedded_once(encoder: Encoder) -> None:
    one = SentenceSimilarity("x")
    one.admits([change(0, "up"), change(0, "up"), change(2, "up")])
    one.admits([change(2, "up")])
    assert len(encoder.asked) == len(set(encoder.asked)) == 3


def test_a_missing_library_or_model(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError) as error:
        SentenceSimilarity("x").admits([change(0, "up")])
    assert error.value.remedy == 'run `pip install "robustparse[similarity]"`'
    library = ModuleType("sentence_transformers")
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)

    def missing(*_: object, **settings: object) -> None:
        assert settings["local_files_only"]
        assert settings["model_kwargs"] == {"use_safetensors": True}
        raise OSError("nothing there\nat all")

    library.SentenceTransformer = missing
    for name, path in (("some-encoder", None), (str(tmp_path), str(tmp_path))):
        with pytest.raises(InputError, match=r"cannot be loaded \(nothing there at all\)") as error:
            SentenceSimilarity(name).admits([change(0, "up")])
        assert (error.value.key, error.value.path) == ("similarity: model", path)
        assert "model.safetensors" in (error.value.expected or "")
        assert "`download: true`" in (error.value.remedy or "")
    # An attack ends before it asks its victim.
    attack = Attack(Lexicon({}), Greedy(), [SentenceSimilarity("some-encoder")])
    victim = HashVictim()
    with pytest.raises(InputError, match=r"'some-encoder' \(not a folder\) cannot be loaded"):
        list(attack.run([example("a b", "NN NN")], victim))
    assert not victim.batches
    with pytest.raises(InputError, match=r"device gpu: .*expected auto, cpu or cuda"):
        SentenceSimilarity("some-encoder", device="gpu").admits([change(0, "up")])
