"""Data and outputs in other places: what a command writes there is what it writes here."""

import os
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from robustparse.attacks.results import AttackResult
from robustparse.cli.main import main
from sample_runs import save_checkpoint, sentences, trained_parser, write_sample

MEMORY = fsspec.filesystem("memory")
DATA = "memory://corpus/test.conllu"
AUGMENT = ["augment", "--task", "dependency", "--operations", "typos"]


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder and a home here, and a place elsewhere, with the same data."""
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
    """The content of each file in a remote or local folder, by the file's name."""
    system, path = fsspec.core.url_to_fs(folder)
    return {file.removeprefix(f"{path}/"): system.cat_file(file) for file in system.find(path)}


def checkpoint() -> list[str]:
    if not Path("parser.ckpt").exists():
        save_checkpoint(trained_parser(), Path("parser.ckpt"))
    return ["--checkpoint", "parser.ckpt"]


def evaluate(data: str, out: str, *more: str) -> None:
    main(["evaluate", *checkpoint(), "--data", data, "--out", out, *more])


def test_a_folder_elsewhere_is_that_of_a_local_run() -> None:
    evaluate("test.conllu", "scored")
    evaluate(DATA, "memory://results/scored")
    local, remote = contents("scored"), contents("memory://results/scored")
    assert remote.keys() == local.keys()
    assert not [*Path.home().rglob("scored")]  # it is moved
    for name, content in local.items():
        data = str(next((Path.home() / ".cache").rglob("test.conllu")))
        assert remote[name].decode().replace(data, "test.conllu") == content.decode()


def test_each_of_several_files_may_be_elsewhere() -> None:
    write_sample(Path("other.conllu"), sentences(12, "test")[8:])
    write_sample(Path("joined.conllu"), sentences(12, "test"))
    for data, out in ((["joined.conllu"], "one.conllu"), ([DATA, "other.conllu"], "two.conllu")):
        main([*AUGMENT, "--data", *data, "--out", out])
    assert Path("one.conllu").read_bytes() == Path("two.conllu").read_bytes()


def test_data_that_have_changed_are_read_again() -> None:
    for count in (8, 3):
        write_sample(Path("other.conllu"), sentences(count, "test"))
        MEMORY.pipe_file("/corpus/test.conllu", Path("other.conllu").read_bytes())
        main([*AUGMENT, "--keep", "all", "--data", DATA, "--out", "copies.conllu"])
        assert Path("copies.conllu").read_text().count("\n\n") == count


@pytest.mark.parametrize("where", ["", "memory://merged/"])
def test_shards_elsewhere_are_merged(where: str) -> None:
    evaluate("test.conllu", "whole")
    main([*AUGMENT, "--data", "test.conllu", "--out", "whole.conllu"])
    for shard in ("1/2", "2/2"):
        folder, options = f"memory://shards/{shard[0]}", ["--shard", shard]
        evaluate(DATA, folder, *options)
        main([*AUGMENT, "--data", DATA, "--out", f"{folder}.conllu", *options])
    assert {"1.conllu", "1.conllu.shard.json"} <= contents("memory://shards").keys()
    main(["merge", f"{where}folder", "memory://shards/1", "memory://shards/2"])
    main(["merge", f"{where}a.conllu", "memory://shards/1.conllu", "memory://shards/2.conllu"])
    merged = contents(where.rstrip("/") or ".")
    (data,) = {str(path) for path in (Path.home() / ".cache").rglob("test.conllu")}
    found = merged["folder/scores.json"].decode().replace(data, "test.conllu")
    assert found == Path("whole/scores.json").read_text()
    assert merged["a.conllu"] == Path("whole.conllu").read_bytes()


def test_a_report_reads_attacks_elsewhere() -> None:
    attack = ["attack", "--attack", "zheng2020_universal", *checkpoint(), "--data", "test.conllu"]
    for name in ("one", "two"):
        main([*attack, "--out", f"memory://attacks/{name}"])
    folders = ["memory://attacks/one", "memory://attacks/two"]
    main(["report", *folders, "--out", "memory://pages/report.html"])
    main(["report", "--compare", *folders])
    assert b"<html" in contents("memory://pages")["report.html"]


