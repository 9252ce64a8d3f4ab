"""What commands compute on: ``--device`` names the kind, ``--devices`` counts the processes."""

import re

from robustparse.devices import gpus
from robustparse.errors import InputError


def process_device(device: str, rank: int, count: int) -> str:
    """Return what one of several processes of this machine is given as its ``--device``.

    Args:
        device: as given: ``auto`` takes GPUs where there are any, ``cuda`` GPUs, ``cpu`` none.
        rank: of the process, from 0; it gets the GPU of this number.
        count: of the processes.

    Raises:
        InputError: fewer than one process, more processes than GPUs, or one GPU named for all.
    """
    if count < 1:
        raise InputError(f"--devices must be >= 1, got {count}")
    if count == 1:
        return device
    if re.fullmatch("cuda:[0-9]+", device):
        raise InputError(
            f"--device {device} names one GPU, and there are {count} processes; give --device cuda "
            "(process i takes GPU i; CUDA_VISIBLE_DEVICES chooses which there are), or one process"
        )
    if device == "cuda" or (device == "auto" and gpus()):
        if count > gpus():
            raise InputError(
                f"--devices {count}: this machine has {gpus()} GPUs that torch can use; give at "
                "most as many, or --device cpu for processes without one"
            )
        return f"cuda:{rank}"
    return device
