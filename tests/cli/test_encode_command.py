"""``robustparse encode``, and a training run with the encoding."""

from pathlib import Path

import pytest
import torch
from command_runs import mistake

import robustparse as rp
from robustparse.cli.main import main
from sample_runs import sample_table, sentences, write_sample


@pytest.fixture
def table(tmp_path: Path) -> str:
    sample_table().write(tmp_path / "table.jsonl")
    return str(tmp_path / "table.jsonl")


def test_what_is_merged_is_printed(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_sample(tmp_path / "train.conllu", sentences(60))
    out = tmp_path / "encoding.jsonl"
    main(["encode", f"--substitutes={table}", f"--data={data}", "--fidelity=0.3", f"--out={out}"])
    encoding, printed = rp.Encoding.read(out), capsys.readouterr().out
    tokens = encoding.settings["tokens"]
    shares = [
        100 * tokens["recoded"] / tokens["tokens"],
        100 * tokens["attackable"] / tokens["tokens"],
        100 * tokens["one_code"] / tokens["attackable"],
    ]
    assert [line.split()[-1] for line in printed.splitlines() if "%" in line] == [
        f"{share:.1f}" for share in shares
    ]
    largest = max(encoding.clusters, key=lambda code: len(encoding.clusters[code]))
    assert f"{largest} " in printed
    assert printed.splitlines()[-1] == f"{len(encoding.clusters)} clusters in {out}"


@pytest.mark.slow
def test_a_model_is_trained_with_an_encoding(table: str, tmp_path: Path) -> None:
    """Its checkpoint needs no file, and training resumes with the same encoding only."""
    for split in ("train", "dev"):
        write_sample(tmp_path / f"s-{split}.conllu", sentences(12, split))
    data, out = tmp_path / "s-train.conllu", tmp_path / "encoding.jsonl"
    main(["encode", f"--substitutes={table}", f"--data={data}", f"--out={out}"])
    settings = ["word_dim=4", "character_dim=0", "hidden=4", "layers=1"]
    run = [
        *("fit", "--config", "model/biaffine", "--data.folder", str(tmp_path)),
        *("--data", "TreebankDataModule", "--trainer.accelerator", "cpu"),
        *("--trainer.default_root_dir", str(tmp_path / "run"), "--trainer.logger", "false"),
        *(f"--model.init_args.encoder.init_args.{setting}" for setting in settings),
    ]
    encoded = [*run, "--model.encoding", str(out)]
    main([*encoded, "--trainer.max_steps", "1"])
    model = rp.load(tmp_path / "run")
    assert model.clusters == rp.Encoding.read(out).to_lists()
    code = max(rp.Encoding.read(out).clusters.items(), key=lambda item: len(item[1]))
    assert len(set(model.codes(list(code[1])))) == 1
    main([*encoded, "--trainer.max_steps", "2", "--ckpt_path", "last"])
    saved = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)
    assert saved["global_step"] == 2
    with pytest.raises(SystemExit) as end:
        main([*run, "--trainer.max_steps", "3", "--ckpt_path", "last"])
    assert end.value.code == 2


def test_a_mistake_is_one_message(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_sample(tmp_path / "train.conllu", sentences(5))
    out = tmp_path / "encoding.jsonl"
    correct = {"substitutes": table, "data": str(data), "out": str(out)}
    for option, value in (
        ("substitutes", str(data)),
        ("substitutes", "missing.jsonl"),
        ("data", "missing.conllu"),
        ("data", "sample"),  # of which task?
        ("fidelity", "1.5"),
        ("measure", "both"),
        ("out", str(data / "encoding.jsonl")),
    ):
        options = correct | {option: value}
        mistake(capsys, "encode", *(f"--{name}={each}" for name, each in options.items()))
        assert not out.exists()


@pytest.mark.parametrize("option", ["data", "substitutes"])
def test_inputs_are_not_written_over(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    data = write_sample(tmp_path / "train.conllu", sentences(6))
    files = {"substitutes": table, "data": str(data)}
    before = Path(files[option]).read_bytes()
    given = [f"--{name}={path}" for name, path in files.items()]
    assert "input" in mistake(capsys, "encode", *given, f"--out={files[option]}")
    assert Path(files[option]).read_bytes() == before
