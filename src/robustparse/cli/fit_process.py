"""``robustparse fit`` in a process of its own, whose Trainer may start others."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType

from robustparse.errors import ProcessDiedError, say
from robustparse.tracking.stop_request import SIGNALS


def fit(options: Sequence[str]) -> None:
    """Run ``fit`` with these options, and pass on the signals that stop it.

    Raises:
        SystemExit: it failed, and has printed why.
        ProcessDiedError: it was killed.
    """
    # In a session of its own, it gets each signal once: from here, and not from the terminal, too.
    program = [sys.executable, "-m", "robustparse", "fit", *options]
    with subprocess.Popen(program, start_new_session=True) as process:

        def pass_on(number: int, _: FrameType | None) -> None:
            # A closed terminal stops training as a request does: after a last checkpoint.
            process.send_signal(signal.SIGTERM if number == signal.SIGHUP else number)

        earlier = {
            number: signal.signal(number, pass_on)
            for number in (*SIGNALS, signal.SIGINT, signal.SIGHUP)
        }
        try:
            status = process.wait()
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)
    if status < 0:
        died = f"training was ended by {signal.Signals(-status).name}"
        raise ProcessDiedError(f"{died}; the same command resumes")
    if status > 128:
        say("the same `ensemble` command resumes")
    if status > 0:
        sys.exit(status)
