"""Write a checkpoint under a temporary name, read it back, and then replace the old one."""

import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins.io import TorchCheckpointIO

from robustparse.errors import reason
from robustparse.files.writing import writing
from robustparse.models.checkpoint import load_plain
from robustparse.tracking.earlier_runs import list_file


class VerifiedCheckpointIO(TorchCheckpointIO):
    """Writes checkpoints so that a kill or a full disk leaves the old file; reads plain data only.

    Args:
        folder: the folder of a run, whose list of files gets the checkpoints.
    """

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self.folder = folder

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None
    ) -> None:
        """Write the checkpoint under a temporary name in the same folder, check and rename it.

        Raises:
            InputError: the file cannot be written, or is damaged when it is read back.
            RuntimeError: the checkpoint holds more than tensors and plain data.
        """
        path = Path(path)
        if self.folder is not None:
            list_file(self.folder, path)
        # A fixed name, so that a file that a killed process left is overwritten.
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
    """Read a written checkpoint back.

    Raises:
        OSError: the file is damaged or missing.
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
    """Make a rename survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
