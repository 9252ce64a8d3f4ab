"""Cards and leaderboard entries: they hold what folders hold, and nothing of other models."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_runs import mistake
from huggingface_hub import ModelCard

import robustparse
from robustparse.api.inputs import digest
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.cli.main import main
from robustparse.models import Model
from robustparse.reports.entry import Entry, read_entry

CONTRACT = Path(__file__).parents[1] / "contract"
Json = dict[str, Any]


def edited(path: Path, change: Callable[[Json], object]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def records(folder: Path) -> list[Json]:
    return [json.loads(line) for line in (folder / "examples.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint, two attacks on it, of which the second finds less, scores and certificates."""
    made = tmp_path_factory.mktemp("runs") / "runs"
    shutil.copytree(CONTRACT, made)
    shutil.copytree(made / "attacked", made / "weaker")
    lines = records(made / "attacked")
    for line in lines[::2]:
        line |= {"attacked": line["clean"], "adversarial_tokens": line["tokens"], "edited": []}
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (made / "weaker/examples.jsonl").write_text(text)
    counted = sum(line["counted"] for line in lines)
    attacked = {
        score: 100 * sum(line["attacked"][part] for line in lines) / counted
        for score, part in (("uas", "correct_heads"), ("las", "correct_labels"))
    }
    edited(made / "weaker/summary.json", lambda held: held.update(attacked=attacked))
    edited(made / "weaker/run.json", lambda held: held.update(attack="weaker"))
    edited(made / "weaker/run.json", lambda held: held["settings"]["init_args"].update(seed=4))
    scores = {"task": "dependency", "checkpoints": ["tiny.ckpt"], "data": "test.conllu"}
    scores |= {"n_sentences": 12, "precision": "32-true", "uas": 87.5, "las": 85.71}
    (made / "scored").mkdir()
    (made / "scored/scores.json").write_text(json.dumps(scores))
    SubstitutionTable({"the": ["a"]}).write(made / "table.jsonl")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        files = ("--substitutes=table.jsonl", "--checkpoint=tiny.ckpt", "--data=test.conllu")
        main(["certify", *files, "--edits=1", "--cap=2", "--device=cpu", "--out=proven"])
    return made


