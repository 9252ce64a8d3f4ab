"""Data and outputs in other places: what a command writes there is what it writes here."""

import os
from pathlib import Path

import fsspec
import pytest

from robustparse.cli.main import main
from sample_runs import save_checkpoint, sentences, trained_parser, write_sample

MEMORY = fsspec.filesystem("memory")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A folder for local files, a home, and an empty place elsewhere."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write_sample(Path("test.conllu"), sentences(8, "test"))
    MEMORY.store.clear()
    MEMORY.pseudo_dirs[:] = [""]
    MEMORY.pipe_file("/corpus/test.conllu", Path("test.conllu").read_bytes())
    yield
    assert not [*Path.cwd().glob("*:*")]  # a scheme is no folder


def contents(folder: str) -> dict[str, bytes]:
    """Of the files of a remote or local folder, by name."""
    system, path = fsspec.core.url_to_fs(folder)
    return {one.removeprefix(f"{path}/"): system.cat_file(one) for one in system.find(path)}


def evaluate(data: str, out: str, *more: str) -> None:
    checkpoint = Path("parser.ckpt")
    if not checkpoint.exists():
        save_checkpoint(trained_parser(), checkpoint)
    main(["evaluate", "--checkpoint", str(checkpoint), "--data", data, "--out", out, *more])


def test_a_folder_elsewhere_is_that_of_a_local_run() -> None:
    evaluate("test.conllu", "scored")
    evaluate("memory://corpus/test.conllu", "memory://results/scored")
    local, remote = contents("scored"), contents("memory://results/scored")
    assert remote.keys() == local.keys()
    assert not [*Path.home().rglob("scored")]  # moved, not copied
    for name, content in local.items():
        data = str(next((Path.home() / ".cache").rglob("test.conllu")))
        assert remote[name].decode().replace(data, "test.conllu") == content.decode()


@pytest.mark.parametrize("where", ["", "memory://shards/"])
def test_shards_elsewhere_are_merged(where: str) -> None:
    evaluate("test.conllu", "whole")
    for shard in ("1/2", "2/2"):
        evaluate("test.conllu", f"memory://shards/{shard[0]}", "--shard", shard)
    merged = f"{where}merged"
    main(["merge", merged, "memory://shards/1", "memory://shards/2"])
    assert contents(merged)["scores.json"] == contents("whole")["scores.json"]


def test_files_beside_an_output_go_with_it() -> None:
    command = ["augment", "--task", "dependency", "--operations", "typos"]
    data = "memory://corpus/test.conllu"
    main([*command, "--data", data, "--out", "memory://made/copies.conllu"])
    main([*command, "--data", "test.conllu", "--out", "copies.conllu"])
    made = contents("memory://made")
    assert made["copies.conllu"] == Path("copies.conllu").read_bytes()
    assert set(made) == {path.name for path in Path.cwd().glob("copies.conllu*")}
    for shard in ("1/2", "2/2"):
        out = f"memory://parts/{shard[0]}.conllu"
        main([*command, "--data", data, "--out", out, "--shard", shard])
    main(["merge", "memory://parts/both.conllu", *(f"memory://parts/{i}.conllu" for i in (1, 2))])
    assert contents("memory://parts")["both.conllu"] == made["copies.conllu"]


def test_a_failed_command_resumes_what_it_has_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is nowhere but in the local folder until the command has ended."""
    save_checkpoint(trained_parser(), Path("parser.ckpt"))
    attack = ["attack", "--attack", "zheng2020_universal", "--checkpoint", "parser.ckpt"]
    main([*attack, "--data", "test.conllu", "--out", "whole"])
    remote = [*attack, "--data", "test.conllu", "--out", "memory://results/attacked"]
    from robustparse.evaluation import attack_folder

    def fails(*_: object, **__: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(attack_folder, "write_json", fails)
        with pytest.raises((OSError, SystemExit)):
            main(remote)
    assert not MEMORY.exists("/results")
    main(remote)
    whole, found = contents("whole"), contents("memory://results/attacked")
    assert found["examples.jsonl"] == whole["examples.jsonl"]
    assert found.keys() == whole.keys()


@pytest.mark.parametrize(
    "arguments",
    [
        ["augment", "--operations", "typos", "--data", "memory://no.conllu", "--out", "x.conllu"],
        ["augment", "--operations", "typos", "--data", "nowhere://a/b", "--out", "x.conllu"],
        ["augment", "--operations", "typos", "--data", "test.conllu", "--out", "s3://bucket/b"],
        ["fit", "--config", "experiment/ewt_biaffine", "--trainer.default_root_dir", "s3://b/c"],
    ],
)
def test_mistakes(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    (url,) = (one for one in arguments if "://" in one)
    assert url in capsys.readouterr().err
    assert sorted(os.listdir()) == ["test.conllu"]
