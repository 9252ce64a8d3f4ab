"""Standard output and standard error that may fail without ending the command.

When the device is full or the reader has exited (``| head -1``), the command must still write its
files, without a traceback. Output that cannot be written is dropped. At the end, the command exits
with status 2 and a message or, if the reader has exited, silently with 141, as after SIGPIPE.

Whatever the locale, files and pipes get UTF-8, in which commands read their input; a terminal keeps
its encoding, and shows the numbers of characters that it lacks.
"""

import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from robustparse.errors import InputError

READER_GONE = 141


class Stream:
    """A text stream that drops what it cannot write, and stores the reason.

    Args:
        stream: the stream to write to; None if the program was started with the stream closed.
    """

    def __init__(self, stream: TextIO | None) -> None:
        if isinstance(stream, io.TextIOWrapper):
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
        self.stream = stream
        self.failure: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute, such as the encoding, from the wrapped stream."""
        return getattr(self.__dict__["stream"], name)

    def write(self, text: str) -> int:
        """Write a text, or drop it if that is impossible."""
        if (self.stream is None or self.stream.closed) and text:
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
        """Write the buffer, or drop it if that is impossible."""
        if self.stream is not None and not self.stream.closed and self.failure is None:
            try:
                self.stream.flush()
            except OSError as error:
                self._fail(error)

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self.stream is not None and self.stream.isatty()

    def _fail(self, error: OSError) -> None:
        self.failure = self.failure or error
        if self.stream is None:
            return
        # Otherwise Python would try to write its buffer again at exit.
        with suppress(OSError, ValueError):
            device = os.open(os.devnull, os.O_WRONLY)
            os.dup2(device, self.stream.fileno())
            os.close(device)

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Check at the end of a successful command; see `check`."""
        try:
            yield
        except SystemExit as end:
            if not end.code:  # as after --help
                self.check()
            raise
        self.check()

    def check(self) -> None:
        """Flush; end the command if not everything could be written.

        Raises:
            InputError: the device is full or closed.
            SystemExit: the reader has exited; there is no message.
        """
        self.flush()
        if isinstance(self.failure, BrokenPipeError):
            sys.exit(READER_GONE)
        if self.failure is not None:
            raise InputError(
                f"cannot be written ({self.failure.strerror or self.failure})",
                path="standard output",
                remedy="free some space, or write to a file",
            )


@contextmanager
def standard_output() -> Iterator[Stream]:
    """Replace standard output and standard error by `Stream`s, and yield the former.

    A nested call yields the same stream.
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
