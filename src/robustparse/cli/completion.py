"""``robustparse completion``: print a script with which a shell completes commands and options."""

import importlib

from jsonargparse import ArgumentParser
from jsonargparse._typehints import ActionTypeHint

from robustparse.cli.main import LIGHTNING, OWN, POSITIONAL
from robustparse.cli.training_help import OPTIONS
from robustparse.errors import check_choice
from robustparse.options.command import command_parser


def completion(shell: str) -> None:
    """Print a script with which a shell completes commands and options.

    Args:
        shell: bash, zsh or tcsh.
    """
    check_choice("SHELL", shell, ("bash", "zsh", "tcsh"))
    print(whole_parser().get_completion_script(f"shtab-{shell}"))


def whole_parser() -> ArgumentParser:
    """Return one parser of all commands; of Lightning's options it has those of the short help."""
    parser = ArgumentParser(prog="robustparse")
    commands = parser.add_subcommands(required=False)
    for name in OWN:
        if name != "annotate":  # it has commands of its own
            function = getattr(importlib.import_module(f"robustparse.cli.{name}"), name)
            subparser = command_parser(function, name, POSITIONAL.get(name, ()))
            for action in subparser._actions:
                # The options of all classes within classes would be millions.
                if ActionTypeHint.is_subclass_typehint(action):  # type: ignore[no-untyped-call]
                    action._typehint = str  # type: ignore[attr-defined]
            commands.add_subcommand(name, subparser, help=OWN[name])
    for name, text in LIGHTNING.items():
        training = ArgumentParser()
        for option in OPTIONS:
            if "." not in option or option.startswith(("--data", "--model", "--trainer")):
                training.add_argument(option.split()[0])
        commands.add_subcommand(name, training, help=text)
    return parser
