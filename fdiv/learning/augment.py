"""Random changes of images, for a whole batch at once on the device it lives on.

Every image gets its own draw, from torch's generator of the device. Batches are (n, channels, height, width),
of bytes or of floating point numbers, and keep their type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from fdiv.names import Registry

Change = Callable[[Tensor], Tensor]


def unchanged(images: Tensor) -> Tensor:
    """The images as they are."""
    return images


def mirror(images: Tensor) -> Tensor:
    """Every image mirrored, left to right.

    >>> mirror(torch.tensor([[[[1, 2, 3]]]])).tolist()
    [[[[3, 2, 1]]]]
    """
    return images.flip(3)


def shift(images: Tensor, most: int | None = None) -> Tensor:
    """Each image shifted by up to ``most`` pixels, its edge reflected: for signs that no mirror may turn.

    most: by default a fourteenth of the shorter side, at least 1: two pixels of MNIST, one of the digits.

    >>> shift(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 1, 28, 28])
    """
    return _shifted(images, max(1, min(images.shape[2:]) // 14) if most is None else most, mirrored=False)


def shift_flip(images: Tensor, most: int = 2) -> Tensor:
    """Each image shifted by up to ``most`` pixels, its edge reflected, and mirrored every second time.

    A shifted image is read off the images themselves, by row and column; no padded copy is made.

    >>> shift_flip(torch.zeros(5, 3, 32, 32, dtype=torch.uint8)).shape
    torch.Size([5, 3, 32, 32])
    """
    return _shifted(images, most, mirrored=True)


def shift_flip_cut(images: Tensor, most: int = 2) -> Tensor:
    """``shift_flip``, then a square hole in each image, a quarter as wide as its shorter side.

    The hole has the mean colour of its image and its centre anywhere, so some of it may lie outside: what
    DeVries and Taylor (2017) call cutout.

    >>> shift_flip_cut(torch.zeros(5, 3, 32, 32, dtype=torch.uint8)).shape
    torch.Size([5, 3, 32, 32])
    """
    images, (height, width) = shift_flip(images, most), images.shape[2:]
    half = max(1, min(height, width) // 8)
    rows, columns = (_near(images, size, half) for size in (height, width))
    hole = (rows[:, :, None] & columns[:, None, :])[:, None]
    colour = images.mean((2, 3), keepdim=True, dtype=torch.float32).to(images.dtype)
    return torch.where(hole, colour, images)


def _near(images: Tensor, size: int, half: int) -> Tensor:
    """Which of ``size`` places lie within ``half`` of a random one: (n, size), its own draw for each."""
    places = torch.arange(size, device=images.device)
    distance = places - _first(images, 0, size - 1)
    return (-half <= distance) & (distance < half)


def _shifted(images: Tensor, most: int, *, mirrored: bool) -> Tensor:
    height, width = images.shape[2:]
    if min(height, width) <= most:
        raise ValueError(f"a shift by {most} needs images larger than that, not {height} x {width}")
    rows = _reflected(_first(images, -most, most) + torch.arange(height, device=images.device), height)
    across = _first(images, -most, most)
    columns = _columns(images, width) if mirrored else torch.arange(width, device=images.device)
    return _read(images, rows, _reflected(across + columns, width))


def crop_flip(images: Tensor, padding: int = 4) -> Tensor:
    """Each image shifted by up to ``padding`` pixels, filled with 0, and mirrored every second time.

    What CIFAR is trained with since He et al. (2016): random crop of the padded image and horizontal flip.
    """
    return random_windows(torch.nn.functional.pad(images, (padding,) * 4), *images.shape[2:])


def crop_flip_rotate(images: Tensor, padding: int = 4, degrees: float = 15) -> Tensor:
    """``crop_flip``, then a turn by up to ``degrees`` either way: what the authors' program does to CIFAR."""
    images = crop_flip(images, padding)
    return rotate(images, (2 * torch.rand(len(images), device=images.device) - 1) * degrees)


