"""``robustparse list``: print the installed names that the command line accepts."""

import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import shorten

from robustparse.errors import check_choice
from robustparse.options.installed import CONFIGS, KINDS, components, names_in, summary_of
from robustparse.options.recipe_facts import RecipeFacts

CHOICES = (*KINDS, "components")


def list(kinds: Sequence[str] = ()) -> None:
    """Print the installed configurations, recipes and classes, one line each.

    Args:
        kinds: experiments, models, data, defenses, attacks or components; all of them by default.

    Raises:
        InputError: there is no such kind.
    """
    for kind in kinds:
        check_choice("KIND", kind, CHOICES)
    for index, kind in enumerate(kinds or CHOICES):
        if kind == "components":
            rows = components()
        else:
            files = names_in(CONFIGS / KINDS[kind])
            # `--attack` takes a bare name; `--config` takes one with its folder.
            folder = "" if kind == "attacks" else f"{KINDS[kind]}/"
            rows = {folder + name: summary_of(path) for name, path in files.items()}
            if kind == "attacks":
                facts = {name: RecipeFacts.read(path) for name, path in files.items()}
                rows = {name: f"{facts[name]}. {summary}" for name, summary in rows.items()}
        print("\n" * (index > 0) + kind)
        width = max(map(len, rows), default=0)
        room = get_terminal_size().columns - width - 4 if sys.stdout.isatty() else sys.maxsize
        for name, summary in rows.items():
            print(f"  {name:<{width}}  {shorten(summary, max(room, 20), placeholder=' …')}")
