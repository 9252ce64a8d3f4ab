"""Write checkpoints aside, read them back, and only then let them replace the old one."""

import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins.io import TorchCheckpointIO

from robustparse.errors import reason
from robustparse.files import writing
from robustparse.models.checkpoint import load_plain
from robustparse.tracking.earlier import list_file


class VerifiedCheckpointIO(TorchCheckpointIO):
    """Lightning's checkpoint files, written so that a kill or a full disk leaves the old one.

    Reading never unpickles more than tensors and plain data.

    Args:
        folder: of a run, which lists the checkpoints that it has written there.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self.folder = folder

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None
    ) -> None:
        """Write the checkpoint aside in the same folder, read it back, rename it.

        Raises:
            InputError: the file cannot be written, or is damaged when it is read back.
            RuntimeError: the checkpoint holds more than tensors and plain data.
        """
        path = Path(path)
        if self.folder is not None:
            list_file(self.folder, path)
        # One name, not a random one: what a killed process left is overwritten by the next.
        aside = path.with_name(f".{path.name}.part")
        content = io.BytesIO()
        torch.save(checkpoint, content)
        try:
            with writing(path, remedy="make room and resume with --ckpt_path last"):
                path.parent.mkdir(parents=True, exist_ok=True)
                with aside.open("wb") as file:
                    file.write(content.getbuffer())
                    file.flush()
                    os.fsync(file.fileno())
                _verify(aside)
                aside.replace(path)
                _sync_folder(path.parent)
        finally:
            with suppress(OSError):  # such as a folder that cannot be made: already reported
                aside.unlink()

    def load_checkpoint(
        self, path: str | Path, map_location: Any = "cpu", weights_only: bool | None = True
    ) -> dict[str, Any]:
        """Read a checkpoint and check it; ``weights_only`` is always on."""
        content: dict[str, Any] = load_plain(Path(path), map_location)
        return content


def _verify(path: Path) -> None:
    """Read back what was written.

    Raises:
        OSError: the disk gives back something else, or nothing.
        RuntimeError: the checkpoint holds more than tensors and plain data.
    """
    try:
        load_plain(path)
    except OSError:
        raise
    except zipfile.BadZipFile as error:
        raise OSError(f"damaged when read back: {error}") from error
    except Exception as error:
        raise RuntimeError(
            "a checkpoint could not be read back; a callback or module keeps more than "
            f"tensors and plain data in its state: {reason(error)}"
        ) from error


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
