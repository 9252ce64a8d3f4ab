"""Standard output on a full device, closed, or without a reader: no traceback, and whole files."""

import io
import json
import os
import sys

import pytest

from robustparse.cli.main import main
from robustparse.cli.streams import Stream
from robustparse.errors import InputError

OUTPUTS = {"full": 2, "closed": 2, "reader gone": 141}


def status(arguments: list[str], output: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a command whose standard output is not to be written; return its exit status."""
    reader, writer = os.pipe()
    os.close(reader)
    kept = os.open("/dev/full", os.O_WRONLY) if output == "full" else writer
    with os.fdopen(kept, "w") as file:
        monkeypatch.setattr(sys, "stdout", None if output == "closed" else file)
        with pytest.raises(SystemExit) as end:
            main(arguments)
    return int(end.value.code or 0)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "--version",
        "annotate --help",
        "fit --help",
        "predict --help",
        "predict",
        "evaluate",
    ],
)
def test_what_cannot_be_written_ends_with_a_status(command, output, made, monkeypatch, capsys):
    arguments = command.split()
    if command in ("predict", "evaluate"):
        arguments += ["--checkpoint", f"{made}/tiny.ckpt", "--data", f"{made}/test.conllu"]
    assert status(arguments, output, monkeypatch) == OUTPUTS[output]
    error = capsys.readouterr().err
    assert error.startswith("robustparse: standard output: ") == (output != "reader gone")
    assert error.count("\n") == (output != "reader gone")


def test_a_stream_that_third_party_code_closes_fails():
    stream = Stream(io.StringIO())
    stream.close()
    stream.write("a table")
    with pytest.raises(InputError) as error:
        stream.check()
    assert error.value.path == "standard output"


def test_files_are_whole_all_the_same(made, tmp_path, monkeypatch):
    model = ["--checkpoint", f"{made}/tiny.ckpt", "--data", f"{made}/test.conllu"]
    scored, page = tmp_path / "scored", tmp_path / "page.html"
    assert status(["evaluate", *model, "--out", str(scored)], "full", monkeypatch) == 2
    assert json.loads((scored / "scores.json").read_text())["task"] == "dependency"
    assert status(["report", str(scored), "--out", str(page)], "full", monkeypatch) == 2
    assert page.read_text().rstrip().endswith("</html>")


def test_a_mistake_keeps_its_status_where_nobody_reads_of_it(made, monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        with pytest.raises(SystemExit, match="2"):
            main(["predict"])


def test_a_stream_is_written_as_without_it():
    kept = io.StringIO()
    stream = Stream(kept)
    print("one", file=stream)
    stream.writelines(["two\n", "three\n"])
    stream.check()
    assert kept.getvalue() == "one\ntwo\nthree\n"
    assert (stream.failure, stream.isatty()) == (None, False)


def test_files_and_pipes_get_utf_8_whatever_the_locale():
    raw = io.BytesIO()
    stream = Stream(io.TextIOWrapper(raw, encoding="ascii"))
    print("a ﬁlm, no\udcef.tsv", file=stream)  # a name that is not UTF-8
    stream.check()
    assert raw.getvalue() == "a ﬁlm, no\\udcef.tsv\n".encode()
