"""An attack that can change nothing is a mistake; one that can change little says so everywhere."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from attack_folders import RUN, TASK, some

from robustparse.api.printed_tables import as_text, summary_table
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.tagging.same_tag import DictionaryTag
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.changeable_sentences import ChangeableSentences
from robustparse.models.victim import ModelVictim
from robustparse.reports.page import build_report
from robustparse.types import Example
from sample_runs import trained_parser


def foreign(example: Example, universal: bool) -> Example:
    """A sentence with tags as of UD LinES, in addition to universal ones or instead of them."""
    sentence = example.sentence
    xpos = tuple(f"{tag}-PL-NOM" for tag in sentence.upos)
    upos = sentence.upos if universal else ()
    return replace(example, sentence=replace(sentence, upos=upos, xpos=xpos))


def attack(*constraints: Constraint, candidates: CandidateGenerator | None = None) -> Attack:
    generator = VocabularyWords(sample=5) if candidates is None else candidates
    return Attack(generator, Zheng2020(gamma=0.3), list(constraints), seed=3)


def run(folder: Path, attack: Attack, examples: list[Example]) -> dict:
    return attack_into(folder, TASK, attack, examples, ModelVictim([trained_parser()]), dict(RUN))


XPOS = AttackableTags(tagset="xpos")
# The attack, whether the data have universal tags, what the message says of them, and the remedy.
NOTHING = {
    "tags of another set": (
        attack(XPOS),
        True,
        "NOUN-PL-NOM",
        "set `tagset: upos` of AttackableTa",
    ),
    "no other tags": (attack(AttackableTags()), False, "XPOS tags", "list tags of the data in Att"),
    "tags of this set": (
        attack(AttackableTags(["SYM"])),
        True,
        "UPOS tags of the data: ",
        "list tags of the data in AttackableTags",
    ),
    "no candidate": (
        attack(candidates=Lexicon({"zyx": ["zyxt"]})),
        True,
        "no candidate for any word of",
        "check that the resources of Lexicon have words of these data",
    ),
    "none accepted": (
        attack(DictionaryTag(tagset="xpos")),
        True,
        "DictionaryTag accepted none (XPOS",
        "set `tagset: upos` of DictionaryTag",
    ),
}


def line(slots: int, proposed: int, charged: int) -> dict:
    """The line of a sentence with candidates at some words, after some queries."""
    counts = {"slots": slots, "sums": {"all": {"proposed": proposed}}}
    tried = {"skipped": False, "targeted": True, "queries": {"charged": charged}}
    return {**tried, "candidates": counts}


BARREN = line(slots=4, proposed=0, charged=2)  # the table has none of its words
SPENT = line(slots=0, proposed=0, charged=3)  # a ranking took all queries
PARTLY = line(slots=2, proposed=0, charged=3)  # another one took them after two words


@pytest.mark.parametrize(
    ("lines", "budget", "spent"),
    [
        ([BARREN, SPENT, SPENT], 3, 2),
        ([BARREN, PARTLY], 3, 1),
        ([SPENT], 3, 1),
        ([BARREN, BARREN], 3, 0),
        ([BARREN, SPENT], 4, 0),
        ([BARREN, SPENT], None, 0),
        ([line(slots=0, proposed=0, charged=1)], 3, 0),
    ],
)
def test_a_budget_is_named_where_it_kept_words_from_being_tried(lines, budget, spent):
    tried = attack(candidates=Lexicon({"zyx": ["zyxt"]}))
    tried.budget = budget
    reach = ChangeableSentences().over(lines)
    assert reach.spent(budget) == spent
    with pytest.raises(InputError) as error:
        reach.check(tried, some(3))
    blamed = f"{error.value.found} {error.value.remedy}"
    assert ("budget" in blamed) == bool(spent)
    assert ("candidate" in blamed or "no word" in blamed) == (not spent)
    assert f"{spent} of {len(lines)} sentences" in blamed or not spent
    many = ChangeableSentences().over([*lines * 10, line(slots=1, proposed=1, charged=1)])
    (warning,) = many.warnings(budget)
    assert ("queries" in warning) == bool(spent)


@pytest.mark.parametrize("case", NOTHING)
def test_an_attack_that_can_change_nothing_is_refused(case, tmp_path):
    chosen, universal, found, remedy = NOTHING[case]
    examples = [foreign(example, universal) for example in some(12)]
    for _ in range(2):  # a finished run that is run again, too
        with pytest.raises(InputError) as error:
            run(tmp_path, chosen, examples)
        assert found in error.value.found
        assert error.value.remedy.startswith(remedy)
        assert not (tmp_path / "summary.json").exists()


def test_universal_tags_are_read_where_the_others_are_not_penn_tags(tmp_path):
    examples = [foreign(example, universal=True) for example in some(12)]
    summary = run(tmp_path, attack(AttackableTags()), examples)
    assert summary["reach"]["changeable"] == summary["reach"]["attacked"] > 0
    assert summary["warnings"] == []


def test_few_changeable_sentences_are_a_warning_in_every_place(tmp_path):
    examples = [foreign(example, universal=True) for example in some(40)]
    only = examples[4].sentence
    examples[4] = replace(examples[4], sentence=replace(only, xpos=only.upos))
    nouns = attack(AttackableTags(["NOUN"], tagset="xpos"))
    summary = run(tmp_path, nouns, examples)
    assert summary["reach"]["changeable"] == 1
    (warning,) = json.loads((tmp_path / "summary.json").read_text())["warnings"]
    assert f"only 1 of {summary['reach']['attacked']} sentences" in warning
    assert " ".join(as_text(summary_table({"x": summary})).split()).count(warning[:40]) == 1
    assert "warning: [b]x: the attack" in as_text(summary_table({"[b]x": summary}))
    build_report([tmp_path], tmp_path / "report.html")
    assert warning in (tmp_path / "report.html").read_text("utf-8")


def test_sentences_that_there_was_nothing_to_attack_in_do_not_count():
    reach = ChangeableSentences()
    counts = {"slots": 0, "sums": {"all": {"proposed": 0}}}
    reach.add({"skipped": True, "targeted": True, "candidates": counts})
    reach.add({"skipped": False, "targeted": False, "candidates": counts})
    reach.check(attack(), [])
    assert [*reach.warnings(None)] == []


@pytest.mark.parametrize(
    ("judged", "left", "changeable"), [(0, 0, 1), (3, 0, 1), (4, 0, 0), (9, 0, 0), (4, 1, 1)]
)
def test_candidates_that_no_constraint_was_asked_about(judged, left, changeable):
    """As where only changes that raise the score are judged: a robust victim has few of them."""
    counts = {"proposed": 9, "AttackableTags": 4, "judged": judged, "EditBudget": left}
    found = {**BARREN, "candidates": {"slots": 2, "sums": {"all": counts}}}
    assert ChangeableSentences().over([found]).changeable == changeable


def test_less_than_a_tenth_of_the_sentences_is_few():
    for changeable, warned in ((2, True), (3, False)):
        reach = ChangeableSentences(attacked=30, attackable=30, changeable=changeable)
        assert bool([*reach.warnings(None)]) == warned
