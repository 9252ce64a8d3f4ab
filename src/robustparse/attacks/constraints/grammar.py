"""Changes must not add grammatical errors: the grammar constraint of Wang et al. 2021.

The paper counts the matches of LanguageTool's rules; `LinkGrammar` is an alternative.
"""

import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit, Recent, SentenceConstraint
from robustparse.errors import InputError, check_least, optional_library
from robustparse.types import Mask

_REMEMBERED = 1 << 16  # texts
_START_SECONDS = 120.0  # enough for a Java virtual machine and all rules on a slow disk
_COPY = re.compile(r"LanguageTool-(\d+\.\d+|\d{8})")  # folders that the library can start
_GLUED = frozenset([".", ",", "!", ":", ";", "?", "'s", "n't"])


class GrammarChecker(ABC):
    """Counts the errors of texts."""

    @abstractmethod
    def errors(self, texts: Sequence[str]) -> list[int]:
        """Count the errors of each text, independently of the others.

        Raises:
            InputError: the checker is missing, has died or does not answer in time.
        """


class GrammarErrors(SentenceConstraint):
    """A change must not add errors, as counted by a checker.

    Compares with the *current* sentence, just before the change (Wang et al. 2021).

    Args:
        checker: counts errors.
        more: how many errors a change may add (0 in the paper).

    Raises:
        InputError: more is below 0; when first used: the checker is missing, dies or hangs. The
            attack keeps its finished sentences and can be resumed.
    """

    def __init__(self, checker: GrammarChecker, *, more: int = 0) -> None:
        check_least("grammar", 0, more=more)
        self.checker = checker
        self.more = more
        self._known: Recent[str, int] = Recent(_REMEMBERED)

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        texts = [written(edit.changed) for edit in edits]
        texts += [written(edit.current) for edit in edits]
        counts = np.array(self._known.of(texts, self.checker.errors), dtype=np.int64)
        changed, current = counts.reshape(2, len(edits))
        admitted: Mask = changed <= current + self.more
        return admitted


def written(words: Sequence[str]) -> str:
    """Join words with blanks, except before `. , ! : ; ?`, `'s` and `n't`."""
    text = "".join(word if word in _GLUED else f" {word}" for word in words)
    return text.removeprefix(" ")


class LanguageTool(GrammarChecker):
    """Counts all matches of all LanguageTool rules, through language_tool_python.

    A file may name this class only with ``--trust java``, even for a running server.

    Args:
        language: the language of the rules.
        server: address of a running LanguageTool server; None starts the newest local copy, which
            needs Java and which the library finds by LTP_PATH or LTP_JAR_DIR_PATH.
        download: whether to download a missing copy, without a time limit.
        seconds: the time limit for one text.

    Raises:
        InputError: the time limit is not positive; when first used: Java, the library or
            LanguageTool is missing.
    """

    needs = ("LanguageTool",)
    runs_programs = True
    command = "java"

    def __init__(
        self,
        language: str = "en-US",
        *,
        server: str | None = None,
        download: bool = False,
        seconds: float = 30.0,
    ) -> None:
        if not seconds > 0:
            raise InputError(f"must be > 0, got {seconds}", key="LanguageTool: seconds")
        self.language = language
        self.server = server
        self.download = download
        self.seconds = seconds

    def errors(self, texts: Sequence[str]) -> list[int]:
        """See `GrammarChecker.errors`."""
        return [self._count(text) for text in texts]

    def _count(self, text: str) -> int:
        tool = self._tool
        try:
            return len(within(self.seconds, lambda: tool.check(text)))
        except Exception as error:  # the library raises its own errors and those of requests
            raise InputError(
                f"it failed on {text!r} ({error})",
                key="LanguageTool",
                remedy="check that Java and the server are running, or raise `seconds`; then run "
                "again to resume",
            ) from error

    @cached_property
    def _tool(self) -> Any:
        remedy = "run `pip install language_tool_python` (it needs Java), or use LinkGrammar"
        library = optional_library("language_tool_python", "LanguageTool", remedy)
        options = {} if self.server is not None or self.download else _local_copy()
        limit = None if self.download else _START_SECONDS
        try:
            return within(
                limit,
                lambda: library.LanguageTool(self.language, remote_server=self.server, **options),
            )
        except Exception as error:  # no Java, no server, an unknown language
            raise InputError(
                f"it cannot be started for {self.language} ({error})",
                key="LanguageTool",
                remedy="check that Java is installed, or give the address of a running `server`",
            ) from error


def _local_copy() -> dict[str, str]:
    """Return the options that make the library start a local copy instead of downloading one."""
    folder = Path(os.environ.get("LTP_PATH", "~/.cache/language_tool_python")).expanduser()
    names = [_COPY.fullmatch(path.name) for path in folder.glob("LanguageTool-*") if path.is_dir()]
    # A snapshot, named after its date, is newer than any release.
    versions = [tuple(map(int, name[1].split("."))) for name in names if name is not None]
    if versions:
        return {"language_tool_download_version": ".".join(map(str, max(versions)))}
    if os.environ.get("LTP_JAR_DIR_PATH"):  # with this variable the library downloads nothing
        return {}
    raise InputError(
        f"no copy in {folder}",
        key="LanguageTool",
        remedy="set `download: true` to fetch it, `server` to the address of a running one, or "
        "LTP_PATH to another folder",
    )


def within(seconds: float | None, call: Callable[[], Any]) -> Any:
    """Run a call with a time limit and return its result or raise its error; None: no limit.

    Raises:
        TimeoutError: the call takes longer than `seconds`; its thread keeps running.
    """
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise TimeoutError(f"no answer within {seconds} s")
    return outcome[0]
