"""Grammaticality by link grammar (Sleator and Temperley 1991), through its command line parser.

A sentence is ungrammatical if the parser cannot link all of its words.
"""

import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from robustparse.attacks.constraints.grammar import GrammarChecker, within
from robustparse.errors import InputError, check_least

_ANSWER = re.compile(rb"UNUSED= *0|sentence too long|(No complete linkages found)")
_OPTIONS = ("verbosity=1", "graphics=0", "spell=0", "panic=0", "null=0")
# If there are more linkages than the limit, the command draws a sample; in a small sample, none may
# pass its post-processing. Without the second option it waits for a key after each linkage.
_LINKAGES = ("limit=1000", "test=auto-next-linkage:1")
# The parser's own time limit would make counts depend on the machine's load; ours raises an error.
_NO_LIMIT = "timeout=1000000"
_MOST_BYTES = 2045  # per line; the command quits at longer ones
# Marks of orders and comments, and characters that the command takes for blanks but Python does
# not: the command gives no answer to a blank line.
_NO_BEGINNING = "!% \u200b\u200c\u200d\u2060"
_SECONDS_TO_END = 1.0  # of a command that closed its output


class LinkGrammar(GrammarChecker):
    """Counts one error in a sentence without a complete linkage, by a running `link-parser`.

    A leading `!` or `%`, which the command would take for an order or a comment, is removed. Blank
    texts, texts of more than 2,045 bytes and texts of more words than the command accepts (254 by
    its own tokenisation) count no error. A file may name this class only with
    ``--trust link-parser``.

    Args:
        command: the program (Debian: `apt install link-grammar`).
        language: the dictionary, a name or a folder.
        seconds: the time limit for one sentence, and for starting.
        longest: maximum number of words; longer sentences, which may take minutes, count no error.
            None parses all sentences that the command accepts.

    Raises:
        InputError: when first used: the program is missing.
    """

    needs = ("link-grammar",)
    runs_programs = True
    _process: subprocess.Popen[bytes] | None = None  # for `__del__`, whatever was constructed

    def __init__(
        self,
        command: str = "link-parser",
        language: str = "en",
        *,
        seconds: float = 60.0,
        longest: int | None = 40,
    ) -> None:
        if not seconds > 0:
            raise InputError(f"must be > 0, got {seconds}", key="link grammar: seconds")
        check_least("link grammar", longest=longest)
        self.command = command
        self.language = language
        self.seconds = seconds
        self.longest = longest

    def errors(self, texts: Sequence[str]) -> list[int]:
        """See `GrammarChecker.errors`."""
        return [self._count(text) for text in texts]

    def close(self) -> None:
        """End the process; the next text starts a new one."""
        process, self._process = self._process, None
        if process is not None:
            # Leaving the block closes its pipes, the first of which may hold a line.
            with suppress(BrokenPipeError), process:
                process.kill()

    def __del__(self) -> None:
        self.close()

    def _count(self, text: str) -> int:
        # The command sees nothing after a NUL.
        words = " ".join(text.replace("\0", " ").split()).lstrip(_NO_BEGINNING)
        line = words.encode("utf-8", errors="replace")
        long = self.longest is not None and len(words.split()) > self.longest
        if long or not line or len(line) > _MOST_BYTES:
            return 0
        process = self._process or self._start()
        try:
            return self._ask(process, line)
        except BaseException:
            self.close()
            raise

    def _ask(self, process: subprocess.Popen[bytes], line: bytes) -> int:
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # its last output is still to be read
            process.stdin.write(line + b"\n")
            process.stdin.flush()
        try:
            match, output = within(self.seconds, lambda: _answer(process))
        except TimeoutError as error:
            raise InputError(
                f"{error} to {line.decode()!r}",
                key=f"link grammar: {self.command}",
                remedy="raise `seconds` or lower `longest`, then run again to resume",
            ) from None
        if match is None:
            raise self._died(process, line, output)
        return int(match.group(1) is not None)

    def _start(self) -> subprocess.Popen[bytes]:
        options = [f"-{option}" for option in (*_OPTIONS, *_LINKAGES, _NO_LIMIT)]
        try:
            self._process = subprocess.Popen(
                [self.command, self.language, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise InputError(
                f"cannot be run ({error.strerror})",
                key=f"link grammar: {self.command}",
                remedy="install it (Debian: `apt install link-grammar`), or give its path as "
                "`command`",
            ) from error
        return self._process

    def _died(self, process: subprocess.Popen[bytes], line: bytes, output: bytes) -> InputError:
        try:
            code = process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            # It closed its output but still runs: no answer can come.
            process.kill()
            code = process.wait()
        said = output.decode("utf-8", errors="replace").strip().splitlines()
        return InputError(
            f"ended with code {code} at {line.decode()!r}{f', saying: {said[-1]}' if said else ''}",
            key=f"link grammar: {self.command}",
            remedy=f"check the command and its language {self.language!r}, then run again to "
            "resume",
        )


def _answer(process: subprocess.Popen[bytes]) -> tuple[re.Match[bytes] | None, bytes]:
    """Read up to the line with the verdict; return its match, None if the output ends before, and
    the output.
    """
    assert process.stdout is not None
    output = b""
    while chunk := process.stdout.read1(65536):  # type: ignore[attr-defined]
        output += chunk
        if (match := _ANSWER.search(output)) and output.endswith(b"\n"):
            return match, output
    return None, output
