"""Grammar checkers: errors compared with the current sentence; LanguageTool; time limits."""

import sys
import threading
import time
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace

import pytest

from robustparse.attacks.constraints import grammar
from robustparse.attacks.constraints.grammar import (
    GrammarChecker,
    GrammarErrors,
    LanguageTool,
    within,
    written,
)
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.errors import InputError
from robustparse.types import Sentence


def test_words_as_running_text() -> None:
    words = ["Do", "n't", "they", "say", "'s", ",", "(", "really", ")", "?", "No", "!"]
    assert written(words) == "Don't they say's, ( really )? No!"
    assert written([",", "x"]) == ", x"
    assert written([]) == ""


class Bad(GrammarChecker):
    """Every `bad` is an error."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def errors(self, texts: Sequence[str]) -> list[int]:
        self.asked += texts
        return [text.count("bad") for text in texts]


def test_a_change_may_not_add_an_error_to_the_current_sentence() -> None:
    original = Sentence(("one", "bad", "two", "."))
    current = ("bad", "bad", "two", ".")
    edits = [
        Edit(original, words, position, word)
        for words in (original.words, current)
        for position, word in ((0, "bad"), (0, "good"), (2, "bad"), (1, "fine"))
    ]
    added = [1, 0, 1, -1, 0, -1, 1, -1]
    for more in (0, 1):
        checker = Bad()
        admitted = GrammarErrors(checker, more=more).admits(edits)
        assert admitted.tolist() == [errors <= more for errors in added]
        assert len(checker.asked) == len(set(checker.asked))
    assert GrammarErrors(Bad()).admits([]).shape == (0,)
    with pytest.raises(InputError, match="more must be >= 0, got -1"):
        GrammarErrors(Bad(), more=-1)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A LanguageTool whose matches are the words `bad`."""
    made = SimpleNamespace(check=lambda text: [word for word in text.split() if word == "bad"])
    library = ModuleType("language_tool_python")

    def start(language: str, **options: str | None) -> SimpleNamespace:
        made.started = options
        return made

    library.LanguageTool = start
    monkeypatch.setitem(sys.modules, "language_tool_python", library)
    return made


def test_language_tool_counts_matches(tool, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LanguageTool(server="http://localhost:1").errors(["bad bad", "good"]) == [2, 0]
    assert tool.started == {"remote_server": "http://localhost:1"}
    monkeypatch.setenv("LTP_PATH", str(tmp_path))
    monkeypatch.delenv("LTP_JAR_DIR_PATH", raising=False)
    with pytest.raises(InputError, match=f"no copy in {tmp_path}.*set `download: true`"):
        LanguageTool().errors(["bad"])
    (tmp_path / "LanguageTool-6.4").mkdir()
    assert LanguageTool().errors(["bad"]) == [1]


def test_language_tool_starts_the_newest_copy_found_and_fetches_none(
    tool, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(**settings: bool) -> dict[str, str | None]:
        assert LanguageTool(**settings).errors(["bad"]) == [1]
        return tool.started

    monkeypatch.setenv("LTP_PATH", str(tmp_path))
    monkeypatch.setenv("LTP_JAR_DIR_PATH", str(tmp_path / "jars"))
    assert started() == {"remote_server": None}
    (tmp_path / "LanguageTool-7.0").touch()  # no folder
    for name, newest in (("6.9", "6.9"), ("6.10", "6.10"), ("6.4", "6.10"), ("temp", "6.10")):
        (tmp_path / f"LanguageTool-{name}").mkdir()
        version = {"language_tool_download_version": newest}
        assert started() == {"remote_server": None, **version}
    (tmp_path / "LanguageTool-20260101").mkdir()
    assert started()["language_tool_download_version"] == "20260101"
    assert started(download=True) == {"remote_server": None}


def test_language_tool_that_hangs_fails_or_is_missing(tool, monkeypatch) -> None:
    done = threading.Event()
    tool.check = lambda text: done.wait(60)
    with pytest.raises(InputError, match=r"no answer within 0\.05 s to 'bad'"):
        LanguageTool(server="x", seconds=0.05).errors(["bad"])
    done.set()

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError("refused")

    tool.check = refuse
    with pytest.raises(InputError, match=r"it failed on 'bad' \(refused\)"):
        LanguageTool(server="x").errors(["bad"])
    library = sys.modules["language_tool_python"]
    library.LanguageTool = lambda *_, **__: threading.Event().wait(5)
    monkeypatch.setattr(grammar, "_START_SECONDS", 0.05)
    with pytest.raises(InputError, match=r"has not started within 0\.05 s"):
        LanguageTool(server="x").errors(["bad"])
    library.LanguageTool = refuse
    with pytest.raises(InputError, match=r"cannot be started for en-US \(refused\)"):
        LanguageTool(server="x").errors(["bad"])
    monkeypatch.setitem(sys.modules, "language_tool_python", None)
    with pytest.raises(InputError, match="run `pip install language_tool_python`"):
        LanguageTool().errors(["bad"])


def test_a_time_limit_on_a_call() -> None:
    assert within(60.0, lambda: None) is None
    with pytest.raises(TimeoutError):
        within(0.01, lambda: time.sleep(5))
    with pytest.raises(KeyError):
        within(60.0, lambda: {}["x"])
    with pytest.raises(InputError, match="seconds must be > 0"):
        LanguageTool(seconds=0)
