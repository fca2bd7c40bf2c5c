"""Images that stay on the disk, for datasets that are too large for the memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from fdiv.device import usable_cores


class BrokenImage(OSError):
    """An image is not there or cannot be decoded; the message names it.

    >>> issubclass(BrokenImage, OSError)
    True
    """


def default_workers() -> int:
    """Return the default number of processes that decode images: one for each core, at most eight.

    >>> 1 <= default_workers() <= 8
    True
    """
    return min(8, usable_cores())


class ImageFiles:
    """The images at ``paths``, each decoded on demand, in place of a tensor that holds them all.

    ``files[3]`` is one image, uint8 of shape (3, size, size); ``files[10:20]`` or ``files[indices]`` are
    some of the files, and nothing is read. ``shape`` is that of the tensor in whose place they stand.

    size: every image is made colour and resized to ``size`` x ``size``, or to (height, width), whatever its
        proportions were.

    >>> ImageFiles(["one.jpg", "two.jpg", "three.jpg"], size=32)[1:].shape
    torch.Size([2, 3, 32, 32])
    """

    def __init__(self, paths: Sequence[str | Path], size: int | tuple[int, int] = 256) -> None:
        # One block of bytes: a million Path objects are large, and forked workers would copy each of them.
        self._paths = np.array([os.fsencode(path) for path in paths], dtype=np.bytes_)
        self.size = size

    def __len__(self) -> int:
        return len(self._paths)

    def __repr__(self) -> str:
        return f"ImageFiles({len(self)} images of {self.shape[2]} x {self.shape[3]})"

    @property
    def shape(self) -> torch.Size:
        """(n, 3, height, width), as of a tensor."""
        return torch.Size((len(self), 3, *_height_and_width(self.size)))

    def names(self) -> bytes:
        """Return all paths in one string of bytes, which tells one collection from another."""
        return self._paths.tobytes()

    def path(self, index: int) -> Path:
        """Return the path of one image."""
        return Path(os.fsdecode(bytes(self._paths[index])))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Tensor):
            index = index.cpu().numpy()
        if not isinstance(index, slice) and np.ndim(index) == 0:
            return read_image(self.path(int(index)), self.size)
        part = ImageFiles((), self.size)
        if not isinstance(index, slice):
            index = np.asarray(index)
            index = index if index.size else index.astype(np.int64)  # NumPy makes an empty list float64
        part._paths = self._paths[index]
        return part

    def batches(
        self, index_batches: Iterable[Sequence[int] | Tensor], workers: int = 0, pin_memory: bool = False
    ) -> Iterator[Tensor]:
        """Yield the images of each of ``index_batches``, in their order, as one uint8 tensor on the CPU.

        workers: the number of processes that decode ahead, a few batches each; 0 decodes in this process.
            See ``default_workers``.
        pin_memory: whether batches lie in memory that a GPU can copy from while it computes.
        """
        loader = DataLoader(
            _Decoder(self),
            batch_sampler=(torch.as_tensor(batch).tolist() for batch in index_batches),
            collate_fn=_stack,
            num_workers=workers,
            pin_memory=pin_memory,
            generator=torch.Generator(),  # the loader's seed must not come from training's generator
        )
        for batch in loader:
            if isinstance(batch, str):
                raise BrokenImage(batch)
            yield batch


def _height_and_width(size: int | tuple[int, int]) -> tuple[int, int]:
    return size if isinstance(size, tuple) else (size, size)


def read_image(path: Path, size: int | tuple[int, int]) -> Tensor:
    """Return the image as uint8 (3, height, width), or raise ``BrokenImage``: a sentence with its path."""
    from PIL import Image

    height, width = _height_and_width(size)

    try:
        with opened(path) as image:
            pixels = np.array(in_colour(image).resize((width, height), Image.Resampling.BILINEAR))
    except FileNotFoundError:
        raise BrokenImage(f"the image {path} is not there") from None
    except Exception as error:  # Pillow raises whatever its decoder happened to run into
        raise BrokenImage(f"the image {path} cannot be read ({' '.join(str(error).split())})") from None
    return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()


@contextmanager
def opened(path: Any) -> Iterator[Any]:
    """Open a picture with Pillow, which refuses one of more than 179 million pixels as a bomb.

    From half of that it warns; cameras take such pictures by now, so that the warning is left out.
    """
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        image = Image.open(path)
    with image:
        yield image


def in_colour(image: Any) -> Any:
    """Return a picture of Pillow's in eight bits of red, green and blue.

    Pillow itself would cut off all that is beyond 255: a scan of sixteen bits would become white, and
    fractions from 0 to 1 black.

    >>> from PIL import Image
    >>> in_colour(Image.new("I;16", (1, 1), 32896)).getpixel((0, 0))
    (128, 128, 128)
    """
    from PIL import Image

    if image.mode not in ("I", "F") and not image.mode.startswith("I;16"):
        return image.convert("RGB")
    pixels = np.nan_to_num(np.asarray(image, dtype=np.float64))
    pixels -= min(pixels.min(), 0)
    most = pixels.max()
    if image.mode.startswith("I;16") or (image.mode == "I" and 255 < most <= 65535):
        most = 65535
    elif most <= 255:
        most = 1 if image.mode == "F" and most <= 1 else 255
    return Image.fromarray((pixels * (255 / most)).round().astype(np.uint8)).convert("RGB")


class _Decoder(TorchDataset):
    """The images for a worker process, with the message in the place of a broken image.

    An exception from a worker would arrive as a page-long traceback.
    """

    def __init__(self, files: ImageFiles) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Tensor | str:
        try:
            return self.files[index]
        except BrokenImage as error:
            return str(error)


def _stack(images: list[Any]) -> Tensor | str:
    """Return one tensor of all images, or the first message about a broken one."""
    return next((image for image in images if isinstance(image, str)), None) or torch.stack(images)
