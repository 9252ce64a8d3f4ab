"""Standard output and standard error that a command outlives.

A full device or a reader that has gone (``| head -1``) must not cost the files of a command, nor
end it in a traceback. What can no longer be written is dropped, and the command's exit status tells
of it at the end: 2 with a message, or in silence 141, as a program that SIGPIPE ends.
"""

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from robustparse.errors import InputError

READER_GONE = 141


class Stream:
    """A text stream that drops what it cannot write, and remembers why.

    Args:
        stream: where the text goes; None if the program was started with the stream closed.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream
        self.failure: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        """Return everything but writing from the stream itself, such as its encoding."""
        return getattr(self.__dict__["stream"], name)

    def write(self, text: str) -> int:
        """Write a text, unless that is impossible."""
        if self.stream is None and text:
            self._fail(OSError(errno.EBADF, os.strerror(errno.EBADF)))
        if self.stream is not None and self.failure is None:
            try:
                return self.stream.write(text)
            except OSError as error:
                self._fail(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hand on what is buffered, unless that is impossible."""
        if self.stream is not None and self.failure is None:
            try:
                self.stream.flush()
            except OSError as error:
                self._fail(error)

    def isatty(self) -> bool:
        """Whether a person reads along."""
        return self.stream is not None and self.stream.isatty()

    def _fail(self, error: OSError) -> None:
        self.failure = self.failure or error
        if self.stream is None:
            return
        # Otherwise Python would try to write its buffer once more at its end.
        with suppress(OSError, ValueError):
            device = os.open(os.devnull, os.O_WRONLY)
            os.dup2(device, self.stream.fileno())
            os.close(device)

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Check at the end of a command that went well; see `check`."""
        try:
            yield
        except SystemExit as end:
            if not end.code:  # --help ends so
                self.check()
            raise
        self.check()

    def check(self) -> None:
        """Flush; end the command if not everything could be written.

        Raises:
            InputError: the device is full or closed.
            SystemExit: the reader has gone; nothing is said about it.
        """
        self.flush()
        if isinstance(self.failure, BrokenPipeError):
            sys.exit(READER_GONE)
        if self.failure is not None:
            raise InputError(
                f"cannot be written ({self.failure.strerror or self.failure})",
                path="standard output",
                remedy="make room, or name a file",
            )


@contextmanager
def standard_output() -> Iterator[Stream]:
    """Give `Stream`s the place of standard output, which is yielded, and of standard error.

    Within another call it yields the same stream.
    """
    if isinstance(sys.stdout, Stream):
        yield sys.stdout
        return
    before = sys.stdout, sys.stderr
    output, errors = Stream(sys.stdout), Stream(sys.stderr)
    sys.stdout, sys.stderr = output, errors
    try:
        yield output
    finally:
        output.flush()
        errors.flush()
        sys.stdout, sys.stderr = before