def test_a_failed_command_resumes_what_it_has_written(monkeypatch: pytest.MonkeyPatch) -> None:
    attack = ["attack", "--attack", "zheng2020_universal", *checkpoint()]
    main([*attack, "--data", "test.conllu", "--out", "whole"])
    remote = [*attack, "--data", "test.conllu", "--out", "memory://results/attacked"]
    attacked: list[int] = []

    def encode(stop: int):
        def example_record(task: object, result: AttackResult) -> object:
            attacked.append(result.id)
            if len(attacked) == stop:
                raise KeyboardInterrupt
            return original(task, result)

        return example_record

    from robustparse.evaluation import attack_processes

    original = attack_processes.example_record
    for stop, status in ((4, 130), (0, None)):
        with monkeypatch.context() as patch:
            patch.setattr(attack_processes, "example_record", encode(stop))
            if status is None:
                main(remote)
            else:
                with pytest.raises(SystemExit) as end:
                    main(remote)
                assert end.value.code == status
                assert not MEMORY.find("/results")
    assert len(attacked) == 8 + 1  # the one that was interrupted
    whole, found = contents("whole"), contents("memory://results/attacked")
    assert found["examples.jsonl"] == whole["examples.jsonl"]
    assert found.keys() == whole.keys()
    with pytest.raises(SystemExit):  # nothing is overwritten
        main(remote)
    assert contents("memory://results/attacked") == found


def test_an_upload_that_broke_off_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    put, broken = type(MEMORY).put_file, ["once"]

    def breaks(system: object, local: str, *more: object, **named: object) -> None:
        if local.endswith("summary.json") and broken:
            raise ConnectionError(broken.pop())
        put(system, local, *more, **named)

    monkeypatch.setattr(type(MEMORY), "put_file", breaks)
    command = [*AUGMENT, "--data", DATA, "--out", "memory://made/copies.conllu"]
    with pytest.raises(SystemExit) as end:
        main(command)
    assert end.value.code == 2
    assert MEMORY.exists("/made/copies.conllu")
    main(command)
    assert {"copies.conllu", "copies.conllu.summary.json"} == contents("memory://made").keys()
    assert not [*Path.home().rglob("copies.conllu*")]


def test_no_file_leaves_its_folder(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """As links of a web page, or keys of a bucket, may have it."""
    outside = "/corpus/test.conllu/../../../../stolen"
    monkeypatch.setattr(type(MEMORY), "find", lambda *_, **__: ["/corpus/test.conllu", outside])
    with pytest.raises(SystemExit) as end:
        main([*AUGMENT, "--data", DATA, "--out", "copies.conllu"])
    assert end.value.code == 2
    assert "stolen" in capsys.readouterr().err
    assert not [*Path.home().rglob("stolen")]


class NoRights(type(MEMORY)):  # type: ignore[misc]
    """A place where nothing can be written, with an error of its own."""

    def pipe_file(self, *_: object, **__: object) -> None:
        raise KeyError("no credentials")


@pytest.mark.parametrize(
    "arguments",
    [
        [*AUGMENT, "--data", "memory://no.conllu", "--out", "x.conllu"],
        [*AUGMENT, "--data", "nowhere://a/b", "--out", "x.conllu"],
        [*AUGMENT, "--data", "test.conllu", "--out", "norights://bucket/b"],
        [*AUGMENT, "--data", "test.conllu", "--out", DATA],
        [*AUGMENT, "--data", "test.conllu", "--out", "memory://made/."],
        ["measure", "memory://made/attacked", "--vectors", "test.conllu"],
        ["fit", "--config", "experiment/ewt_biaffine", "--data.folder", "memory://corpora"],
        ["fit", "--config", "experiment/ewt_biaffine", "--trainer.default_root_dir=memory://b/c"],
    ],
)
def test_mistakes(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    fsspec.register_implementation("norights", NoRights, clobber=True)
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--data.folder", "."] if "memory://b/c" in arguments[-1] else arguments)
    assert end.value.code == 2
    (url,) = (part for one in arguments for part in one.split("=") if "://" in part)
    # A folder of a run is refused by its path, in which slashes are one.
    assert {url, url.replace("://", ":/")} & {*capsys.readouterr().err.replace(": ", " ").split()}
    assert sorted(os.listdir()) == ["test.conllu"]
