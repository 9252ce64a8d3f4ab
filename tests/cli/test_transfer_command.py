"""``robustparse transfer``: rates by hand, the diagonal, ensembles, mistakes, the page."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_runs import mistake

import robustparse as rp
from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.errors import InputError
from robustparse.evaluation.transfer import read_source, transfer
from robustparse.models.victim import ModelVictim
from sample_runs import save_checkpoint, sentences, trained_parser, trained_pointer, write_sample
from sample_texts import trained_classifier

ATTACK = """
goal:
  class_path: robustparse.attacks.AttachmentDrop
  init_args: {metric: uas, punctuation: unicode}
candidates: {class_path: robustparse.attacks.TrainingWords, init_args: {sample: 5}}
search: {class_path: robustparse.attacks.Zheng2020, init_args: {gamma: 0.4}}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three parsers, the last a stack-pointer parser, and an attack on each."""
    folder = tmp_path_factory.mktemp("transfer")
    write_sample(folder / "test.conllu", sentences(20, "test"))
    (folder / "words.yaml").write_text(ATTACK)
    parsers = {"one": trained_parser(), "two": trained_parser(True), "pointer": trained_pointer()}
    for name, parser in parsers.items():
        save_checkpoint(parser, folder / f"{name}.ckpt")
        attack = ["--attack", str(folder / "words.yaml"), "--limit", "20", "--device", "cpu"]
        paths = ["--checkpoint", str(folder / f"{name}.ckpt"), "--out", str(folder / name)]
        data = ["--data", str(folder / "test.conllu")]
        main(["attack", *attack, *paths, *data])
    return folder


def options(made: Path, *sources: str, targets: tuple[str, ...] = ("one", "two")) -> list[str]:
    checkpoints = [",".join(f"{made}/{part}.ckpt" for part in one.split(",")) for one in targets]
    folders = [str(made / source) for source in sources]
    return ["transfer", *folders, "--checkpoint", *checkpoints, "--device", "cpu"]


def test_python_gives_the_rates_of_the_command(made, tmp_path):
    main([*options(made, "one", "two"), "--out", str(tmp_path)])
    folders = [rp.AttackResults(made / "one"), made / "two"]
    targets = {"one": str(made / "one.ckpt"), "two": rp.load(made / "two.ckpt")}
    found = rp.transfer(folders, targets, device="cpu", out=tmp_path / "python")
    ours, theirs = (
        json.loads((folder / "transfer.json").read_text())
        for folder in (tmp_path / "python", tmp_path)
    )
    assert ours["rates"] == theirs["rates"]
    assert ours["targets"] == found.targets == ["one", "two"]
    estimate = found.rates["uas"][0][1].rate.estimate
    assert f"{estimate:.1f} (" in repr(found)
    for attacked, models, key in (([], targets, "attacked"), (folders, [], "targets")):
        with pytest.raises(InputError) as error:
            rp.transfer(attacked, models)
        assert error.value.key == key


def test_rates_are_those_of_the_targets_own_answers(made, tmp_path, capsys):
    main([*options(made, "one", "two"), "--out", str(tmp_path)])
    shown = capsys.readouterr().out
    found = json.loads((tmp_path / "transfer.json").read_text())
    assert (found["task"], found["n_sentences"]) == ("dependency", 20)
    assert found["sources"] == [str(made / "one"), str(made / "two")]
    for row, source in enumerate(("one", "two")):
        summary = json.loads((made / source / "summary.json").read_text())
        own = found["rates"]["uas"][row][row]
        assert own["rate"]["estimate"] == pytest.approx(summary["success_rate"], abs=0.01)
        assert own["given_success"] == 100.0
    # By hand: the second parser's heads on what was made against the first one.
    parser = trained_parser(characters=True)
    lines = [json.loads(line) for line in (made / "one/examples.jsonl").read_text().splitlines()]
    lower = []
    for line in lines:
        counted = [at for at in range(len(line["tokens"])) if at not in line.get("uncounted", [])]
        right = []
        for words in (line["tokens"], line["adversarial_tokens"]):
            (tree,) = parser.predict([words])
            right.append(sum(tree.heads[at] == line["gold"]["heads"][at] for at in counted))
        lower.append(right[1] < right[0])
    assert any("uncounted" in line for line in lines)
    success = [line["success"] for line in lines]
    other = found["rates"]["uas"][0][1]
    assert other["rate"]["estimate"] == pytest.approx(100 * np.mean(lower))
    assert other["given_success"] == pytest.approx(100 * np.mean(np.array(lower)[success]))
    assert other["rate"]["lower"] <= other["rate"]["estimate"] <= other["rate"]["upper"]
    assert f"{other['rate']['estimate']:.1f} ({other['given_success']:.1f})" in shown
    packed = "".join(shown.split())  # long names are wrapped
    assert f"source1:{made}/one" in packed
    assert f"2:{made}/two.ckpt" in packed


def test_an_ensemble_answers_together(made):
    models = [trained_parser(characters) for characters in (False, True)]
    source = read_source(made / "one")
    (joint,) = transfer(ModelVictim(models), [source])
    main([*options(made, "one", targets=("one,two",)), "--out", str(made / "joint")])
    found = json.loads((made / "joint/transfer.json").read_text())["rates"]["las"][0][0]
    assert found["rate"]["estimate"] == joint["las"].rate.estimate


def test_kinds_of_parsers_are_sources_and_targets_of_each_other(made, tmp_path):
    names = ("one", "pointer")
    main([*options(made, *names, targets=names), "--out", str(tmp_path)])
    rates = json.loads((tmp_path / "transfer.json").read_text())["rates"]["uas"]
    for row, name in enumerate(names):
        summary = json.loads((made / name / "summary.json").read_text())
        assert summary["success_rate"] > 0
        assert rates[row][row]["rate"]["estimate"] == pytest.approx(summary["success_rate"], 0.01)
        assert rates[row][row]["given_success"] == 100.0
        assert rates[row][1 - row]["rate"]["estimate"] != rates[row][row]["rate"]["estimate"]


def test_no_success_and_no_change(made):
    source = read_source(made / "one")
    same = replace(source, adversarial=source.originals, success=~source.success & False)
    (found,) = transfer(ModelVictim([trained_parser()]), [same])
    assert found["uas"].rate.estimate == 0.0
    assert found["uas"].given_success is None


def test_the_page_has_a_heat_map(made, tmp_path, capsys):
    main([*options(made, "one", "two"), "--out", str(tmp_path / "transfer")])
    main(["report", str(made / "one"), str(tmp_path / "transfer"), "--out", str(tmp_path / "p")])
    main(["report", str(tmp_path / "transfer"), "--out", str(tmp_path / "only")])
    rates = json.loads((tmp_path / "transfer/transfer.json").read_text())["rates"]
    for page in ("p", "only"):
        text = (tmp_path / page).read_text()
        cells = re.findall(r'<td class="heat-(\d+)"><strong>([\d.]+)</strong>', text)
        flat = [one["rate"]["estimate"] for name in rates for row in rates[name] for one in row]
        assert cells == [(str(round(rate / 10)), f"{rate:.1f}") for rate in flat]
    (tmp_path / "transfer/transfer.json").write_text('{"rates": {"uas": [[{}]]}}')
    broken = mistake(capsys, "report", str(tmp_path / "transfer"), "--out", str(tmp_path / "q"))
    assert "transfer.json" in broken


def test_mistakes_are_named(made, tmp_path, capsys):
    def copy(name: str) -> Path:
        return Path(shutil.copytree(made / "one", tmp_path / name))

    def refused(*sources: str, targets: tuple[str, ...] = ("two",)) -> str:
        return mistake(capsys, *options(made, *sources, targets=targets))

    fewer = copy("fewer")
    lines = (fewer / "examples.jsonl").read_text().splitlines(keepends=True)
    (fewer / "examples.jsonl").write_text("".join(lines[:-1]))
    assert "examples.jsonl: has 19 sentences; expected 20" in refused(str(fewer))
    assert "two.ckpt twice" in refused("one", targets=("two", "two"))
    assert "no such folder" in refused("one", "none")
    (copy("bare") / "adversarial.conllu").unlink()
    assert "0 files adversarial.*" in refused(str(tmp_path / "bare"))
    other = copy("other")
    copies = read_treebank(other / "adversarial.conllu")
    text = (other / "adversarial.conllu").read_text()
    word = copies[2].sentence.words[0]
    (other / "adversarial.conllu").write_text(text.replace(f"\t{word}\t", "\tcrocus\t"))
    assert "has other words than in examples.jsonl" in refused(str(other))
    rest = made / "rest"
    data = ["--data", str(made / "test.conllu"), "--limit", "5", "--device", "cpu"]
    attack = ["--attack", str(made / "words.yaml"), "--checkpoint", str(made / "one.ckpt")]
    main(["attack", *attack, *data, "--out", str(rest)])
    capsys.readouterr()
    found = refused("one", "rest")
    assert "an attack on 5 sentences; expected the 20 of" in found
    later = write_sample(made / "later.conllu", sentences(40, "test")[20:])
    data = ["--data", str(later), *data[2:]]
    main(["attack", *attack, *data, "--out", str(made / "later")])
    capsys.readouterr()
    found = refused("rest", "later")
    assert re.search("later: sentence [0-9]+ is '.*'; expected the sentences of", found)
    assert "folders" in mistake(capsys, "transfer", "--checkpoint", str(made / "two.ckpt"))
    lines = [json.loads(line) for line in (made / "one/examples.jsonl").read_text().splitlines()]
    for line in lines:
        line.pop("uncounted", None)
    counting = copy("counting")
    (counting / "examples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert "its scores count other words" in refused("one", str(counting))
    save_checkpoint(trained_classifier().float(), made / "texts.ckpt")
    found = refused("one", targets=("texts",))
    assert "texts.ckpt: the target answers the task classification" in found
