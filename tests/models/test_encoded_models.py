"""Models that read words as others: by the codes of an encoding, or by recognizing them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_semantic_parsers import EXAMPLES as UTTERANCES

from robustparse import load
from robustparse.data.robust_encoding import Encoding
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import (
    ESIM,
    BiaffineParser,
    LSTMEncoder,
    Model,
    ModelVictim,
    NormalizedLSTMEncoder,
    PairEncoderClassifier,
    Seq2Seq,
    TransformerEncoder,
    TranX,
    WordCNN,
    WordEmbeddings,
)
from robustparse.types import Example, LogicalForm, Sentence, TextRows
from sample_runs import save_checkpoint
from tiny_models import examples, save_bert

ENCODING = Encoding(
    {
        "cats": {"cats": 4, "dog": 4, "kittens": 0},
        "saw": {"saw": 4, "sawing": 2, "observed": 0},
        "the": {"the": 5, "a": 0, "i": 0},
    }
)
# Each text, and one with equal codes: words known and unknown, of other characters and pieces.
PAIRS = [
    ("the cats saw the dog", "a dog sawing i kittens"),
    ("The Dog observed zebra", "I Kittens saw zebra"),
    ("THE DOGS SAW CATS", "A DOGS OBSERVED KITTENS"),
]
TREES = examples()
TEXTS = [
    Example(example.id, Sentence(example.sentence.words), label)
    for example, label in zip(TREES, "xyxy", strict=True)
]
PREMISES = [
    Example(example.id, Sentence(example.sentence.words, context=("the", "cats")), example.gold)
    for example in TEXTS
]
LSTM: dict[str, Any] = {"word_dim": 5, "hidden": 6, "layers": 1}

Maker = Callable[..., Model]
MADE: dict[str, tuple[Maker, list[Example]]] = {
    "biaffine": (
        lambda _, **base: BiaffineParser(
            LSTMEncoder(**LSTM, character_dim=3, character_out=4, tag_dim=2), 7, 4, **base
        ),
        TREES,
    ),
    "normalized": (
        lambda _, **base: BiaffineParser(
            NormalizedLSTMEncoder(**LSTM, character_dim=0), 7, 4, **base
        ),
        TREES,
    ),
    "Transformer": (
        lambda bert, **base: BiaffineParser(TransformerEncoder(str(bert), mix=1), 7, 4, **base),
        TREES,
    ),
    "WordCNN": (lambda _, **base: WordCNN(WordEmbeddings(5), filters=4, **base), TEXTS),
    "Seq2Seq": (
        lambda _, **base: Seq2Seq(LSTMEncoder(5, 3, 4, 6, 1), token_dim=5, hidden=6, **base),
        UTTERANCES,
    ),
    "ESIM": (lambda _, **base: ESIM(WordEmbeddings(5), 3, **base), PREMISES),
    "[CLS] of pairs": (
        lambda bert, **base: PairEncoderClassifier(TransformerEncoder(str(bert), mix=1), **base),
        PREMISES,
    ),
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert"), positions=40)


def made(name: str, bert: Path, clusters: bool = True, **base: Any) -> Model:
    """A model in float64 with random weights."""
    maker, data = MADE[name]
    if "init_from" not in base:
        base["vocabulary"] = Vocabulary.from_examples(data)
        base["clusters"] = ENCODING.to_lists() if clusters else None
    model = maker(bert, **base).double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters() if "init_from" not in base else ():
            parameter.add_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def sentence(name: str, text: str, context: str) -> Sentence:
    words = tuple(text.split())
    tags = ("NN", "XX", "NN", "XX", "NN")[: len(words)] if MADE[name][1] is TREES else ()
    of_pair = tuple(context.split()) if MADE[name][1] is PREMISES else ()
    return Sentence(words, xpos=tags, context=of_pair)


def scores(model: Model, text: Sentence) -> torch.Tensor:
    """All numbers that a model computes for a text, without its answer."""
    gold: Any = {"dependency": TREES, "classification": TEXTS, "semantic": UTTERANCES}
    answer = gold[model.task.name][0].gold
    size = len(text)
    if model.task.name == "dependency":
        answer = type(answer)(tuple(range(size)), ("root", *["obj"] * (size - 1)))
    batch = model.encode([Example(0, text, answer)]).batch([0], 1.0)
    return torch.cat([model.embed(batch).flatten(), model.loss(model(batch), batch)])


@pytest.mark.parametrize("name", MADE)
def test_texts_with_equal_codes_have_equal_answers_and_scores(name: str, bert: Path) -> None:
    encoded, plain = made(name, bert), made(name, bert, clusters=False)
    victim = ModelVictim([encoded])
    for first, second in PAIRS:
        assert encoded.codes(first.split()) == encoded.codes(second.split())
        one = sentence(name, first, "a dog")
        other = sentence(name, second, "the kittens")
        with torch.no_grad():
            assert torch.equal(scores(encoded, one), scores(encoded, other))
            before, after = scores(plain, one), scores(plain, other)
            assert before.shape != after.shape or not torch.equal(before, after)
        assert encoded.predict([one]) == encoded.predict([other])
        assert victim.intern(one.words).tolist() == victim.intern(other.words).tolist()
    different = sentence(name, "the cats saw the saw", "a dog")
    with torch.no_grad():
        same = scores(encoded, sentence(name, PAIRS[0][0], "a dog"))
        assert not torch.equal(scores(encoded, different), same)


@pytest.mark.parametrize("name", MADE)
def test_a_checkpoint_holds_the_encoding(name: str, bert: Path, tmp_path: Path) -> None:
    model = made(name, bert).float()
    path = save_checkpoint(model, tmp_path / "a.ckpt")
    model.save_pretrained(tmp_path / "shared")
    texts = [sentence(name, text, "the dog") for pair in PAIRS for text in pair]
    started = made(name, bert, init_from=str(path)).float()
    for again in (load(path), load(tmp_path / "shared"), started):
        assert again.clusters == ENCODING.to_lists()
        assert again.predict(texts) == model.predict(texts)
        torch.testing.assert_close(again.state_dict(), model.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize("name", MADE)
def test_a_misspelled_word_is_read_as_the_word(name: str, bert: Path, tmp_path: Path) -> None:
    model = made(name, bert, clusters=False, word_recognition=True)
    plain = made(name, bert, clusters=False)
    known = [word for word in model.vocabulary.words if word.isalpha() and len(word) > 2][:3]
    text, wrong = " ".join(known), " ".join(f"{word}q" for word in known)
    assert model.codes(wrong.split()) == known
    assert plain.codes(wrong.split()) == wrong.split()
    right, misspelled = (sentence(name, each, "the dog") for each in (text, wrong))
    context_misspelled = sentence(name, text, "teh dgo")
    with torch.no_grad():
        for other in (misspelled, context_misspelled):
            assert torch.equal(scores(model, right), scores(model, other))
        before, after = scores(plain, right), scores(plain, misspelled)
        assert before.shape != after.shape or not torch.equal(before, after)
        if MADE[name][1] is PREMISES:
            assert not torch.equal(before, scores(plain, context_misspelled))
    path = save_checkpoint(model.float(), tmp_path / "a.ckpt")
    started = made(name, bert, init_from=str(path))  # without the argument
    for again in (load(path), started.float()):
        assert again.predict([misspelled]) == model.predict([right])
    with pytest.raises(InputError) as error:
        plain.check_continues(torch.load(path, weights_only=True))
    assert error.value.key == "word_recognition"
    model.check_continues(torch.load(path, weights_only=True))


def test_misspelled_words_of_known_pieces_are_recognized(bert: Path) -> None:
    model = made("Transformer", bert, clusters=False, word_recognition=True)
    assert model.encoder.embedded(["thes"]).all()
    assert model.codes(["thes", "the"]) == ["the", "the"]


def test_codes_of_an_encoding_are_not_recognized_as_other_words(bert: Path) -> None:
    """Substitutes that are not in the training data, such as "a", keep their codes."""
    both = made("WordCNN", bert, word_recognition=True)
    only = made("WordCNN", bert)
    words = [word for cluster in ENCODING.clusters.values() for word in cluster]
    assert both.codes(words) == only.codes(words)
    assert both.codes(["sqaw", "Kitens", "dogg"]) == ["saw", "Kitens", "cats"]


def test_a_file_is_read_once_and_another_one_is_refused(bert: Path, tmp_path: Path) -> None:
    path = tmp_path / "encoding.jsonl"
    ENCODING.write(path)
    vocabulary = Vocabulary.from_examples(TREES)
    maker = MADE["biaffine"][0]
    model = maker(bert, vocabulary=vocabulary, encoding=str(path))
    saved = save_checkpoint(model, tmp_path / "a.ckpt")
    assert maker(bert, init_from=str(saved), encoding=str(path)).clusters == model.clusters
    Encoding({"cats": {"cats": 1, "dog": 1}}).write(path)
    with pytest.raises(InputError) as error:
        maker(bert, init_from=str(saved), encoding=str(path))
    assert (error.value.path, error.value.key) == (str(path), "encoding")
    path.unlink()
    assert load(saved).clusters == model.clusters  # the file is not needed
    content = torch.load(saved, weights_only=True)
    for stored in (None, [["cats"]], [{"cats": -1}], [{"cats": 1}, {"cats": 1}]):
        content["robustparse"]["model"]["init_args"]["clusters"] = stored
        torch.save(content, tmp_path / "b.ckpt")
        with pytest.raises(InputError) as error:
            load(tmp_path / "b.ckpt")
        assert error.value.path == str(tmp_path / "b.ckpt")


def test_training_continues_only_with_the_same_encoding(bert: Path, tmp_path: Path) -> None:
    model = made("biaffine", bert)
    saved = torch.load(save_checkpoint(model, tmp_path / "a.ckpt"), weights_only=True)
    model.check_continues(saved)
    with pytest.raises(InputError):
        made("biaffine", bert, clusters=False).check_continues(saved)


def test_a_plain_checkpoint_takes_no_encoding(bert: Path, tmp_path: Path) -> None:
    path = save_checkpoint(made("biaffine", bert, clusters=False), tmp_path / "a.ckpt")
    assert made("biaffine", bert, init_from=str(path)).clusters is None
    with pytest.raises(InputError) as error:
        MADE["biaffine"][0](bert, init_from=str(path), clusters=ENCODING.to_lists())
    assert error.value.key == "encoding"


def test_a_damaged_file_is_an_error_with_its_line(bert: Path, tmp_path: Path) -> None:
    path = tmp_path / "encoding.jsonl"
    path.write_text('{}\n{"code": "cats", "words": {"dog": 1}}\n')
    vocabulary = Vocabulary.from_examples(TREES)
    with pytest.raises(InputError) as error:
        MADE["biaffine"][0](bert, vocabulary=vocabulary, encoding=str(path))
    assert (error.value.path, error.value.line) == (str(path), 2)


def test_an_ensemble_tells_words_apart_that_any_member_does(bert: Path) -> None:
    members = [made("biaffine", bert), made("biaffine", bert, clusters=False)]
    encoded, both = ModelVictim(members[:1]), ModelVictim(members)
    words = ["dog", "cats", "saw", "dog", "new", "kittens"]
    assert encoded.intern(words).tolist() == [2, 2, 3, 2, 4, 2]
    assert both.intern(words).tolist() == [2, 3, 4, 2, 5, 6]
    assert both.intern(["sawing", "saw"]).tolist() == [7, 4]
    texts = [sentence("biaffine", text, "").words for pair in PAIRS for text in pair]
    rows = np.zeros((len(texts), 5), dtype=np.int32)
    for row, text in enumerate(texts):
        rows[row, : len(text)] = both.intern(text)
    lengths = np.array([*map(len, texts)], dtype=np.int32)
    with both.evaluating():
        heads, _ = both.predict(TextRows(rows, np.zeros_like(rows), lengths))
    assert heads.shape == rows.shape


def test_what_is_known_is_asked_of_codes(bert: Path) -> None:
    victim = ModelVictim([made("WordCNN", bert)])
    assert victim.embedded(["kittens", "Dog", "wolf"]).tolist() == [True, True, False]  # type: ignore[union-attr]
    assert victim.seen_in_training(["kittens", "dog"]).tolist() == [False, True]
    parser = ModelVictim([made("biaffine", bert)])
    with parser.evaluating():
        vectors = parser.vectors(parser.intern(["kittens", "cats", "saw"]))
    assert np.array_equal(vectors[0], vectors[1])
    assert not np.array_equal(vectors[0], vectors[2])


def test_words_that_a_parser_copies_are_not_encoded() -> None:
    """A token of forms is copied as it stands, though its cluster has another representative."""
    data = [
        Example(0, Sentence(("the", "cats")), LogicalForm("( a cats )", "lambda")),
        Example(1, Sentence(("the", "dog")), LogicalForm("( a dog )", "lambda")),
    ]
    settings: dict[str, Any] = {
        "vocabulary": Vocabulary.from_examples(data, min_count=1),
        "clusters": [{"cats": 1, "dog": 1, "kittens": 0, "puppies": 0}, {"the": 2, "a": 0}],
    }
    for copies, codes in ((True, ["a", "dog", "kittens"]), (False, ["the", "cats", "cats"])):
        parser = TranX(LSTMEncoder(5, 0, 4, 6, 1), 5, hidden=6, copy=copies, **settings)
        read = list(parser.codes(["a", "dog", "puppies"]))
        assert read[1:] == codes[1:]
        row = parser.intern(["dog"]).tolist()
        assert parser.encoder.words_of(row) == [codes[1]]
