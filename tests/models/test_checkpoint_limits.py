"""What a checkpoint claims is bounded by what its file holds, before anything is allocated."""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from robustparse.errors import InputError
from robustparse.models.checkpoint import KEY, read_checkpoint
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.load import load

Held = dict[str, Any]


@pytest.fixture
def saved(make_parser, tmp_path) -> Path:
    parser = make_parser().float()
    held: Held = {"state_dict": parser.state_dict()}
    parser.on_save_checkpoint(held)
    path = tmp_path / "good.ckpt"
    torch.save(held, path)
    return path


def rewritten(saved: Path, folder: Path, change: Callable[[Held], object]) -> Path:
    held = torch.load(saved, weights_only=True)
    change(held)
    path = folder / "changed.ckpt"
    torch.save(held, path)
    return path


def sizes(settings: Held, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the names of the integers among a model's settings."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from sizes(value, (*names, name))
        elif type(value) is int and name != "seed" and "optimization" not in names:
            yield (*names, name)


def deep(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def doubling(depth: int) -> list[Any]:
    """A list whose items are shared: few values in a file, 2 ** depth in a walk."""
    value: list[Any] = [1]
    for _ in range(depth):
        value = [value, value]
    return value


def test_no_size_is_taken_that_the_weights_do_not_have(saved, tmp_path):
    settings = read_checkpoint(saved)[KEY]["model"]
    names = [*sizes(settings)]
    assert len(names) > 5
    for name in names:
        for size in (10**12, 2**63, -3, 0.5):

            def change(held: Held, name: Any = name, size: Any = size) -> None:
                inner = held[KEY]["model"]
                for part in name[:-1]:
                    inner = inner[part]
                inner[name[-1]] = size

            path = rewritten(saved, tmp_path, change)
            with pytest.raises(InputError, match=r"changed\.ckpt"):
                load(path)


def described(**changes: object) -> Callable[[Held], object]:
    return lambda held: held[KEY].update(changes)


def weights(**changes: object) -> Callable[[Held], object]:
    return lambda held: held["state_dict"].update(changes)


ODD = {
    "deep": described(trained_on=deep(90)),
    "doubling": described(trained_on=doubling(60)),
    "keys": described(trained_on={1: 2}),
    "tensor": described(trained_on=torch.zeros(2)),
    "vocabulary": lambda held: held[KEY]["vocabulary"].update(words=[["a"]]),
    "words": lambda held: held[KEY]["vocabulary"].update(words="words"),
    "weight's name": lambda held: held["state_dict"].update({3: torch.zeros(2)}),
    "meta": weights(extra=torch.empty(3, device="meta")),
    "sparse": weights(extra=torch.eye(3).to_sparse()),
    "complex": weights(extra=torch.ones(3, dtype=torch.complex64)),
    "expanded": weights(extra=torch.ones(1).expand(10**9)),
    "step": lambda held: held.update(global_step="many"),
    "negative step": lambda held: held.update(global_step=-1),
    "epoch": lambda held: held.update(epoch=0.5),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_content_is_refused(name, saved, tmp_path):
    path = rewritten(saved, tmp_path, ODD[name])
    for use in (read_checkpoint, load):
        with pytest.raises(InputError) as error:
            use(path)
        assert error.value.path == str(path)


def test_a_compressed_file_is_not_unpacked(saved, tmp_path):
    path = tmp_path / "bomb.ckpt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb/data.pkl", b"\0" * (1 << 24))
    with pytest.raises(InputError) as error:
        read_checkpoint(path)
    assert error.value.path == str(path)


def test_a_model_starts_from_no_checkpoint_of_other_sizes(saved):
    with pytest.raises(InputError) as error:
        BiaffineParser(LSTMEncoder(word_dim=10**9), init_from=str(saved))
    assert error.value.path == str(saved)
