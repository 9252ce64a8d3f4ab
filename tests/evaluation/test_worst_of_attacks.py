"""The worst of attacks: a second plain implementation, laws, and which folders belong together."""

import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import robustparse as rp
from example_records import record
from robustparse.errors import InputError
from robustparse.evaluation.worst_of_attacks import WorstOfAttacks

Json = dict[str, Any]
LABELS = ("dep", "obj")
TEXTS = ("a dog barks", "cats sleep", "one two three four five", "yes")


def tree(rng: random.Random, size: int) -> Json:
    return {
        "heads": [rng.randint(0, size) for _ in range(size)],
        "labels": [rng.choice(LABELS) for _ in range(size)],
    }


def answered(answer: Json, gold: Json, uncounted: list[int]) -> Json:
    """A record's answer, with counts that are made here word by word."""
    heads = labels = 0
    for word in set(range(len(gold["heads"]))) - set(uncounted):
        right = answer["heads"][word] == gold["heads"][word]
        heads += right
        labels += right and answer["labels"][word] == gold["labels"][word]
    return {**answer, "correct_heads": heads, "correct_labels": labels}


def parsed(seed: int) -> list[Json]:
    """Lines of an attack with random attacked trees; gold and clean trees do not depend on it."""
    lines = []
    for number, text in enumerate(TEXTS):
        same, rng, size = (
            random.Random(number),
            random.Random(f"{seed} {number}"),
            len(text.split()),
        )
        gold, clean, attacked = tree(same, size), tree(same, size), tree(rng, size)
        # Half of the words keep their gold answer, so that some are right everywhere.
        for word in range(size):
            if rng.random() < 0.5:
                attacked["heads"][word] = gold["heads"][word]
                attacked["labels"][word] = gold["labels"][word]
        uncounted = [0] if size == 5 else []
        line = record(
            number,
            text,
            gold=gold,
            clean=answered(clean, gold, uncounted),
            attacked=answered(attacked, gold, uncounted),
            counted=size - len(uncounted),
        )
        lines.append({**line, "uncounted": uncounted} if uncounted else line)
    return lines


def classified(seed: int) -> list[Json]:
    lines = []
    for number, text in enumerate(TEXTS * 5):
        answer = random.Random(f"{seed} {number}").choice(("yes", "no"))
        lines.append(
            record(
                number,
                text,
                gold={"label": "yes"},
                clean={"label": "yes", "correct": 1},
                attacked={"label": answer, "correct": int(answer == "yes")},
                counted=1,
            )
        )
    return lines


def write(folder: Path, lines: list[Json], task: str = "dependency", **run: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "examples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    summary = {
        "task": task,
        "attack": folder.name,
        "n_sentences": len(lines),
        "n_words": 3,
        "clean": {"uas": 1.0, "las": 1.0, "accuracy": 1.0},
        "attacked": {"uas": 1.0, "las": 1.0, "accuracy": 1.0},
        "success_rate": 1.0,
        "edits_per_sentence": 1.0,
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    same = {"attack": folder.name, "victims": ["a.ckpt"], "sha256": {"checkpoint": ["1"]}}
    (folder / "run.json").write_text(json.dumps({**same, **run}))
    return folder


def lines_of(folder: Path) -> list[Json]:
    return [json.loads(line) for line in (folder / "examples.jsonl").read_text().splitlines()]


def brute_force(folders: list[Path]) -> tuple[int, list[int]]:
    """Words with the right head and label under every attack, of each sentence; and counted."""
    files = [lines_of(folder) for folder in folders]
    counted, right = 0, []
    for number, first in enumerate(files[0]):
        right.append(0)
        for word in range(len(first["tokens"])):
            if word not in first.get("uncounted", []):
                counted += 1
                right[-1] += all(
                    lines[number]["attacked"][key][word] == first["gold"][key][word]
                    for lines in files
                    for key in ("heads", "labels")
                )
    return counted, right


def test_a_word_counts_if_it_is_right_under_every_attack(tmp_path: Path) -> None:
    for count in (2, 3, 5):
        folders = [write(tmp_path / f"{count}" / f"{n}", parsed(n)) for n in range(count)]
        (system,) = rp.worst_of_attacks(folders)
        counted, right = brute_force(folders)
        worst = system.worst["las"]
        assert worst.estimate == pytest.approx(100 * sum(right) / counted, abs=1e-9)
        assert worst.lower <= worst.estimate <= worst.upper
        for attack, folder in zip(system.attacks, folders, strict=True):
            lines = lines_of(folder)
            of_attack = [line["attacked"]["correct_labels"] for line in lines]
            assert all(a <= b for a, b in zip(right, of_attack, strict=True))
            assert attack.attacked["las"] == pytest.approx(100 * sum(of_attack) / counted, abs=1e-9)
        assert worst.estimate < min(attack.attacked["las"] for attack in system.attacks)
        assert worst.estimate <= system.worst["uas"].estimate


def test_a_text_counts_if_its_answer_is_right_under_every_attack(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / f"{n}", classified(n), "classification", attack="pwws") for n in range(3)
    ]
    (system,) = rp.worst_of_attacks(folders)
    attacks = zip(*map(lines_of, folders), strict=True)
    right = [min(line["attacked"]["correct"] for line in lines) for lines in attacks]
    assert 0 < sum(right) < len(right)
    assert system.worst["accuracy"].estimate == pytest.approx(100 * sum(right) / len(right))
    assert (system.clean["accuracy"], system.n_sentences) == (100, 20)


