"""What commands write from valid treebanks passes the validator of Universal Dependencies.

The treebanks have multiword tokens that join their words and others, enhanced graphs with an empty
node, words with spaces, scripts without spaces, no-break spaces, columns and comments that describe
words, and ends of documents and paragraphs after sentences that no space follows.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from udtools.validator import Validator

from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.data.vocab import Vocabulary
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.perturbations.perturbation import Perturbation, Rewording
from robustparse.types import Sentence
from sample_runs import save_checkpoint

TREEBANKS = sorted((Path(__file__).parents[1] / "treebanks").glob("*.conllu"))
RECIPE = """\
goal: {class_path: robustparse.attacks.AttachmentDrop}
candidates:
  class_path: robustparse.attacks.VocabularyWords
  init_args: {path: words.txt, sample: 8}
search: {class_path: robustparse.attacks.Zheng2020, init_args: {gamma: 0.9}}
"""
MODULE = "test_treebanks_stay_valid"


class Backwards(Perturbation):
    """All words in reverse order."""

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        return Rewording(sentence.words[::-1], tuple(range(len(sentence)))[::-1])


class Gap(Perturbation):
    """One word is left out."""

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        gap = int(rng.integers(len(sentence)))
        kept = [at for at in range(len(sentence)) if at != gap]
        return Rewording(tuple(sentence.words[at] for at in kept), tuple(kept))


# Of each command, the options and the file that it writes.
COMMANDS = {
    "predict": (["predict", "--checkpoint=tiny.ckpt", "--out=out.conllu"], "out.conllu"),
    "evaluate": (["evaluate", "--checkpoint=tiny.ckpt", "--out=out"], "out/predictions.conllu"),
    "attack": (
        ["attack", "--attack=words.yaml", "--checkpoint=tiny.ckpt", "--out=out"],
        "out/adversarial.conllu",
    ),
    "augment by an attack": (
        ["augment", "--attack=words.yaml", "--checkpoint=tiny.ckpt", "--out=out.conllu"],
        "out.conllu",
    ),
    **{
        f"augment by {operations}, {keep}": (
            [
                *("augment", f"--operations={operations}", f"--keep={keep}"),
                *("--out=out.conllu", f"--trust={MODULE}"),
            ],
            "out.conllu",
        )
        for operations, keep in (
            ("typos,casing,punctuation,final_stop,contractions", "all"),
            ("doubled_letters,final_stop", "changed"),
            (f"{MODULE}.Backwards", "changed"),
            (f"{MODULE}.Gap", "all"),
        )
    },
}


@cache
def validator() -> Validator:
    return Validator(lang="ud", level=2, output=None)


def mistakes(path: Path) -> list[str]:
    state = validator().validate_files([str(path)])
    return [str(incident) for incident in state.error_tracker]


@pytest.fixture(scope="module", params=TREEBANKS, ids=[path.stem for path in TREEBANKS])
def made(request, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a treebank, a random parser that knows it, and an attack with its words."""
    folder, examples = tmp_path_factory.mktemp(request.param.stem), read_treebank(request.param)
    (folder / "data.conllu").write_bytes(request.param.read_bytes())
    words = {word for example in examples for word in example.sentence.words if " " not in word}
    (folder / "words.txt").write_text("\n".join(sorted(words)) + "\n")
    (folder / "words.yaml").write_text(RECIPE)
    encoder = LSTMEncoder(word_dim=4, character_dim=0, hidden=4, layers=1)
    vocabulary = Vocabulary.from_examples(examples)
    parser = BiaffineParser(encoder, arc_dim=4, label_dim=4, vocabulary=vocabulary)
    save_checkpoint(parser, folder / "tiny.ckpt")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_outputs_pass_the_validator(made: Path, command: str, monkeypatch, tmp_path, capsys):
    assert mistakes(made / "data.conllu") == []
    for name in ("data.conllu", "tiny.ckpt", "words.txt", "words.yaml"):
        os.symlink(made / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    options, out = COMMANDS[command]
    main([*options, "--data", "data.conllu"])
    assert mistakes(tmp_path / out) == []
    source, written = read_treebank("data.conllu"), read_treebank(out)
    if "augment" not in command:
        assert len(written) == len(source)
    changed = [one.sentence.words for one in written] != [one.sentence.words for one in source]
    assert changed == (command not in ("predict", "evaluate"))
    told = [line for line in capsys.readouterr().err.splitlines() if "enhanced" in line]
    assert len(told) == (made.name.startswith("english"))
