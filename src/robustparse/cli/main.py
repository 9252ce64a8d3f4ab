"""The program: ``robustparse COMMAND`` and ``python train.py COMMAND``.

``fit``, ``validate`` and ``test`` are Lightning's; the other commands are typed
functions, one file each. A user's mistake ends with exit code 2 and one message, a training run
that was asked to stop by a signal with 128 and the signal's number (143 for SIGTERM), as does any
command on Ctrl-C (130).
"""

import atexit
import gc
import importlib
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from robustparse import __version__
from robustparse.cli.streams import standard_output
from robustparse.errors import InputError, ProcessDiedError, did_you_mean, machine_limit, say
from robustparse.trust import failures_of_trusted_code

if TYPE_CHECKING:
    from robustparse.options.arguments import Arguments
    from robustparse.options.command import ParsedCommand

LIGHTNING = {
    "fit": "train a model from a YAML configuration; --ckpt_path last resumes",
    "validate": "score a checkpoint on the development data",
    "test": "score a checkpoint on the test data",
}
OWN = {
    "quickstart": "train, attack or perturb, train robustly, score again, on built-in data",
    "ensemble": "train models with several seeds or embeddings; score each, and all together",
    "attack": "attack a checkpoint, or a --victim, on a data file",
    "certify": "certify the answers that no substitution of a table can break",
    "augment": "write adversarial or perturbed copies of training sentences",
    "substitutes": "make a table of the words that may take the place of each word",
    "encode": "make a robust encoding, with which a model reads words of one cluster alike",
    "evaluate": "score a checkpoint, or a --victim, on a data file, clean or under noise",
    "merge": "join what the shards (--shard) of a command wrote into what one process writes",
    "transfer": "give the sentences of attacks to other models, and count whom they fool",
    "predict": "write the answers of a checkpoint, or a --victim, on a file or standard input",
    "measure": "measure fluency and similarity of an attack's sentences by models",
    "annotate": "export blind pairs for human judgement; score the answers",
    "report": "draw one HTML page from folders of attacks, transfers, evaluations and runs",
    "share": "write a model's folder for others, with its card and its leaderboard entry",
    "verify": "run a part of a leaderboard entry again, and say whether it holds",
    "list": "print the installed experiments, models, data, defenses, attacks and components",
    "copy": "copy an installed recipe or configuration into the current folder, for editing",
    "completion": "print a script with which a shell completes commands and options",
}
# Parameters of these commands that are no options; a list takes all remaining arguments.
POSITIONAL = {
    "list": ("kinds",),
    "copy": ("name",),
    "completion": ("shell",),
    "ensemble": ("fit",),
    "merge": ("out", "shards"),
    "measure": ("folder",),
    "share": ("folder",),
    "verify": ("entry",),
    "transfer": ("folders",),
    "report": ("folders",),
}
# Short names of options of ``fit``, ``validate`` and ``test``.
SHORT = {
    "--columns": "--data.columns",
    "--max_length": "--data.max_length",
    "--data.batch_words": "--data.batches.words",
    "--data.batch_texts": "--data.batches.texts",
    "--help.all": "--help",
}
# Options of these commands whose values are keys and values.
MAPPINGS = (
    *("trainer", "model", "data", "data.batches", "data.augmentation"),
    *("last_checkpoint", "skip_non_finite"),
)
# Options of a command that take several values.
SEVERAL = {
    "substitutes": ("--sources", "--data"),
    "certify": ("--edits", "--data"),
    "attack": ("--format", "--data"),
    **dict.fromkeys(("augment", "encode", "evaluate", "predict"), ("--data",)),
    "ensemble": ("--seeds", "--embeddings", "--attack", "--subsets"),
    "share": ("--results",),
    "report": ("--leaderboard",),
}
# Commands that parse their arguments themselves.
OWN_PARSERS = ("annotate", "ensemble")
# Options with which ``attack`` attacks sentences that the user types.
TYPED = ("--text", "--interactive")
# How an interrupted command is resumed.
RESUMES = {
    "fit": "; --ckpt_path last resumes from its last checkpoint",
    **dict.fromkeys(
        ("ensemble", "attack", "certify", "augment", "substitutes"), "; the same command resumes"
    ),
}
INTERRUPTED = 130
_TAIL = "robustparse COMMAND --help lists its options; robustparse --version prints the version"

