"""``robustparse attack --text`` and ``--interactive``: attack sentences that the user types."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace

from rich.text import Text

from robustparse.api.attack_run import check_scores
from robustparse.api.printed_tables import terminal
from robustparse.api.results import NOTHING
from robustparse.api.taggers import Tagger, tagger_named, with_tags
from robustparse.attacks.attack import Attack
from robustparse.attacks.results import AttackResult
from robustparse.cli.options import TypedOptions, VictimOptions
from robustparse.data.plain_texts import examples_of
from robustparse.errors import InputError, say
from robustparse.evaluation.clean import AnsweringVictim, predictions
from robustparse.tasks.task import Task
from robustparse.types import Sentence

_GLUED = re.compile(r"\w[.,;:!?]+$")  # punctuation at the end of a word


def attack_text(
    attack: Attack,
    victim: VictimOptions,
    typed: TypedOptions,
    tagger: str | None = None,
    seed: int | None = None,
) -> None:
    """Attack sentences that the user types, and show the changed words and both answers.

    The victim's answer to the sentence as it was typed counts as the gold answer.

    Args:
        attack: a recipe: the name of an installed one, such as ``pwws``, or the path of a file.
        victim: the model to attack.
        typed: the sentences.
        tagger: see ``attack``.
        seed: seed of all random choices; by default the recipe's seed.
    """
    text, context, interactive = typed.text, typed.context, typed.interactive
    if (text is None) != interactive:
        problem = "both are given" if interactive else "neither is given"
        raise InputError(problem, key="--text, --interactive", expected="exactly one of them")
    if context is not None and interactive:
        remedy = "begin each line with the premise and a tab"
        raise InputError("applies to --text only", key="--context", remedy=remedy)
    attack.seed = attack.seed if seed is None else seed
    opened = victim.source().open(victim.device)
    check_scores(attack, opened)
    tags = None if tagger is None else tagger_named(tagger)
    if text is not None:
        _show(attack, opened, tags, Sentence(tuple(text.split()), context=_words(context)))
    for line in _lines() if interactive else ():
        before, _, after = line.rpartition("\t")
        try:
            _show(attack, opened, tags, Sentence(_words(after), context=_words(before)))
        except InputError as error:  # the next line may be better
            say(error)


def _words(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(text.split())


def _lines() -> Iterator[str]:
    """Yield the lines that are typed; a prompt asks for them at a terminal."""
    asked = sys.stdin.isatty()
    while True:
        if asked:
            print("> ", end="", file=sys.stderr, flush=True)
        if not (line := sys.stdin.readline()):
            return
        if line.strip():
            yield line.rstrip("\r\n")


def _show(
    attack: Attack, victim: AnsweringVictim, tagger: Tagger | None, sentence: Sentence
) -> None:
    """Attack one sentence and print the result."""
    examples = examples_of([sentence])
    if tagger is not None:
        examples = with_tags(examples, victim.task, tagger)
    (clean,) = predictions(victim, examples)
    (result,) = attack.run([replace(examples[0], gold=clean.answer)], victim)
    console = terminal(highlight=False)
    console.print(_marked(result), soft_wrap=True)
    for line in _answers(victim.task, result):
        console.print(f"  {line}", soft_wrap=True)
    outcome = "the attack succeeded" if result.success else "the attack failed"
    console.print(f"  {outcome}; words changed: {len(result.edited)}, queries: {result.charged}")
    if not result.edited and (glued := [word for word in sentence.words if _GLUED.search(word)]):
        hint = (
            f"no word was changed: {glued[0]!r} counts as one word; put blanks around punctuation"
        )
        console.print(f"  {hint}", soft_wrap=True)


def _marked(result: AttackResult) -> Text:
    """Return the sentence; each changed word is followed by the new one."""
    marked = Text()
    for position, (old, new) in enumerate(zip(result.text.words, result.words, strict=True)):
        marked.append(" " if position else "")
        if position in result.edited:
            marked.append("[").append(old, "red strike").append(" -> ").append(
                new or NOTHING, "bold green"
            )
            marked.append("]")
        else:
            marked.append(new)
    return marked


def _answers(task: Task, result: AttackResult) -> Iterator[str]:
    """Yield the parts of the answers that differ, or the common answer."""
    before = task.answers.lines(result.clean, result.example.sentence.words)
    after = task.answers.lines(result.attacked, result.read)
    changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    yield from (f"{old}  ->  {new}" for old, new in changed)
    yield from () if changed else before
