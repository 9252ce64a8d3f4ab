"""``robustparse fit`` in a process of its own, whose Trainer may start others."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType

from robustparse.errors import ProcessDiedError
from robustparse.tracking.stop_request import SIGNALS


def fit(options: Sequence[str]) -> None:
    """Run ``fit`` with these options, and pass on the signals that stop it.

    Raises:
        SystemExit: it failed, and has printed why.
        ProcessDiedError: it was killed.
    """
    with subprocess.Popen([sys.executable, "-m", "robustparse", "fit", *options]) as process:

        def pass_on(number: int, _: FrameType | None) -> None:
            process.send_signal(number)

        earlier = {number: signal.signal(number, pass_on) for number in SIGNALS}
        try:
            status = process.wait()
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)
    if status < 0:
        died = f"training was ended by {signal.Signals(-status).name}"
        raise ProcessDiedError(f"{died}; the same command resumes")
    if status > 0:
        sys.exit(status)