def test_the_order_of_folders_does_not_matter(tmp_path: Path) -> None:
    folders = [write(tmp_path / f"{n}", parsed(n)) for n in range(3)]
    results = [rp.worst_of_attacks(order)[0] for order in permutations(folders)]
    assert len({json.dumps([each.clean, repr(each.worst)]) for each in results}) == 1
    (one, *_), (twice, *_) = rp.worst_of_attacks(folders[:2]), rp.worst_of_attacks(folders[:1] * 2)
    assert twice.worst["las"].estimate == twice.attacks[0].attacked["las"]
    assert results[0].worst["las"].estimate <= one.worst["las"].estimate


def test_attacks_on_the_same_weights_and_settings_belong_together(tmp_path: Path) -> None:
    def made(name: str, **run: Any) -> Path:
        return write(tmp_path / name, parsed(0), **run)

    other = {"sha256": {"checkpoint": ["2"]}}
    black_box = {"sha256": {"victim": {}}, "victims": ["Box"], "victim": {"class_path": "a.Box"}}
    folders = [
        *(made("a1"), made("b1", **other), made("c1", decoder="mst"), made("d", mean="logits")),
        *(made("a2", victims=["moved.ckpt"]), made("b2", **other), made("c2", decoder="mst")),
        *(made("e1", **black_box), made("e2", **black_box)),
        *(made("f1", sha256={}), made("f2", sha256={})),  # functions in Python
    ]
    systems = rp.worst_of_attacks(folders)

    def attacks(system: WorstOfAttacks) -> list[str]:
        return [attack.attack for attack in system.attacks]

    assert [attacks(system) for system in systems] == [
        *(["a1", "a2"], ["b1", "b2"], ["c1", "c2"], ["e1", "e2"])
    ]
    assert [system.name for system in systems] == [
        *("a.ckpt (1)", "a.ckpt (2)", "a.ckpt (3)", "Box")
    ]
    assert {attack.seen for system in systems for attack in system.attacks} == {"unknown"}
    assert rp.worst_of_attacks(folders[:4]) == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (lambda lines: lines[1:], "second"),
        (lambda lines: [{**lines[0], "tokens": ["x", "y", "z"]}, *lines[1:]], "second"),
        (lambda lines: [{**lines[0], "counted": 2}, *lines[1:]], "second"),
        (lambda lines: [with_attacked(lines[0], correct_heads=0), *lines[1:]], "sentence 0"),
        (lambda lines: [with_attacked(lines[0], heads=[1]), *lines[1:]], "sentence 0"),
    ],
)
def test_folders_that_do_not_fit_are_named(changes: Any, named: str, tmp_path: Path) -> None:
    folders = [write(tmp_path / "first", parsed(3))]
    folders.append(write(tmp_path / "second", changes(parsed(4))))
    with pytest.raises(InputError) as error:
        rp.worst_of_attacks(folders)
    assert named in f"{error.value.path} {error.value.key}"


def with_attacked(line: Json, **changes: Any) -> Json:
    assert line["attacked"]["correct_heads"] > 0
    return {**line, "attacked": {**line["attacked"], **changes}}
