"""Whatever the `datasets` library raises for damaged data is a mistake of the user's."""

from pathlib import Path

import pytest

from robustparse.data.text_files import read_texts
from robustparse.errors import InputError, dataset_calls

datasets = pytest.importorskip("datasets")


DAMAGED_DATASETS = [
    ("state.json", b"{}"),
    ("state.json", b"["),
    ("state.json", b'{"_data_files": [{"filename": "../../x"}]}'),
    ("dataset_info.json", b"3"),
    ("dataset_info.json", b'{"features": {"text": {"_type": "Nope"}}}'),
    ("data-00000-of-00001.arrow", b"xx"),
    ("data-00000-of-00001.arrow", None),
]


@pytest.mark.parametrize(("name", "content"), DAMAGED_DATASETS)
def test_a_damaged_dataset_is_a_mistake(name, content, tmp_path):
    folder = tmp_path / "saved"
    datasets.Dataset.from_dict({"text": ["a b", "c"], "label": [1, 2]}).save_to_disk(folder)
    path = folder / name
    _ = path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_texts(folder)
    assert error.value.path == str(folder)


def test_a_dataset_without_rows_may_have_a_file_or_none(tmp_path):
    data = datasets.Dataset.from_dict({"text": ["a"], "label": [1]})
    data.select([]).save_to_disk(tmp_path / "file")
    datasets.Dataset.from_dict({"text": [], "label": []}).save_to_disk(tmp_path / "none")
    found = set()
    for name in ("file", "none"):
        with pytest.raises(InputError) as error:
            read_texts(tmp_path / name)
        found.add(error.value.found)
    assert len(found) == 1


def test_dataset_names_that_nothing_answers_to():
    for name in ("nobody/nothing:train", "../x:train", ":train", "a/b/c/d:train", "x"):
        with pytest.raises(InputError) as error:
            read_texts(f"datasets:{name}")
        assert error.value.path == f"datasets:{name}"


DAMAGED_FILES = {
    "x.csv": b'text,label\n"a,b\n',
    "y.csv": b"\xff\xfe",
    "empty.csv": b"",
    "x.json": b'{"text": "a"}\n{"text":',
    "x.parquet": b"PAR1xxxx",
    "gone.csv": None,
}


@pytest.mark.parametrize("name", DAMAGED_FILES)
def test_a_damaged_file_is_a_mistake(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if (content := DAMAGED_FILES[name]) is not None:
        Path(name).write_bytes(content)
    kind = name.rpartition(".")[2]
    with pytest.raises(InputError) as error, dataset_calls(name, key="--data"):
        datasets.load_dataset(kind, data_files=name, split="train", cache_dir="cache")
    assert (error.value.path, error.value.key) == (name, "--data")
    assert "generating the dataset" not in error.value.found  # the cause is named instead
