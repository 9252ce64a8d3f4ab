"""A full disk, a second writer and odd names lose nothing, and are said in one message."""

import os
import resource
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tiny_runs import fit, write_config

from robustparse.cli.main import main
from robustparse.files.output_folders import locked
from robustparse.files.writing import write_text


@contextmanager
def full_disk(left: int) -> Iterator[None]:
    """No file grows over some bytes."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def files(folder: Path) -> dict[str, bytes]:
    """The files of a folder, but for those that tell times."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("summary.json", "c.conllu.summary.json")
    }


COMMANDS = {
    "attack": ("--attack words.yaml {model} --out out/attacked", 3000),
    "augment": ("--attack words.yaml {model} --out out/c.conllu --keep all", 3000),
    "evaluate": ("{model} --out out/scored", 100),
    "report": ("done --out out/r.html", 100),
    "annotate": ("export done --which changed --out out/pairs.csv", 100),
}


@pytest.fixture(scope="session")
def done(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an attack."""
    out = tmp_path_factory.mktemp("attacked") / "done"
    model = ["--checkpoint", f"{made}/tiny.ckpt", "--data", f"{made}/test.conllu"]
    main(["attack", "--attack", f"{made}/words.yaml", *model, "--out", str(out)])
    return out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_ends_a_command_that_can_be_run_again(
    command: str, made: Path, done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, left = COMMANDS[command]
    model = f"--checkpoint {made}/tiny.ckpt --data {made}/test.conllu"
    options = options.format(model=model).replace("words.yaml", f"{made}/words.yaml")
    options = options.replace("done", str(done))
    whole, out = tmp_path / "whole", tmp_path / "out"
    for folder in (whole, out):
        folder.mkdir()
    main([command, *options.replace("out/", f"{whole}/").split()])
    capsys.readouterr()
    with full_disk(left), pytest.raises(SystemExit) as end:
        main([command, *options.replace("out/", f"{out}/").split()])
    error = capsys.readouterr().err
    assert end.value.code == 2
    assert error.startswith(f"robustparse: {out}/")
    assert error.count("\n") == 1
    assert "File too large" in error
    assert "make room and run the command again" in error
    assert not list(out.rglob(".*"))
    main([command, *options.replace("out/", f"{out}/").split()])
    assert files(out) == files(whole)


def test_a_second_fit_into_a_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, run = write_config(tmp_path / "run.yaml", max_steps=2), tmp_path / "run"
    run.mkdir()
    with locked(run, "fit", "--out"), pytest.raises(SystemExit) as end:
        main(fit(config, run))
    assert end.value.code == 2
    assert f"{run}: another process is writing into this folder" in capsys.readouterr().err
    assert list(run.iterdir()) == []
    main(fit(config, run))
    assert (run / "last.ckpt").exists()
    assert not (run / ".lock").exists()


def test_brackets_in_names_are_shown(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copies = tmp_path / "[bold]:x:[a].ckpt", tmp_path / "a[" / "b]c.conllu"
    path.write_bytes((made / "tiny.ckpt").read_bytes())
    main(["evaluate", "--checkpoint", str(path), "--data", f"{made}/test.conllu"])
    assert "[bold]:x:[a]" in capsys.readouterr().out
    data = ["--data", f"{made}/test.conllu", "--operations", "typos"]
    main(["augment", *data, "--out", str(copies)])
    assert str(copies) in capsys.readouterr().out


@pytest.mark.parametrize(("key", "given"), [("trainer", ".nan"), ("trainer.logger", "nosuch")])
def test_settings_of_the_trainer_that_are_none(
    key: str, given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, more = write_config(tmp_path / "run.yaml"), tmp_path / "more.yaml"
    logger = "robustparse.tracking.WandbLogger"
    named = f"{{logger: {{class_path: {logger}, init_args: {{nosuch: 3}}}}}}"
    more.write_text(f"trainer: {named if given == 'nosuch' else given}\n")
    with pytest.raises(SystemExit) as end:
        main([*fit(config, tmp_path / "run"), "--config", str(more)])
    error = capsys.readouterr().err
    assert end.value.code == 2
    assert key in error
    assert given.strip(".") in error
    assert error.count("\n") == 1


def test_new_files_have_the_permissions_of_the_umask(tmp_path: Path) -> None:
    for mask, mode in ((0o077, 0o600), (0o022, 0o644)):
        before = os.umask(mask)
        try:
            write_text(tmp_path / f"{mode}", "text")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / f"{mode}").stat().st_mode) == mode
