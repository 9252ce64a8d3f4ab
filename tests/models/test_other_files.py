"""Checkpoints whose encoder had read other vectors or another tokenizer than is read now."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.checkpoint import KEY
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.transformer import TransformerEncoder
from tiny_models import PIECES, examples, save_bert

WORDS = ["the", "cats", "dog", "saw"]


def with_vectors(path: Path, words: list[str]) -> LSTMEncoder:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{word} {i} {i + 1} {i * i}\n" for i, word in enumerate(words)))
    return LSTMEncoder(word_dim=3, character_dim=0, hidden=4, layers=1, vectors=str(path))


def swapped(pieces: list[str], one: str, other: str) -> list[str]:
    names = {one: other, other: one}
    return [names.get(piece, piece) for piece in pieces]


def vectors(folder: Path) -> Encoder:
    return with_vectors(folder / "vectors.txt", WORDS)


def other_vectors(folder: Path) -> Encoder:
    return with_vectors(folder / "vectors.txt", swapped(WORDS, "dog", "cats"))


def bert(folder: Path) -> Encoder:
    return TransformerEncoder(str(save_bert(folder / "bert", layers=1)), mix=1)


def other_tokenizer(folder: Path) -> Encoder:
    pieces = swapped(PIECES, "dog", "cat")
    return TransformerEncoder(str(save_bert(folder / "bert", layers=1, pieces=pieces)), mix=1)


def other_configuration(folder: Path) -> Encoder:
    save_bert(folder / "bert", layers=1)
    path = folder / "bert" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "hidden_act": "relu"}))
    return TransformerEncoder(str(folder / "bert"), mix=1)


OTHERS = {
    "vectors": (vectors, other_vectors, r"the words of its vectors \(vectors: .*vectors\.txt\)"),
    "tokenizer": (bert, other_tokenizer, r"its tokenizer \(model: .*bert\)"),
    "configuration": (bert, other_configuration, r"its configuration \(model: .*bert\)"),
}
Pair = tuple[Callable[[Path], Encoder], Callable[[Path], Encoder], str]


def parser_over(encoder: Encoder, **given: Any) -> BiaffineParser:
    made = BiaffineParser(encoder, arc_dim=5, label_dim=4, seed=1, **given)
    return made.eval()


@pytest.fixture(params=OTHERS)
def pair(request: pytest.FixtureRequest) -> Pair:
    return OTHERS[request.param]


@pytest.fixture
def trained(pair: Pair, tmp_path: Path) -> BiaffineParser:
    """A parser whose every weight that may be trained is random."""
    made = parser_over(pair[0](tmp_path / "first"), vocabulary=Vocabulary.from_examples(examples()))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn(parameter.shape, generator=generator))
    return made


def held(parser: BiaffineParser) -> dict[str, Any]:
    content: dict[str, Any] = {"state_dict": parser.state_dict()}
    parser.on_save_checkpoint(content)
    return content


def test_a_run_resumes_only_with_the_files_it_was_trained_with(pair, trained, tmp_path):
    content, vocabulary = held(trained), trained.vocabulary
    same = parser_over(pair[0](tmp_path / "same"), vocabulary=vocabulary)
    same.on_load_checkpoint(content)
    sentences = [example.sentence for example in examples()]
    assert same.predict(sentences) == trained.predict(sentences)
    other = parser_over(pair[1](tmp_path / "other"), vocabulary=vocabulary)
    before = {name: weight.clone() for name, weight in other.state_dict().items()}
    with pytest.raises(InputError, match=rf"differs in {pair[2]}; resume with the.*init_from"):
        other.on_load_checkpoint(content)
    assert all(torch.equal(weight, before[name]) for name, weight in other.state_dict().items())


def test_a_start_from_a_checkpoint_takes_what_its_encoder_had_read(pair, trained, tmp_path):
    path = tmp_path / "trained.ckpt"
    torch.save(held(trained), path)
    started = parser_over(pair[1](tmp_path / "other"), init_from=str(path))
    sentences = [example.sentence for example in examples()]
    assert started.predict(sentences) == trained.predict(sentences)
    # And so does the checkpoint that it writes.
    content = held(started)
    trained.on_load_checkpoint(content)
    # A resumed run makes the parser in the same way.
    parser_over(pair[1](tmp_path / "again"), init_from=str(path)).on_load_checkpoint(content)


@pytest.mark.parametrize("pair", [OTHERS["vectors"]], ids=["vectors"])
def test_a_checkpoint_that_does_not_say_is_refused(trained):
    content = held(trained)
    del content[KEY]["model"]["init_args"]["encoder"]
    with pytest.raises(InputError, match="does not describe its encoder"):
        trained.on_load_checkpoint(content)