def crop_flip_224(images: Tensor) -> Tensor:
    """A window of 224 x 224 anywhere in each image, mirrored every second time: for Clothing1M."""
    _at_least(images, 224)
    return random_windows(images, 224, 224)


def centre_crop(images: Tensor, size: int = 224) -> Tensor:
    """The middle ``size`` x ``size`` pixels."""
    _at_least(images, size)
    top, left = ((side - size) // 2 for side in images.shape[2:])
    return images[:, :, top : top + size, left : left + size]


def random_windows(images: Tensor, height: int, width: int) -> Tensor:
    """A window of this size anywhere in each image, mirrored every second time."""
    full_height, full_width = images.shape[2:]
    rows = _first(images, 0, full_height - height) + torch.arange(height, device=images.device)
    columns = _first(images, 0, full_width - width) + _columns(images, width)
    return _read(images, rows, columns)


def _first(images: Tensor, low: int, high: int) -> Tensor:
    """For each image a whole number from ``low`` to ``high``, both included."""
    return torch.randint(low, high + 1, (len(images), 1), device=images.device)


def _columns(images: Tensor, width: int) -> Tensor:
    """For each image 0 .. width - 1, backwards every second time."""
    columns = torch.arange(width, device=images.device)
    mirrored = torch.rand(len(images), 1, device=images.device) < 0.5
    return torch.where(mirrored, width - 1 - columns, columns)


def _reflected(places: Tensor, size: int) -> Tensor:
    """Places before 0 and from ``size`` on, thrown back inside; the edge itself is not doubled."""
    return (size - 1) - ((size - 1) - places.abs()).abs()


def _read(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The pixels in the rows (n, height) and columns (n, width) of each image."""
    count, channels = images.shape[:2]
    return images[
        torch.arange(count, device=images.device)[:, None, None, None],
        torch.arange(channels, device=images.device)[None, :, None, None],
        rows[:, None, :, None],
        columns[:, None, None, :],
    ]


def rotate(images: Tensor, degrees: Tensor) -> Tensor:
    """Each image turned counterclockwise about its centre by its own angle, and 0 where nothing was.

    A pixel takes the value of the nearest one, as torchvision's RandomRotation does unless told otherwise.
    """
    height, width = images.shape[2:]
    angle = torch.deg2rad(degrees)
    cos, sin, zero = angle.cos(), angle.sin(), torch.zeros_like(angle)
    # affine_grid measures both axes from -1 to 1, so a turn of a rectangle is skewed by its proportions.
    turn = torch.stack([cos, -sin * height / width, zero, sin * width / height, cos, zero], dim=1).view(
        -1, 2, 3
    )
    pixels = images if images.is_floating_point() else images.float()
    grid = torch.nn.functional.affine_grid(turn.to(pixels.dtype), list(images.shape), align_corners=False)
    turned = torch.nn.functional.grid_sample(pixels, grid, mode="nearest", align_corners=False)
    return turned.to(images.dtype)


@dataclass(frozen=True)
class Augmentation:
    """Two ways to prepare a batch: ``train`` is random, ``test`` is not; both give images of one size."""

    name: str
    train: Change
    test: Change = unchanged


AUGMENTATIONS: Registry[Augmentation] = Registry(
    "augmentation",
    (
        Augmentation("none", unchanged),
        Augmentation("shift", shift),
        Augmentation("shift-flip", shift_flip),
        Augmentation("shift-flip-cut", shift_flip_cut),
        Augmentation("crop-flip", crop_flip),
        Augmentation("crop-flip-rotate", crop_flip_rotate),
        Augmentation("crop224-flip", crop_flip_224, centre_crop),
    ),
)


def _at_least(images: Tensor, size: int) -> None:
    height, width = images.shape[2:]
    if min(height, width) < size:
        raise ValueError(
            f"a crop of {size} x {size} needs images of at least that size, not {height} x {width}"
        )
