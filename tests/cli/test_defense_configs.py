"""The shipped defenses, each after the shipped fine-tuning configurations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from tiny_runs import differences, fit, metrics, write_config

from robustparse.attacks import MaskedLM
from robustparse.attacks.candidates.generator import Slot
from robustparse.cli.main import main
from robustparse.models.base import Model
from robustparse.models.load import load
from sample_runs import sentences, write_sample
from tiny_language_models import PIECES, save_bert

CONFIGS = Path(__file__).parents[2] / "configs"
EXPERIMENTS = sorted((CONFIGS / "experiment").glob("*_finetuning.yaml"))
CURVES = CONFIGS / "experiment" / "ewt_biaffine_early_stopping.yaml"
NORMALIZED = CONFIGS / "model" / "biaffine_word_normalized.yaml"
CHANGED = "substitution/changed"
DEFENSES = sorted((CONFIGS / "defense").glob("*.yaml"))


def merged(capsys: pytest.CaptureFixture[str], *files: Path) -> dict[str, Any]:
    """What ``fit`` makes of configurations, one after the other."""
    given = [part for file in files for part in ("--config", str(file))]
    with pytest.raises(SystemExit) as end:
        main(["fit", *given, "--data.init_args.folder", "sample", "--print_config"])
    assert end.value.code == 0
    whole: dict[str, Any] = yaml.safe_load(capsys.readouterr().out)
    return whole


def callbacks(config: dict[str, Any]) -> list[str]:
    """Class paths, in their order."""
    given = config.get("trainer", {})
    return [one["class_path"] for one in given.get("callbacks") or given.get("callbacks+") or ()]


@pytest.mark.parametrize(
    ("experiment", "defense"),
    [(EXPERIMENTS[0], defense) for defense in DEFENSES]
    + [(experiment, DEFENSES[0]) for experiment in EXPERIMENTS[1:]],
    ids=lambda path: path.stem,
)
def test_a_defense_joins_an_experiment(
    experiment: Path, defense: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = merged(capsys, experiment, defense)
    own, given = (yaml.safe_load(path.read_text()) for path in (experiment, defense))
    assert both["trainer"]["max_steps"] == own["trainer"].get("max_steps", -1)
    assert both["model"]["init_args"]["init_from"] == own["model"]["init_args"]["init_from"]
    copies = given.get("data", {}).get("init_args", {}).get("augmentation", {}).get("files")
    assert both["data"]["init_args"]["augmentation"]["files"] == copies
    assert both["data"]["init_args"]["seed"] == own["data"]["init_args"]["seed"]
    assert copies or callbacks(given)
    assert callbacks(both) == callbacks(given)


def test_defenses_join_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The callbacks of an experiment, and one another's."""
    files = [CONFIGS / "defense" / f"{name}.yaml" for name in ("substitution", "fgm")]
    substitution, fgm = (callbacks(yaml.safe_load(path.read_text())) for path in files)
    assert callbacks(merged(capsys, EXPERIMENTS[0], *files)) == substitution + fgm
    before = substitution + callbacks(yaml.safe_load(CURVES.read_text()))
    assert len(before) == 4
    assert callbacks(merged(capsys, CURVES, files[1])) == before + fgm


def small_normalized(path: Path) -> Path:
    """The shipped experiment, for one step on the sample treebank."""
    settings = yaml.safe_load(NORMALIZED.read_text())
    settings["trainer"] |= {"accelerator": "cpu", "max_steps": 1, "limit_val_batches": 0}
    settings["trainer"] |= {"enable_progress_bar": False, "enable_model_summary": False}
    settings["model"]["init_args"]["encoder"]["init_args"] |= {"hidden": 8, "layers": 1}
    settings["model"]["init_args"] |= {"arc_dim": 8, "label_dim": 6}
    settings["data"]["init_args"] |= {"folder": "sample", "batches": {"words": 400}}
    path.write_text(yaml.safe_dump(settings))
    return path


def embedded(parser: Model) -> torch.Tensor:
    """What an offset is added to, of some sentences, ``(batch, 1 + length, dim)``."""
    batch = parser.encode(sentences(5)).batch(range(5), 1.0)
    found = parser.embed(batch).detach()
    assert found.shape == parser.zero_delta(batch).shape
    return found


def test_the_normalized_parser_cannot_outgrow_an_offset(tmp_path: Path) -> None:
    """Trained clean, then by FGM from there: no table of embeddings can be made larger."""
    config, clean = small_normalized(tmp_path / "run.yaml"), tmp_path / "clean"
    main(fit(config, clean))
    start = ("--model.init_args.init_from", str(clean / "last.ckpt"))
    main(fit(config, tmp_path / "fgm", "--config", str(CONFIGS / "defense" / "fgm.yaml"), *start))
    parser = load(tmp_path / "fgm" / "last.ckpt")
    before = embedded(parser)
    assert not torch.equal(before, embedded(load(clean / "last.ckpt")))
    for table in (one for one in parser.modules() if isinstance(one, torch.nn.Embedding)):
        table.weight.data.mul_(50.0)
    torch.testing.assert_close(embedded(parser), before, atol=1e-4, rtol=1e-4)


@pytest.mark.slow
def test_a_second_training_reads_all_candidates_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each epoch draws sentences and words anew; those of the first run are computed once."""
    some = sentences(30)
    words = {word.lower() for example in some for word in example.sentence.words if word.isalpha()}
    pieces = [*PIECES[:5], *sorted(words)]
    save_bert(tmp_path / "mlm", {piece: row for row, piece in enumerate(pieces)})
    text = (CONFIGS / "defense" / "substitution_masked_lm.yaml").read_text()
    text = text.replace("bert-base-uncased", str(tmp_path / "mlm"))
    text = text.replace("~/.cache/robustparse/candidates.sqlite", str(tmp_path / "cache.sqlite"))
    (tmp_path / "defense.yaml").write_text(text)
    train = write_sample(tmp_path / "train.conllu", some)
    config = write_config(tmp_path / "run.yaml", max_steps=3, limit_val_batches=0)
    options = ["--config", str(tmp_path / "defense.yaml")]
    options += ["--data.init_args.train_file", str(train), "--data.init_args.folder", "null"]
    asked: list[tuple[str, int]] = []
    propose = MaskedLM.propose

    def counted(own: MaskedLM, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        asked.extend((" ".join(slot.sentence.words), slot.position) for slot in slots)
        return propose(own, slots, seed)

    monkeypatch.setattr(MaskedLM, "propose", counted)
    main(fit(config, tmp_path / "one", *options))
    assert 20 < len(asked) == len(set(asked))
    main(fit(config, tmp_path / "two", *options))
    assert len(asked) == len(set(asked))
    changed = [float(row[2]) for row in metrics(tmp_path / "two") if row[1] == CHANGED]
    assert len(changed) == 3
    assert min(changed) > 0.5
    assert differences(tmp_path / "two", tmp_path / "one") == []
