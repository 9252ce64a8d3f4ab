"""Models on the Hugging Face hub: ``hf://OWNER/NAME``, or ``hf://OWNER/NAME@REVISION``.

Without a network, or with ``HF_HUB_OFFLINE=1``, models come from the local cache.
"""

import re
from pathlib import Path
from typing import Any

from robustparse.errors import InputError, reason

HUB = "hf://"
CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.json", "model.safetensors"
FILES = (CONFIG, VOCABULARY, WEIGHTS)
"""The files of a shared model."""

_REVISION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")  # a branch, a tag or a commit, but no path


def fetched(name: str, revision: str | None = None, **options: Any) -> Path:
    """Return the folder of a model's files in the local cache, downloaded if necessary.

    Args:
        name: ``OWNER/NAME``, with or without ``hf://`` and a revision.
        revision: a branch, a tag or a commit; by default the one in the name, or ``main``.
        options: further arguments of `huggingface_hub.snapshot_download`.

    Raises:
        InputError: the name or the revision is invalid, there is no such model, or it is neither in
            the cache nor can it be downloaded.
    """
    from huggingface_hub import snapshot_download

    repository, _, named = name.removeprefix(HUB).partition("@")
    revision = revision or named or None
    if revision is not None and not _REVISION.fullmatch(revision):
        expected = "a branch, a tag or a commit"
        raise InputError(f"got {revision!r}", key=f"{name}: revision", expected=expected)
    try:
        files = list(FILES)
        folder = snapshot_download(repository, revision=revision, allow_patterns=files, **options)
    except Exception as error:  # many types: of the network, of the hub, for an invalid name
        raise InputError(
            f"cannot be taken from the Hugging Face hub ({reason(error)})",
            key=name,
            expected=f"a folder, or a model on the hub ({HUB}OWNER/NAME)",
            remedy="check the name, the network and HF_HUB_OFFLINE, and log in if it is private "
            "(`hf auth login`)",
        ) from None
    return Path(folder)


def uploaded(
    folder: Path, repository: str, private: bool | None, token: str | None, **options: Any
) -> str:
    """Upload a folder in one commit; make the repository if it does not exist.

    Args:
        folder: the folder.
        repository: ``OWNER/NAME``.
        private: whether a new repository is private.
        token: the user's token; by default that of ``hf auth login``.
        options: further arguments of `huggingface_hub.HfApi.upload_folder`.

    Returns:
        The address of the commit.

    Raises:
        InputError: the hub does not take it.
    """
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    try:
        made = api.create_repo(repository, private=private, exist_ok=True)
        return str(api.upload_folder(repo_id=made.repo_id, folder_path=folder, **options))
    except Exception as error:  # many types, see `fetched`
        raise InputError(
            f"cannot be uploaded ({reason(error)})",
            key=repository,
            expected="OWNER/NAME",
            remedy="check the network, and log in with `hf auth login`",
        ) from None
