"""The tables that commands print."""

import io
from typing import Any

import pytest
from rich.console import Console

from robustparse.api.printed_tables import plain_table, print_table, summary_table


def summary(**more: Any) -> dict[str, Any]:
    return {
        **{"clean": {"uas": 90.0, "las": 85.5}, "attacked": {"uas": 80.0, "las": None}},
        **{"success_rate": 25.0, "edits_per_sentence": 1.5},
        "queries_per_sentence": {"charged": 12.5, "unique": 10.0},
        **more,
    }


def printed(**summaries: dict[str, Any]) -> str:
    file = io.StringIO()
    Console(file=file, width=80).print(summary_table(summaries))
    return file.getvalue()


def test_a_row_has_the_values_of_a_summary() -> None:
    row = next(line for line in printed(parser=summary()).splitlines() if "parser" in line)
    assert row.split() == ["parser", "90.0", "85.5", "80.0", "-", "25.0", "1.5", "12.5"]


def test_strict_success_is_that_of_the_first_score() -> None:
    text = printed(**{"word_character": summary(strict_success_rate={"uas": 21.0, "las": 22.0})})
    (row,) = (line.split() for line in text.splitlines() if "1.5" in line)
    assert row[-4:] == ["25.0", "21.0", "1.5", "12.5"]
    assert "22.0" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_perturbed_words_are_told_below_the_table() -> None:
    assert "perturbed" not in printed(old=summary(), none=summary(perturbed_words=None))
    text = " ".join(printed(old=summary(), new=summary(perturbed_words=16.66)).split())
    assert "perturbed words % (mean over successes): old -, new 16.7" in text


def test_skipped_sentences_are_told_where_there_are_some() -> None:
    assert "skipped" not in printed(old=summary(), new=summary(n_skipped=0))
    text = printed(old=summary(), new=summary(n_skipped=3))
    assert "skipped (already wrong before the attack, or at its goal): new 3" in " ".join(
        text.split()
    )


@pytest.mark.parametrize("width", [1, 20, 80])
@pytest.mark.parametrize("many", [3, 12])
def test_no_number_is_cut(
    width: int, many: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    numbers = [f"{number}.5 ({number}00.25)" for number in range(many)]
    table = plain_table("", ["system"], map(str, range(many)))
    table.add_row("parsers", *numbers)
    print_table(table)
    lines = capsys.readouterr().out.splitlines()
    assert any(all(number in line for number in numbers) for line in lines)
    assert "parser" in "".join(line[:9].strip() for line in lines)
