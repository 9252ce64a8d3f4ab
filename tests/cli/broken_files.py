"""Treebanks and checkpoints that our commands must refuse."""

import pickle
from pathlib import Path
from typing import Any

import torch


def row(number: int, word: str, head: int | str, label: str, columns: str = "\t_\t_\n") -> str:
    return f"{number}\t{word}\t_\tNOUN\tNN\t_\t{head}\t{label}{columns}"


GOOD = row(1, "a", 2, "nsubj") + row(2, "b", 0, "root") + "\n"

# Content, and what the message must say after the file's name.
TREEBANKS: dict[str, tuple[bytes, str]] = {
    "nine": ((GOOD + row(1, "a", 0, "root", "\t_\n")).encode(), ":4: 9 columns in"),
    "range": ((row(1, "a", 0, "root") + row(2, "b", 7, "root")).encode(), ":2: head '7'"),
    "cycle": (
        (row(1, "a", 2, "root") + row(2, "b", 1, "root")).encode(),
        ":1: the heads from word",
    ),
    "head": ((GOOD + row(1, "a", "x", "root")).encode(), ":4: head 'x'"),
    "ids": (row(2, "a", 0, "root").encode(), ":1: word id '2'; expected 1"),
    "self": (row(1, "a", 1, "root").encode(), ":1: the heads from"),
    "roots": ((row(1, "a", 0, "root") + row(2, "b", 0, "root")).encode(), ":2: a second root"),
    "empty": (b"", ": the file is empty"),
    "blank": (b"\n\n\n", ": the file is empty"),
    "comments": (b"# text = a\n\n", ":1: a sentence without words"),
    "latin": (GOOD.encode() + b"1\t\xff\xfe\t_\tX\tX\t_\t0\troot\t_\t_\n\n", ":4: not UTF-8"),
    "noise": (bytes(range(256)), ":"),
    "long": ("".join(row(i, "a", i - 1, "root") for i in range(1, 252)).encode(), ":1: 251 words"),
}


class Evil:
    """Unpickled, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def broken_checkpoints(folder: Path, good: Path) -> dict[str, str]:
    """Write them; what each message must say, by the file's name."""
    (folder / "noise.ckpt").write_bytes(bytes(range(256)))
    (folder / "cut.ckpt").write_bytes(good.read_bytes()[:2000])
    (folder / "empty.ckpt").write_bytes(b"")
    (folder / "evil.ckpt").write_bytes(pickle.dumps(Evil(folder / "pwned")))
    torch.save({"state_dict": Evil(folder / "pwned")}, folder / "evil2.ckpt")
    torch.save({"state_dict": {}}, folder / "foreign.ckpt")
    content = torch.load(good, weights_only=True)
    for name, change in {
        "format": {"format": 99},
        "class": {"model": {"class_path": "os.system", "init_args": {}}},
        "module": {"model": {"class_path": "robustparse.models.gone.Parser", "init_args": {}}},
        "encoder": {"model": specification_of("robustparse.models.LSTMEncoder")},
        "arguments": {"model": specification_of("robustparse.models.BiaffineParser")},
        "vocabulary": {"vocabulary": {"words": []}},
        "numbers": {"vocabulary": dict.fromkeys(content["robustparse"]["vocabulary"], 5)},
        "repeated": {"vocabulary": {**content["robustparse"]["vocabulary"], "labels": ["a", "a"]}},
        "small": {"vocabulary": {**content["robustparse"]["vocabulary"], "labels": ["root"]}},
    }.items():
        described = {**content["robustparse"], **change}
        torch.save({**content, "robustparse": described}, folder / f"{name}.ckpt")
    (folder / "folder.ckpt").mkdir()
    (folder / "link.ckpt").symlink_to("gone.ckpt")
    (folder / "run.ckpt").mkdir()
    (folder / "run.ckpt" / "best.ckpt").symlink_to("gone.ckpt")
    (folder / "run.ckpt" / "last.ckpt").write_bytes(good.read_bytes())
    return {
        **dict.fromkeys(("noise", "cut", "empty", "evil", "evil2"), "not a readable checkpoint"),
        "foreign": "not one that robustparse wrote",
        "format": "format 99, and this version",
        "class": "expected a public class of robustparse.models",
        "module": "robustparse.models.gone",
        "encoder": "robustparse.models.LSTMEncoder",
        "arguments": "no_such_argument",
        "vocabulary": "vocabulary: holds",
        "numbers": "vocabulary: words: not a list of texts",
        "repeated": "vocabulary: labels: 'a' appears twice",
        "small": "its weights do not fit",
        "link": "a link to a missing file",
        "run": "best.ckpt: a link to a missing file",
        "folder": "no such checkpoint",
        "missing": "no such checkpoint",
    }


def specification_of(class_path: str) -> dict[str, Any]:
    argument = "no_such_argument" if class_path.endswith("Parser") else "layers"
    return {"class_path": class_path, "init_args": {argument: 1}}
