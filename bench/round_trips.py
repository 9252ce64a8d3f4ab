"""Every logical form of corpora through reading, syntax tree, actions and back.

    python bench/round_trips.py --folder FOLDER [--json]

FOLDER holds a folder for each corpus, with files of ``utterance TAB logical form``.
"""

import argparse
import json
from pathlib import Path

from robustparse.errors import InputError
from robustparse.grammars import Derivation, Language, actions_of, language_named, language_of


def round_trip(form: str, language: Language) -> tuple[str, int]:
    """Return the form after reading, actions and printing, and how many actions it has."""
    derivation = Derivation(language.grammar)
    for action in actions_of(language.to_ast(language.read(form))):
        derivation = derivation.apply(action)
    if derivation.tree is None:
        raise InputError(f"{form!r:.80} has too few actions")
    return language.print(language.from_ast(derivation.tree)), derivation.steps


def main() -> None:
    """Print rows, failures and the longest sequence of actions of each corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {}
    for corpus in sorted(path for path in options.folder.iterdir() if path.is_dir()):
        lines = [
            line for path in sorted(corpus.glob("*.tsv")) for line in path.open(encoding="utf-8")
        ]
        forms = [line.rstrip("\n").split("\t")[-1] for line in lines]
        tokens = (token for form in forms for token in form.split())
        language = language_named(language_of(tokens))
        back = [round_trip(form, language) for form in forms]
        failed = sum(form != other for form, (other, _) in zip(forms, back, strict=True))
        most = max(steps for _, steps in back)
        found[corpus.name] = {"rows": len(forms), "failures": failed, "longest": most}
        print(f"{corpus.name}: {len(forms)} rows, {failed} failures, at most {most} actions")
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
