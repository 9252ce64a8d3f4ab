"""Grammar checkers: errors compared with the current sentence; LanguageTool; link grammar."""

import shutil
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
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
from robustparse.attacks.constraints.link_grammar import LinkGrammar
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
    with pytest.raises(InputError, match=f"no copy in {tmp_path}") as error:
        LanguageTool().errors(["bad"])
    assert error.value.remedy.startswith("set `download: true`")
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
    with pytest.raises(InputError, match=r"it failed on 'bad' \(no answer within 0\.05 s\)"):
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
    with pytest.raises(InputError, match=r"cannot be started .*no answer within 0\.05 s"):
        LanguageTool(server="x").errors(["bad"])
    library.LanguageTool = refuse
    with pytest.raises(InputError, match=r"cannot be started for en-US \(refused\)"):
        LanguageTool(server="x").errors(["bad"])
    monkeypatch.setitem(sys.modules, "language_tool_python", None)
    with pytest.raises(InputError, match="run `pip install language_tool_python`") as error:
        LanguageTool().errors(["bad"])
    assert error.value.key == "LanguageTool"


def test_a_time_limit_on_a_call() -> None:
    assert within(60.0, lambda: None) is None
    with pytest.raises(TimeoutError):
        within(0.01, lambda: time.sleep(5))
    with pytest.raises(KeyError):
        within(60.0, lambda: {}["x"])


def command(tmp_path: Path, body: str) -> str:
    """A program that stands in for link-parser; it reads a sentence a line."""
    path = tmp_path / "parser"
    path.write_text(
        f"#!{sys.executable}\nimport os, sys, time\nsay = lambda s: print(s, flush=True)\n"
    )
    with path.open("a") as file:
        file.write(
            f"say('limit set to 1000')\nfor line in sys.stdin:\n    line = line.strip()\n{body}"
        )
    path.chmod(0o755)
    return str(path)


COUNTS = """\
    if 'bad' in line:
        say('No complete linkages found.')
    else:
        say('Found 2 linkages')
        sys.stdout.write('\\tUnique linkage, cost'); sys.stdout.flush(); time.sleep(0.05)
        say(' vector = (UNUSED=0 DIS= 3.00 LEN=4)')
"""


def test_link_grammar_counts_sentences_that_it_cannot_link(tmp_path) -> None:
    texts = ["a bad bad day", "a good day", "", "! bad", "bad one two three", "!", "fine"]
    checker = LinkGrammar(command(tmp_path, COUNTS), longest=4)
    assert checker.errors(texts) == [1, 0, 0, 1, 1, 0, 0]
    process = checker._process
    assert checker.errors(texts[::-1]) == [0, 0, 1, 1, 0, 0, 1]
    assert checker.errors(["bad one two three four"]) == [0]
    assert checker._process is process  # kept
    checker.close()
    checker.close()
    assert process.returncode is not None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    time.sleep(60)\n", r"no answer within 0\.3 s to 'a day'"),
        ("    say('UNUSED=0'.replace('U', 'V'))\n", r"no answer within 0\.3 s"),
        ("    say('no dictionary'); sys.exit(3)\n", r"ended with code 3 .*saying: no dictionary"),
        ("    sys.exit(0)\n", "ended with code 0 at 'a day'"),
        ("    os.close(1); os.close(2); time.sleep(60)\n", "ended with code -9 at 'a day'"),
    ],
)
def test_a_checker_that_hangs_or_dies(tmp_path, body: str, message: str) -> None:
    checker = LinkGrammar(command(tmp_path, body), seconds=0.3)
    if "ended" in message:
        checker.seconds = 60.0
    with pytest.raises(InputError, match=message):
        checker.errors(["a day"])
    assert checker._process is None


def test_a_checker_that_dies_between_two_texts_says_so(tmp_path) -> None:
    checker = LinkGrammar(command(tmp_path, COUNTS + "    sys.exit(7)\n"))
    with pytest.raises(InputError, match="ended with code 7"):
        checker.errors(["a day"] * 3)
    assert checker.errors(["a day"]) == [0]  # another process


def test_a_missing_command(tmp_path) -> None:
    absent = str(tmp_path / "absent")
    with pytest.raises(InputError, match=r"cannot be run .*apt install link-grammar") as error:
        LinkGrammar(absent).errors(["a"])
    assert error.value.key == f"link grammar: {absent}"


needs_link_parser = pytest.mark.skipif(
    shutil.which("link-parser") is None,
    reason="link-parser is not installed (Debian: apt install link-grammar)",
)


@needs_link_parser
def test_the_real_link_grammar() -> None:
    sentence = Sentence(("The", "cat", "sleeps", "on", "the", "mat", "."))
    edits = [
        Edit(sentence, sentence.words, position, word)
        for position, word in ((2, "sleep"), (2, "lies"), (1, "dog"), (4, "an"), (1, "of"))
    ]
    one = GrammarErrors(LinkGrammar())
    assert one.admits(edits).tolist() == [False, True, True, False, False]
    one.checker.close()


@needs_link_parser
def test_the_real_link_grammar_finds_a_linkage_among_several() -> None:
    # Most of its linkages fail; the second has many that pass, of which one is shown.
    good = ["why would you want a chihuahua?", "I saw the man in the park with a telescope."]
    checker = LinkGrammar()
    errors = checker.errors([good[0], "the the cat", *good, "The cat sleep the.", *good])
    assert errors == [0, 1, 0, 0, 1, 0, 0]
    checker.close()


PICKY = """\
    if len(line.encode()) > 2045:
        sys.exit(0)
    if not line.split('\\0')[0].strip(' \u200b\u200c\u200d\u2060'):
        continue
    if len(line.replace(',', ' ,').split()) > 254:
        print('link-grammar: Error: sentence too long, contains more than 254 words',
              file=sys.stderr, flush=True)
        continue
    say('No complete linkages found.'); say('cost vector = (UNUSED=2 DIS= 0.00 LEN=1)')
"""

# Which the command does not answer, or quits at; each with a similar text that it answers.
UNANSWERED = ["\u200b", "\0", "\u2060 \u200b", "%\u200d", "\x1f"]
UNANSWERED += ["é" * 1023, "of, " * 130, "of " * 255]
ANSWERED = ["\u200bof of", "\0of of", "\u200b!of of", "of\0of"]
ANSWERED += ["é" * 1022, "of, " * 120, "of " * 200]


def test_texts_that_link_grammar_does_not_answer_count_no_error(tmp_path) -> None:
    checker = LinkGrammar(command(tmp_path, PICKY), longest=None)
    texts = [text for pair in zip(UNANSWERED, [*ANSWERED, "of"], strict=True) for text in pair]
    assert checker.errors(texts) == [0, 1] * 8
    checker.close()


@needs_link_parser
def test_the_real_link_grammar_answers_or_is_not_asked() -> None:
    checker = LinkGrammar(longest=None)
    good, bad = "The cat sleeps.", "The cat sleep the."
    for text in UNANSWERED:
        assert checker.errors([good, text, bad, text, good]) == [0, 0, 1, 0, 0]
    for text in ANSWERED[:5]:
        assert checker.errors([good, text, good])[::2] == [0, 0]
    checker.close()
