"""Random changes of images, for a whole batch at once on the device it lives on."""

from __future__ import annotations

import torch
from torch import Tensor

AUGMENTATIONS = ("none", "crop-flip")


def crop_flip(images: Tensor, padding: int = 4) -> Tensor:
    """Each image shifted by up to ``padding`` pixels, filled with 0, and mirrored every second time.

    What CIFAR is trained with since He et al. (2016): random crop of the padded image and horizontal flip,
    drawn for every image on its own from torch's generator of the device.
    """
    count, channels, height, width = images.shape
    device = images.device
    padded = torch.nn.functional.pad(images, (padding,) * 4)
    top, left = torch.randint(0, 2 * padding + 1, (2, count, 1), device=device)
    rows = top + torch.arange(height, device=device)
    columns = torch.arange(width, device=device).expand(count, width)
    mirrored = torch.rand(count, 1, device=device) < 0.5
    columns = left + torch.where(mirrored, width - 1 - columns, columns)
    return padded[
        torch.arange(count, device=device)[:, None, None, None],
        torch.arange(channels, device=device)[None, :, None, None],
        rows[:, None, :, None],
        columns[:, None, None, :],
    ]
