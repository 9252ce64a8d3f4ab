"""The program: ``robustparse COMMAND`` and ``python train.py COMMAND``.

``fit``, ``validate`` and ``test`` are Lightning's; the other commands are typed
functions, one file each. A user's mistake ends with exit code 2 and one message, a training run
that was asked to stop by a signal with 128 and the signal's number (143 for SIGTERM), as does any
command on Ctrl-C (130).
"""

import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches

from robustparse import __version__
from robustparse.cli.common.streams import standard_output
from robustparse.errors import InputError, ProcessDiedError, machine_limit
from robustparse.trust import trusted_code_may_not_exit

LIGHTNING = {
    "fit": "train a model from a YAML configuration; --ckpt_path last resumes",
    "validate": "score a checkpoint on the development data",
    "test": "score a checkpoint on the test data",
}
OWN = {
    "quickstart": "train, attack or perturb, train robustly, score again, on embedded data",
    "attack": "attack a checkpoint, or a --victim, on a data file",
    "augment": "write adversarial or perturbed copies of training sentences",
    "evaluate": "score a checkpoint, or a --victim, on a data file, clean or under noise",
    "transfer": "give the sentences of attacks to other models, and count whom they fool",
    "predict": "write a checkpoint's answers on a file or standard input",
    "measure": "measure fluency and similarity of an attack's sentences by models",
    "annotate": "export blind pairs for human judgement; score the answers",
    "report": "draw one HTML page from folders of attacks, transfers, evaluations and runs",
    "list": "print the installed experiments, attacks, defenses and components",
    "copy": "copy an installed recipe or configuration into the current folder, for editing",
}
POSITIONAL = {
    "list": {"kinds": "experiments, attacks, defenses or components; all if none is named"},
    "copy": {"name": "as `robustparse list` prints it"},
    "measure": {"folder": "the output folder (--out) of a finished attack"},
    "transfer": {"folders": "output folders (--out) of attacks on the same data, the sources"},
    "report": {
        "folders": "output folders (--out) of attacks, transfers and evaluations of perturbed "
        "texts, and folders of runs; the clean model's first"
    },
}
# How an interrupted command is resumed.
RESUMES = {
    "fit": "; --ckpt_path last resumes from its last checkpoint",
    "attack": "; the same command resumes",
    "augment": "; the same command resumes",
}
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 a fault of ours, 2 a mistake of the user's or a failure of
    the user's code or of a process that was killed, 143 stopped.

    On Ctrl-C it exits with 130.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    command = arguments[0] if arguments else "--help"
    with standard_output() as output:
        try:
            with output.checked(), trusted_code_may_not_exit():
                _run(command, arguments[1:])
        except (InputError, ProcessDiedError) as error:
            print(f"robustparse: {error}", file=sys.stderr)
            sys.exit(2)
        except Exception as error:
            if (limit := machine_limit(error)) is None:
                raise
            print(f"robustparse: {limit}", file=sys.stderr)
            sys.exit(2)
        except (KeyboardInterrupt, SystemExit) as end:
            # Lightning's trainer makes a failure of it, without a word.
            if not any(isinstance(one, KeyboardInterrupt) for one in (end, end.__context__)):
                raise
            print(f"robustparse: interrupted{RESUMES.get(command, '')}", file=sys.stderr)
            sys.exit(INTERRUPTED)


def _run(command: str, arguments: list[str]) -> None:
    if command in ("-h", "--help"):
        print(_usage())
        sys.exit(0)
    elif command == "--version":
        print(f"robustparse {__version__}")
        sys.exit(0)
    elif command == "annotate":
        from robustparse.cli.annotate import command as annotate

        annotate(arguments)
    elif command in OWN:
        from robustparse.cli.common.options import run_command

        function = getattr(importlib.import_module(f"robustparse.cli.{command}"), command)
        run_command(function, arguments, positional=POSITIONAL.get(command))
    elif command in LIGHTNING:
        from robustparse.cli.lightning import run

        run([command, *arguments])
    else:
        commands = [*OWN, *LIGHTNING]
        near = get_close_matches(command, commands, n=1)
        raise InputError(
            f"unknown command {command!r}",
            expected=f"one of {', '.join(commands)}",
            remedy=f"did you mean {near[0]}?" if near else None,
        )


def _usage() -> str:
    rows = [f"  {name:<11} {text}" for name, text in {**OWN, **LIGHTNING}.items()]
    first = "usage: robustparse COMMAND [options]"
    tail = "robustparse COMMAND --help lists its options; robustparse --version prints the version"
    return "\n".join([first, "", *rows, "", tail])