@pytest.fixture
def here(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(runs, tmp_path / "runs")
    monkeypatch.chdir(tmp_path / "runs")
    return tmp_path / "runs"


SHARE = ["share", "shared", "--checkpoint", "tiny.ckpt", "--results"]


def shared(*results: str, options: tuple[str, ...] = ()) -> Entry:
    main([*SHARE, *results, *options])
    return read_entry(Path("shared"))


def test_an_entry_and_a_card_hold_what_the_folders_hold(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--license", "mit", "--paper", "Somebody | 2026", "--data_license", "cc-by-4.0")
    entry = shared("attacked", "weaker", "scored", "proven", options=options)
    summaries = [json.loads(Path(n, "summary.json").read_text()) for n in ("attacked", "weaker")]
    lines = records(Path("attacked"))
    assert entry["clean"] == summaries[0]["clean"]
    assert [each["attacked"] for each in entry["attacks"]] == [s["attacked"] for s in summaries]
    assert entry["right"] == [record["clean"]["correct_labels"] for record in lines]
    assert entry["worst_of_attacks"] is not None
    worst = entry["worst_of_attacks"]["las"][0]
    assert worst <= min(summary["attacked"]["las"] for summary in summaries)
    proven = json.loads(Path("proven/summary.json").read_text())
    assert [each["certified"] for each in entry["certified"]] == [proven["certified"]]
    assert entry["data"]["sha256"] == digest("test.conllu")
    assert entry["model"] is not None
    assert entry["model"]["sha256"] == digest("shared/model.safetensors")
    model = Model.from_pretrained("shared")
    assert entry["model"]["parameters"] == sum(each.numel() for each in model.parameters())
    assert "tiny.ckpt" not in Path("shared/entry.json").read_text()  # paths say nothing to others
    card = ModelCard.load("shared/README.md")
    data = card.data.to_dict()
    assert (data["library_name"], data["license"]) == ("robustparse", "mit")
    assert data["metrics"] == ["uas", "las"]
    values = [metric["value"] for metric in data["model-index"][0]["results"][0]["metrics"]]
    scores = [entry["clean"], *(each["attacked"] for each in entry["attacks"])]
    assert values == [*(round(score["las"] or 0, 2) for score in scores), round(worst, 2)]
    for text in (*(f"{s['attacked']['las']:.1f}" for s in summaries), f"{worst:.1f}"):
        assert f"| {text}" in card.text
    assert r"Somebody \| 2026" in card.text
    for attack in entry["attacks"]:
        assert attack["recipe"] in card.text
    assert all(command in card.text for command in entry["commands"])
    main([*SHARE, "attacked"])
    assert read_entry(Path("shared"))["worst_of_attacks"] is None
    Path("shared/README.md").write_text(Path("shared/README.md").read_text() + "My words.\n")
    mistake(capsys, *SHARE, "attacked")


def other_digest(run: Json) -> None:
    run["sha256"]["checkpoint"] = ["0" * 64]


SCORES = Path("scored/scores.json")
REFUSED: dict[str, tuple[Callable[[], object], list[str]]] = {
    "another model": (lambda: edited(Path("weaker/run.json"), other_digest), ["weaker"]),
    "two models": (
        lambda: edited(Path("weaker/run.json"), lambda run: run.update(decoder="mst")),
        ["attacked", "weaker"],
    ),
    "other data": (
        lambda: edited(Path("weaker/run.json"), lambda run: run["sha256"].update(data="1")),
        ["attacked", "weaker"],
    ),
    "no attack": (lambda: None, ["scored"]),
    "unfinished": (Path("weaker/summary.json").unlink, ["weaker"]),
    "scores of another": (
        lambda: edited(SCORES, lambda s: s.update(checkpoints=["gone.ckpt"])),
        ["attacked", "scored"],
    ),
    "scores on other data": (
        lambda: (
            Path("o.conllu").write_text("1"),
            edited(SCORES, lambda s: s.update(data="o.conllu")),
        ),
        ["attacked", "scored"],
    ),
    "scores on fewer sentences": (
        lambda: edited(SCORES, lambda s: s.update(n_sentences=11)),
        ["attacked", "scored"],
    ),
    "scores of another decoder": (
        lambda: edited(SCORES, lambda s: s.update(decoder="mst")),
        ["attacked", "scored"],
    ),
    "a shard": (
        lambda: edited(Path("weaker/run.json"), lambda run: run.update(shard="1/2")),
        ["weaker"],
    ),
    "certified on fewer sentences": (
        lambda: edited(Path("proven/summary.json"), lambda s: s.update(n_sentences=11)),
        ["attacked", "proven"],
    ),
    "certified above the clean score": (
        lambda: edited(
            Path("proven/summary.json"), lambda s: s["certified"]["1"]["lower"].update(las=90)
        ),
        ["attacked", "proven"],
    ),
    "no folder": (lambda: None, ["nowhere"]),
    "a card of one's own": (
        lambda: (Path("shared").mkdir(), Path("shared/README.md").touch()),
        ["attacked"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_results_of_something_else_are_refused(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, results = REFUSED[name]
    change()
    mistake(capsys, *SHARE, *results)
    names = {path.name for path in Path("shared").glob("*")}
    assert not names & {"entry.json", "model.safetensors"}


def fewer(entry: Json) -> None:
    """The entry claims that the attacks have broken nothing."""
    for attack in entry["attacks"]:
        attack |= {"right": entry["right"], "attacked": entry["clean"]}
    uas, las = entry["clean"]["uas"], entry["clean"]["las"]
    worst = {"uas": [uas, uas, uas], "las": [las, las, las]}
    entry.update(worst_of_attacks=worst, right_in_all=entry["right"])


def hostile(entry: Json) -> None:
    entry["attacks"][0]["run"]["settings"] = {"class_path": "os.mkdir", "init_args": {"path": "x"}}


def better(entry: Json) -> None:
    entry["attacks"][0]["attacked"]["las"] += 5


def test_an_entry_is_verified(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("attacked", "again")
    shared("attacked", "again")
    verify = ["verify", "shared", "--sentences", "4", "--device", "cpu"]
    main(verify)
    printed = capsys.readouterr().out
    assert "the entry holds" in printed
    assert "worst of attacks" in printed
    result = robustparse.verify("shared", sentences=4, device="cpu")
    rows = [(row.name, row.differing) for row in result.rows]
    attack = json.loads(Path("attacked/run.json").read_text())["attack"]
    assert rows == [("clean", 0), (attack, 0), (attack, 0), ("worst of attacks", 0)]
    assert (result.holds, result.n_sentences, result.headline) == (True, 4, "las")
    path, good = Path("shared/entry.json"), Path("shared/entry.json").read_text()
    edited(path, fewer)
    assert not robustparse.verify("shared", sentences=4, device="cpu").holds
    with pytest.raises(SystemExit) as end:
        main(verify)
    assert end.value.code == 1
    assert "does not hold" in capsys.readouterr().out
    for change in (hostile, better, lambda entry: entry.update(format=9)):
        path.write_text(good)
        edited(path, change)
        mistake(capsys, *verify)
    path.write_text(good)
    Path("other.conllu").write_text(Path("test.conllu").read_text() + "\n")
    mistake(capsys, *verify, "--data", "other.conllu")
    other = Model.from_pretrained("shared")
    other.arc_attn.weight.data.zero_()
    other.save_pretrained("other")
    mistake(capsys, *verify, "--checkpoint", "other")


def test_a_leaderboard_is_drawn(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared("attacked", "weaker")
    main(["report", "--leaderboard", ".", "--out", "board.html"])
    assert "<td" in Path("board.html").read_text()
    mistake(capsys, "report", "attacked", "--leaderboard", "shared")
    mistake(capsys, "report", "--leaderboard", "attacked")
