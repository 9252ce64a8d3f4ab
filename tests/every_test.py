"""Setup shared by all tests: one thread, seeded generators, a tiny treebank and parsers."""

import functools
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import docstring_parser
import hypothesis
import numpy as np
import pytest
import torch
from jsonargparse import _common, _loaders_dumpers, _util
from jsonargparse import typing as _typing

from forks import fork_context
from robustparse import trust
from robustparse.data.conllu import read_treebank
from robustparse.data.vocab import Vocabulary
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.dependency.parser import DependencyParser
from robustparse.models.dependency.stack_pointer import StackPointerParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.types import Example

# The same few examples every time, or with HYPOTHESIS_PROFILE=long many others.
hypothesis.settings.register_profile("quick", max_examples=6, derandomize=True, deadline=None)
hypothesis.settings.register_profile("long", max_examples=1000, deadline=20_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Tiny tensors gain nothing from threads, and one thread sums in one order.
torch.set_num_threads(1)

# jsonargparse reads the docstrings of the same classes again for every command.
docstring_parser.parse_from_object = functools.cache(docstring_parser.parse_from_object)

# It also looks for the shortest import paths of the same classes thousands of times a command.
_import_path = _util.get_import_path
_path_of_class = functools.cache(_import_path)


def _known_path(value: object) -> str | None:
    return _path_of_class(value) if isinstance(value, type) else _import_path(value)


_util.get_import_path = _typing.get_import_path = _known_path


@pytest.fixture(autouse=True)
def _gradients_stay_enabled() -> Iterator[None]:
    yield
    assert torch.is_grad_enabled()


@pytest.fixture
def _forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that share an attack are forks of one that has imported everything."""
    context = fork_context()
    monkeypatch.setattr("robustparse.evaluation.attack_processes.get_context", lambda _: context)


# Comments with and without a value and twice the same, a range, an empty node, enhanced
# dependencies, a MISC value with two equals signs, an unordered FEATS, a sentence of one word.
TREEBANK = """\
# newdoc
# sent_id = 1
# text = Don't feed the cats.
# note
# note
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_
3\tfeed\tfeed\tVERB\tVB\tVerbForm=Fin|Mood=Imp\t0\troot\t0:root\tCxn=free=rc
4\tthe\tthe\tDET\tDT\t_\t5\tdet\t5:det\t_
5\tcats\tcat\tNOUN\tNNS\tNumber=Plur\t3\tobj\t3:obj\tSpaceAfter=No
5.1\tfed\tfeed\tVERB\tVBN\t_\t_\t_\t3:conj\t_
6\t.\t.\tPUNCT\t.\t_\t3\tpunct\t3:punct\t_

# sent_id = 2
# text = Yes
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t0:root\t_

# sent_id = 3
# text = The cats saw the dog yesterday which barked
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tcats\tcat\tNOUN\tNNS\t_\t3\tnsubj\t_\t_
3\tsaw\tsee\tVERB\tVBD\t_\t0\troot\t_\t_
4\tthe\tthe\tDET\tDT\t_\t5\tdet\t_\t_
5\tdog\tdog\tNOUN\tNN\t_\t3\tobj\t_\t_
6\tyesterday\tyesterday\tNOUN\tNN\t_\t3\tobl\t_\t_
7\twhich\twhich\tPRON\tWDT\t_\t8\tnsubj\t_\t_
8\tbarked\tbark\tVERB\tVBD\t_\t5\tacl:relcl\t_\t_

"""


_SETTINGS, _LOADERS = dict(_common.parsing_settings), dict(_loaders_dumpers.loaders)


@pytest.fixture(autouse=True)
def _nothing_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the commands of one test trust and let jsonargparse import ends with it."""
    monkeypatch.setattr(trust, "_trusted", set())
    monkeypatch.setattr(trust, "_programs", set())
    monkeypatch.setattr(_common, "parsing_settings", dict(_SETTINGS))
    monkeypatch.setattr(_loaders_dumpers, "loaders", dict(_LOADERS))


@pytest.fixture(autouse=True)
def _global_generators() -> None:
    """No test's draws follow from the tests before it."""
    random.seed(0)
    np.random.seed(0)
    torch.default_generator.manual_seed(0)  # without the stack that `torch.manual_seed` keeps


@pytest.fixture(scope="session")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny CoNLL-U file that nobody may change."""
    path = tmp_path_factory.mktemp("treebank") / "tiny-train.conllu"
    path.write_text(TREEBANK, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def examples(treebank: Path) -> list[Example]:
    """The sentences of the tiny treebank."""
    return read_treebank(treebank)


@pytest.fixture(scope="session")
def vocabulary(examples: list[Example]) -> Vocabulary:
    """Of the tiny treebank; words seen once have no row."""
    return Vocabulary.from_examples(examples)


MakeParser = Callable[..., BiaffineParser]


@pytest.fixture
def make_parser(vocabulary: Vocabulary) -> MakeParser:
    """Make untrained parsers in float64 whose every weight is random, so that no score is a tie."""

    def make(
        seed: int = 0, dropout: float = 0.33, known: Vocabulary = vocabulary, **encoder: int
    ) -> BiaffineParser:
        sizes = {"word_dim": 5, "character_dim": 3, "character_out": 4, "hidden": 6, "layers": 2}
        parser = BiaffineParser(
            LSTMEncoder(**{**sizes, **encoder}, dropout=dropout),
            arc_dim=7,
            label_dim=4,
            dropout=dropout,
            seed=seed,
            vocabulary=known,
        ).double()
        return randomized(parser, seed)

    return make


Parser = TypeVar("Parser", bound=DependencyParser)


def randomized(parser: Parser, seed: int) -> Parser:
    """Add to every weight a random number."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in parser.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.5 * noise)
    return parser.eval()


@pytest.fixture
def pointer(vocabulary: Vocabulary) -> StackPointerParser:
    """One stack-pointer parser, as untrained and random, without dropout."""
    encoder = LSTMEncoder(5, 3, 4, hidden=6, layers=1, dropout=0.0)
    sizes = {"hidden": 8, "arc_dim": 7, "label_dim": 4, "dropout": 0.0}
    return randomized(StackPointerParser(encoder, **sizes, vocabulary=vocabulary).double(), 0)


@pytest.fixture
def parser(make_parser: MakeParser) -> BiaffineParser:
    """One of them."""
    return make_parser()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real corpora and models, named by an environment variable."""
    named = os.environ.get("ROBUSTPARSE_SHARED")
    if not named:
        pytest.skip("needs real corpora: set ROBUSTPARSE_SHARED to the folder that holds them")
    return Path(named)
