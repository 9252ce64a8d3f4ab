"""The list of all examples: what the page holds, and what a reader sees in a real browser."""

import json
import re
import shutil
import subprocess
import zlib
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_pages import Json, example, parse, summary, write

from robustparse.reports.page import build_report

NASTY = "</script><script>document.title='run'</script><!--&\u2028"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def varied(number: int) -> Json:
    """A quarter failed, a quarter skipped, half succeeded; one or two words changed."""
    kind = ("failed", "skipped", "succeeded", "succeeded")[number % 4]
    word = NASTY if number == 7 else f"ate{number % 10}"
    line = example(number, word=word, success=kind == "succeeded") | {"skipped": kind == "skipped"}
    if number % 4 == 3:
        line |= {"adversarial_tokens": ["Cats", "<b>", f"fish{number}"], "edited": [0, 1]}
    if kind == "skipped":
        line |= {"adversarial_tokens": line["tokens"], "edited": [], "attacked": line["clean"]}
    return line


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems with 1,500 and 500 examples, and a transfer between eleven."""
    made = tmp_path_factory.mktemp("browser")
    parts = {"clean": range(1500), "robust": range(500)}
    folders = [
        write(made / name, summary(90, 70), [*map(varied, numbers)])
        for name, numbers in parts.items()
    ]
    names = [f"ewt_biaffine_word_character_{number}" for number in range(11)]
    cell = {"rate": {"estimate": 40.0, "lower": 31.0, "upper": 49.5}, "given_success": 80.0}
    rates = {"sources": names, "targets": names, "rates": {"las": [[cell] * 11] * 11}}
    (folders[0] / "transfer.json").write_text(json.dumps(rates))
    build_report(folders, made / "report.html")
    return made / "report.html"


def test_the_page_holds_every_example_and_its_picture(page: Path) -> None:
    (text,) = (text for text in parse(page).texts if text.startswith('{"examples"'))
    data = json.loads(text)
    assert [one["id"] for one in data["examples"]] == [*range(1500), *range(500)]
    assert data["examples"][7] == {
        "system": 0,
        "id": 7,
        "outcome": "succeeded",
        "context": [],
        "words": ["Dogs", NASTY, "fish7"],
        "edits": {"0": "Cats", "1": "<b>"},
        "scores": [None, None],
    }
    sheets = [json.loads(zlib.decompress(b64decode(sheet))) for sheet in data["sheets"]]
    pictures = [picture for sheet in sheets for picture in sheet]
    assert len(pictures) == 2000
    for number, picture in enumerate(pictures):
        assert f"fish{number % 1500}<" in picture
        assert pictures[number] is sheets[number // data["sheet"]][number % data["sheet"]]
    assert page.read_text().count("</script>") == 2


def test_a_page_without_examples_allows_no_script(tmp_path: Path) -> None:
    build_report([write(tmp_path / "a", summary(90, 70), [])], tmp_path / "r.html")
    assert "script" not in parse(tmp_path / "r.html").tags
    assert "script-src" not in (tmp_path / "r.html").read_text()


class Seen(HTMLParser):
    """What stands in the list: its rows as text, struck and marked words, and drawn trees."""

    def __init__(self, dom: str) -> None:
        super().__init__()
        self.title, self.count, self.hidden = "", "", True
        self.rows: list[str] = []
        self.words: dict[str, list[str]] = {"del": [], "mark": []}
        self.trees = self.wrong = 0
        self.pressable: list[bool] = []
        self._open: list[str] = []
        self._listed = False
        self.feed(dom)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._open.append(tag)
        if given.get("id") == "browser":
            self.hidden = "hidden" in given
        elif tag == "button":
            self.pressable.append("disabled" not in given)
        elif tag == "ol":
            self._listed = True
        elif tag == "li" and self._listed:
            self.rows.append("")
        elif self._listed:
            self.trees += given.get("class") == "rp-tree"
            self.wrong += given.get("class") == "wrong"

    def handle_endtag(self, tag: str) -> None:
        self._listed &= tag != "ol"
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["title"] and "svg" not in self._open:
            self.title += data
        if self._open[-1:] == ["output"]:
            self.count += data
        if self._listed and "summary" in self._open:
            self.rows[-1] += data
            if (tag := self._open[-1]) in self.words:
                self.words[tag].append(data)


def seen(page: Path, asked: str = "") -> Seen:
    """Open a page in a browser without a window, and read what its scripts left there."""
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH, the browser that reads the page")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    own = f"--user-data-dir={page.parent / 'profile'}"
    address = f"{page.as_uri()}{asked}"
    command = [CHROMIUM, *options, own, "--dump-dom", address]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return Seen(done.stdout)


def expected(*, q: str = "", outcome: str = "", edits: int | None = None) -> list[Json]:
    """The examples of the first system that are asked for, by the lines of its folder."""
    return [
        line
        for line in map(varied, range(1500))
        if q in " ".join(line["tokens"] + line["adversarial_tokens"])
        and outcome
        in ("", "succeeded" if line["success"] else "skipped" if line["skipped"] else "failed")
        and edits in (None, len(line["edited"]))
    ]


@pytest.mark.slow
def test_the_list_is_filled(page: Path) -> None:
    found = seen(page)
    assert not found.hidden
    assert found.count == "2000 of 2000 examples: 1 to 50 are listed"
    assert len(found.rows) == 50
    assert found.rows[0].startswith("failedDogs ate0 <b> fish0clean, sentence 0: LAS")
    assert f"{NASTY} <b>" in found.rows[7]
    assert found.title.startswith("Robustness report")  # no word of a sentence ran as a script
    assert found.words["mark"][:4] == ["<b>", "<b>", "Cats", "<b>"]
    assert found.words["del"][:4] == ["ate0", "ate2", "Dogs", "ate3"]
    assert found.trees == 0
    assert found.pressable == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "lines", "page_number"),
    [
        ("#q=ATE3+fish&outcome=succeeded&system=0", {"q": "ate3", "outcome": "succeeded"}, 1),
        ("#outcome=skipped&system=0&page=8", {"outcome": "skipped"}, 8),
        ("#edits=2&system=0&page=99", {"edits": 2}, 8),  # the last page
        ("#q=nothing", {"q": "nothing"}, 1),
    ],
)
def test_an_address_asks_for_examples(
    page: Path, asked: str, lines: Json, page_number: int
) -> None:
    found, wanted = seen(page, asked), expected(**lines)
    listed = wanted[50 * (page_number - 1) : 50 * page_number]
    assert found.count.startswith(f"{len(wanted)} of 2000 examples")
    numbers = [int(re.findall(r"sentence (\d+)", row)[0]) for row in found.rows]
    assert numbers == [line["id"] for line in listed]


@pytest.mark.slow
def test_an_open_example_has_both_answers_drawn(page: Path) -> None:
    found = seen(page, "#q=fish42&open=42")
    assert found.trees == 1
    assert found.wrong == 2 * 3  # all three heads after the attack, each an arc and a label


# Types, turns a page, walks through the rows, opens and closes an example; its title says what came
# of it, and what is wider than a phone and does not scroll in a box of its own.
HANDS = """
const said = {}, wait = () => new Promise((done) => setTimeout(done, 500));
const box = document.getElementById("browser"), search = box.querySelector("form [name=q]");
const count = () => box.querySelector("output").value;
const press = (key) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
const row = () => [...box.querySelectorAll("summary")].indexOf(document.activeElement);
(async () => {
  search.value = "ate3";
  search.dispatchEvent(new Event("input", {bubbles: true}));
  said.typed = [count(), location.hash];
  box.querySelectorAll("nav button")[1].click();
  said.turned = [count(), row()];
  press("ArrowDown"); press("ArrowDown"); press("ArrowUp");
  said.walked = row();
  document.activeElement.click();
  await wait();
  said.opened = [/open=/.test(location.hash), box.querySelectorAll("svg").length > 0];
  document.activeElement.click();
  await wait();
  said.closed = /open=/.test(location.hash);
  for (const one of document.querySelectorAll("details")) { one.open = true; }
  document.body.style.width = "390px";
  await wait();
  said.wide = [...document.querySelectorAll("main *")].filter((one) =>
    !one.closest(".scroll, svg") && one.clientWidth && one.scrollWidth > one.clientWidth + 1);
  said.wide = said.wide.map((one) => one.tagName + " " + one.textContent.slice(0, 40));
  said.narrow = [...document.querySelectorAll(".heat th")].map((one) => one.clientWidth);
  document.title = JSON.stringify(said);
})();
"""


def said_by(page: Path) -> Json:
    changed = page.with_name("hands.html")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    script = f"<script>/*<![CDATA[*/{HANDS}/*]]>*/</script>"
    changed.write_text(text.replace("</body>", f"{script}</body>"))
    said: Json = json.loads(seen(changed).title)
    return said


@pytest.mark.slow
def test_a_reader_types_turns_pages_and_walks_by_keys(page: Path) -> None:
    said = said_by(page)
    wanted = len(expected(q="ate3")) * 4 // 3  # the second system has a third of them again
    assert said["typed"] == [f"{wanted} of 2000 examples: 1 to 50 are listed", "#q=ate3"]
    assert said["turned"] == [f"{wanted} of 2000 examples: 51 to 100 are listed", 0]
    assert said["walked"] == 1
    assert said["opened"] == [True, True]
    assert said["closed"] is False
    assert said["wide"] == []
    assert len(said["narrow"]) == 23
    assert min(said["narrow"]) > 120  # a name is read in words, not letter by letter


@pytest.mark.slow
def test_long_names_do_not_widen_the_page(tmp_path: Path) -> None:
    lines = [*map(varied, range(40))]
    for gamma in ("05", "15"):
        write(tmp_path / gamma, summary(90, 70) | {"gamma": int(gamma) / 100}, lines)
    names = [f"ewt_biaffine_word_character_seed_2/zheng2020_blackbox_{one}" for one in ("05", "15")]
    build_report([tmp_path / "05", tmp_path / "15"], tmp_path / "report.html", names)
    assert said_by(tmp_path / "report.html")["wide"] == []


@pytest.mark.slow
def test_no_other_script_runs(page: Path) -> None:
    """The content policy knows the script by its hash: changed by a letter, it does nothing."""
    changed = page.with_name("changed.html")
    changed.write_text(page.read_text().replace("const ROWS = 50;", "const ROWS = 51;"))
    found = seen(changed)
    assert found.hidden
    assert found.rows == []