# Without this the interpreter ends by searching the objects of all imports for cycles: two seconds.
atexit.register(gc.freeze)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit.

    The status is 0 on success, 1 for a fault of ours or an entry that `verify` refutes, 2 for a
    mistake of the user, a failure of the user's code or a process that was killed, 143 if training
    was stopped, and 130 on Ctrl-C.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    command = arguments[0] if arguments else "--help"
    with standard_output() as output:
        try:
            with output.checked(), failures_of_trusted_code():
                run(command, arguments[1:])
        except (InputError, ProcessDiedError) as error:
            say(error)
            sys.exit(2)
        except Exception as error:
            if (limit := machine_limit(error)) is None:
                raise
            say(limit)
            sys.exit(2)
        except (KeyboardInterrupt, SystemExit) as end:
            # Lightning's trainer turns Ctrl-C into SystemExit.
            causes = (end, end.__context__)
            if not any(isinstance(cause, KeyboardInterrupt) for cause in causes):
                raise
            say(f"interrupted{RESUMES.get(command, '')}")
            sys.exit(INTERRUPTED)


def run(command: str, arguments: list[str]) -> None:
    """Run a command; torch is imported only once its arguments are checked.

    Raises:
        SystemExit: at the end of ``--help``, ``--version`` and ``--print_config``.
    """
    if command in ("-h", "--help"):
        rows = [f"  {name:<12} {text}" for name, text in {**OWN, **LIGHTNING}.items()]
        print("usage: robustparse COMMAND [options]", "", *rows, "", _TAIL, sep="\n")
        sys.exit(0)
    elif command == "--version":
        print(f"robustparse {__version__}")
        sys.exit(0)
    elif command in OWN_PARSERS:
        importlib.import_module(f"robustparse.cli.{command}").command(arguments)
    elif command in OWN:
        from robustparse.options.remote_files import local_files

        with local_files(command, arguments, SEVERAL.get(command, ())) as local:
            parsed = _parsed(command, local)
            if parsed.options.get("engine") == "ray":
                from robustparse.cli.ray_blocks import run_blocks

                run_blocks(parsed, partial(_parsed, command, local))
            else:
                parsed.run()
    elif command in LIGHTNING and {"-h", "--help"}.intersection(arguments):
        from robustparse.cli.training_help import training_help

        print(training_help(command, LIGHTNING[command]))
        sys.exit(0)
    elif command in LIGHTNING:
        from robustparse.options.remote_files import local_files

        with local_files(command, [*map(_full, arguments)]) as local:
            checked = _checked([command, *local], MAPPINGS)
            from robustparse.cli.fit import run as run_fit

            run_fit(checked)
    else:
        commands = [*OWN, *LIGHTNING]
        raise InputError(
            f"unknown command {command!r}",
            expected=f"one of {', '.join(commands)}",
            remedy=did_you_mean(command, commands),
        )


def _parsed(command: str, arguments: list[str]) -> "ParsedCommand":
    """Check and parse the arguments of a command whose options are its function's parameters."""
    checked = _checked(arguments, several=SEVERAL.get(command, ()))
    typed = command == "attack" and any(each.startswith(TYPED) for each in arguments)
    name = "attack_text" if typed else command
    function = getattr(importlib.import_module(f"robustparse.cli.{name}"), name)
    from robustparse.options.command import parsed_command

    return parsed_command(function, checked, command, POSITIONAL.get(command, ()))


def _checked(
    arguments: list[str], mappings: Sequence[str] = (), several: Sequence[str] = ()
) -> "Arguments":
    from robustparse.options.arguments import checked
    from robustparse.options.operations import with_operations

    return checked(with_operations(arguments), mappings, several)


def _full(token: str) -> str:
    """Return a token of ``fit``, ``validate`` or ``test`` with the full name of its option."""
    name, equals, value = token.partition("=")
    return SHORT.get(name.replace("data.init_args.", "data."), name) + equals + value
