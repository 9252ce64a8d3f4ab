"""Grammatical errors by link grammar (Sleator and Temperley 1991), through its command.

The parser links the words of a sentence. One that it cannot link as a whole is ungrammatical; the
words it must leave out to find a linkage tell by how much.
"""

import re
import selectors
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from robustparse.attacks.constraints.grammar import GrammarChecker
from robustparse.errors import InputError, check_choice, check_least

_ANSWERS = {
    "sentence": re.compile(rb"UNUSED= *(0)|No complete linkages found|sentence (too long)"),
    "words": re.compile(rb"UNUSED= *(\d+)|sentence (too long)"),
}
_OPTIONS = ("verbosity=1", "graphics=0", "spell=0", "panic=0")
# Of more linkages than the limit the command draws a sample; a small one may hold none that passes
# its post-processing. It waits for a key after each that it shows, unless told how many to show.
_LINKAGES = ("limit=1000", "test=auto-next-linkage:1")
# The parser's own limit would make counts depend on how busy the machine is: ours ends the run.
_NO_LIMIT = "timeout=1000000"
_MOST_BYTES = 2045  # of a line; the command quits at longer ones
# Orders, remarks, and beside Python's blanks those of the command: it does not answer a blank line.
_NO_BEGINNING = "!% \u200b\u200c\u200d\u2060"
_LAST_BREATH = 1.0  # seconds in which a command that closed its output must end


class LinkGrammar(GrammarChecker):
    """`link-parser` as a process that is kept and fed one sentence after the other.

    Lines that the command would take for an order or a remark lose the leading `!` or `%`. Texts of
    nothing but blanks, of more than 2,045 bytes, or of more words than the command takes (254, as
    it splits them) count no error.

    Args:
        command: the program (Debian: `apt install link-grammar`).
        language: its dictionary, a name or a folder.
        seconds: the time limit for one sentence, and for starting.
        count: `sentence` counts one error in a sentence without a complete linkage; `words` counts
            the words left out, which may take a hundred times as long, seconds for 30 words.
        longest: words of a sentence that is parsed; longer ones, whose parsing may take minutes,
            count no error. None parses all that the command takes.

    Raises:
        InputError: a setting is out of range; when first used: the program is missing.
    """

    def __init__(
        self,
        command: str = "link-parser",
        language: str = "en",
        *,
        count: Literal["sentence", "words"] = "sentence",
        seconds: float = 60.0,
        longest: int | None = 40,
    ) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        check_choice("link grammar: count", count, _ANSWERS)
        if not seconds > 0:
            raise InputError(f"link grammar: seconds must be > 0, got {seconds}")
        check_least("link grammar", longest=longest)
        self.command = command
        self.language = language
        self.count = count
        self.seconds = seconds
        self.longest = longest

    def errors(self, texts: Sequence[str]) -> list[int]:
        """See `GrammarChecker.errors`."""
        return [self._count(text) for text in texts]

    def close(self) -> None:
        """End the process; the next text starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def __del__(self) -> None:
        self.close()

    def _count(self, text: str) -> int:
        # Behind a NUL the command sees nothing.
        words = " ".join(text.replace("\0", " ").split()).lstrip(_NO_BEGINNING)
        line = words.encode("utf-8", errors="replace")
        if self.longest is not None and len(words.split()) > self.longest:
            return 0
        if not line or len(line) > _MOST_BYTES:
            return 0
        process = self._process or self._start()
        try:
            return self._ask(process, line)
        except BaseException:
            self.close()
            raise

    def _ask(self, process: subprocess.Popen[bytes], line: bytes) -> int:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process has no pipes")
        with suppress(BrokenPipeError):  # what it said before it died is still to be read
            process.stdin.write(line + b"\n")
            process.stdin.flush()
        deadline = time.monotonic() + self.seconds
        answer = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            # The whole line must be there: the number at its end may come in two parts.
            while not (found := _ANSWERS[self.count].search(answer)) or not answer.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise InputError(
                        f"link grammar: {self.command} gave no answer within {self.seconds} s to "
                        f"{_shown(line)}; raise `seconds` or lower `longest`, then run again to go "
                        "on"
                    )
                part = process.stdout.read1(65536)  # type: ignore[attr-defined]
                if not part:
                    raise self._died(process, line, answer)
                answer += part
        if found.group(2):
            return 0
        return 1 if found.group(1) is None else int(found.group(1))

    def _start(self) -> subprocess.Popen[bytes]:
        null = f"null={int(self.count == 'words')}"
        options = [f"-{option}" for option in (*_OPTIONS, *_LINKAGES, null, _NO_LIMIT)]
        try:
            self._process = subprocess.Popen(
                [self.command, self.language, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise InputError(
                f"link grammar: {self.command} cannot be run ({error.strerror}); install it (on "
                "Debian `apt install link-grammar`), or give its path as `command`"
            ) from error
        return self._process

    def _died(self, process: subprocess.Popen[bytes], line: bytes, answer: bytes) -> InputError:
        try:
            code = process.wait(_LAST_BREATH)
        except subprocess.TimeoutExpired:
            # It closed its output and lives on: nobody would hear it again.
            process.kill()
            code = process.wait()
        said = answer.decode("utf-8", errors="replace").strip().splitlines()
        return InputError(
            f"link grammar: {self.command} ended with code {code} at {_shown(line)}"
            f"{f', saying: {said[-1]}' if said else ''}; check the command and its language "
            f"{self.language!r}, then run again to go on"
        )


def _shown(line: bytes) -> str:
    return repr(line.decode("utf-8"))
