"""A few real images with their noisy labels, small enough to be kept in the repository.

``python -m fdiv.course.samples`` reads MNIST and Fashion-MNIST and writes the first images of their training
sets with their labels to data/figures/samples.npz. MNIST (Y. LeCun, C. Cortes) is under CC BY-SA 3.0 and
Fashion-MNIST (Zalando SE) under the MIT licence, which allow it. The photographs of CIFAR-10 have no explicit
licence, so none are kept: ``photographs_figure`` draws them where the dataset itself is there. In their place
stand pieces of two photographs that come with scikit-learn, both under CC BY 2.0: a temple by danielbuechele
(flickr.com/photos/danielbuechele/6061409035) and a dahlia by vultilion
(flickr.com/photos/vultilion/6056698931), cut and shrunk to the size of CIFAR-10's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor, from_numpy

from fdiv.datasets import noise_settings, noisy_data
from fdiv.files import ROOT, replacing
from fdiv.names import choose

if TYPE_CHECKING:
    import plotly.graph_objects as go

FILE = ROOT / "data" / "figures" / "samples.npz"
KEPT = ("mnist", "fashion-mnist")
COUNT = 40
CLOTHES = ["T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
PIECES = {  # of a photograph: file, top, left, and size in pixels
    "temple": [("china.jpg", 0, 0, 416), ("china.jpg", 40, 32, 256), ("china.jpg", 100, 60, 256)],
    "lake": [("china.jpg", 170, 380, 256), ("china.jpg", 190, 300, 224)],
    "flower": [("flower.jpg", 0, 180, 416), ("flower.jpg", 20, 190, 320), ("flower.jpg", 90, 240, 224)],
}
THINGS = ["plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@dataclass(frozen=True)
class Samples:
    """The first images of a training set: grey pixels from 0 to 255, their clean and their noisy labels."""

    images: np.ndarray
    clean: np.ndarray
    noisy: np.ndarray

    def captions(self, names: Sequence[str] | None = None) -> list[str]:
        """Return the label each image is given, in bold where it is wrong, with what the image shows."""
        said = [str(k) for k in range(10)] if names is None else names
        return [
            said[n] if n == c else f"<b>{said[n]}</b><br>({said[c]})"
            for n, c in zip(self.noisy, self.clean, strict=True)
        ]


def image_samples(dataset: str, noise: str) -> Samples:
    """Return a few images of a dataset with the labels that a run under ``noise`` is trained on.

    >>> some = image_samples("mnist", "uniform-high")
    >>> some.images.shape, bool((some.clean == some.noisy).all())
    ((40, 28, 28), False)
    """
    dataset = choose("dataset with kept samples", dataset, KEPT)
    with np.load(FILE) as kept:
        settings = tuple(name.split("/")[1] for name in kept if name.startswith(f"{dataset}/"))
        noise = choose(f"setting with kept labels of {dataset}", noise, tuple(set(settings) - {"images"}))
        return Samples(*(kept[f"{dataset}/{part}"] for part in ("images", "clean", noise)))


def photographs() -> tuple[Tensor, list[str]]:
    """Return small colour pictures of a temple, a lake and a flower, (n, 3, 32, 32), and what each shows.

    >>> pictures, names = photographs()
    >>> pictures.shape, names[0]
    (torch.Size([8, 3, 32, 32]), 'temple')
    """
    with np.load(FILE) as kept:
        return from_numpy(kept["photographs/images"]), [name for name in PIECES for _ in PIECES[name]]


def _pieces() -> np.ndarray:
    """Cut the photographs of scikit-learn, and shrink each piece to 32 x 32 pixels by averages."""
    from sklearn.datasets import load_sample_image

    pieces = []
    for name, top, left, size in (piece for pieces in PIECES.values() for piece in pieces):
        piece = load_sample_image(name)[top : top + size, left : left + size]
        pieces.append(piece.reshape(32, size // 32, 32, size // 32, 3).mean(axis=(1, 3)).astype(np.uint8))
    return np.stack(pieces).transpose(0, 3, 1, 2)


def write() -> None:
    """Write the samples of every dataset whose licence allows it, under each noise setting of the paper."""
    arrays = {"photographs/images": _pieces()}
    for dataset in KEPT:
        for noise in noise_settings(dataset):
            split = noisy_data(dataset, noise).split
            arrays[f"{dataset}/images"] = split.train_images[:COUNT, 0].numpy()
            arrays[f"{dataset}/{noise}"] = split.train_labels[:COUNT].numpy().astype(np.uint8)
    with replacing(FILE) as path, open(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def photographs_figure(images: Tensor, captions: Sequence[str], *, title: str, columns: int = 8) -> go.Figure:
    """Return colour images, shape (n, 3, height, width) in 0 .. 255, in a grid with a caption above each.

    >>> import torch
    >>> figure = photographs_figure(torch.zeros(2, 3, 32, 32), ["cat", "dog"], title="Two pictures")
    >>> [note.text for note in figure.layout.annotations]
    ['cat', 'dog']
    """
    import plotly.graph_objects as go

    pixels = images.permute(0, 2, 3, 1).numpy()
    count, high, wide, _ = pixels.shape
    above, between = high // 2, wide // 8
    rows = -(-count // columns)
    canvas = np.full((rows * (high + above), columns * (wide + between), 3), 255, dtype=np.uint8)
    figure = go.Figure()
    for index, (pixel, caption) in enumerate(zip(pixels, captions, strict=True)):
        top, left = index // columns * (high + above) + above, index % columns * (wide + between)
        canvas[top : top + high, left : left + wide] = pixel
        figure.add_annotation(x=left + wide / 2, y=top - 1, text=caption, showarrow=False, yanchor="bottom")
    figure.add_trace(go.Image(z=canvas, hoverinfo="skip"))
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure.update_layout(title=title, height=70 + 105 * rows, margin={"l": 10, "r": 10, "b": 10})


if __name__ == "__main__":
    write()
