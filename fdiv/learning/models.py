"""The networks of the paper, each from images to logits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlparse

import torch
from torch import Tensor, nn

from fdiv.datasets import ImageFiles
from fdiv.datasets.mirrors import offline, said
from fdiv.names import choose

__all__ = [
    "MODELS",
    "WeightsMissing",
    "build_model",
    "cifar_net",
    "cnn",
    "fully_connected",
    "preact_resnet18",
    "resnet50",
    "small_net",
]


def cnn(channels: int = 1, size: int = 28, num_classes: int = 10) -> nn.Sequential:
    """The convolutional net of DMI, which the paper trains on MNIST and Fashion-MNIST (appendix C.5).

    Two convolutions of 5 x 5 without padding, each halved by max pooling, dropout, one linear layer:
    18 378 parameters for images of 28 x 28. The ReLU comes after the pooling, where it has a quarter of the
    work: as it is monotone, the order changes neither an output nor a gradient.
    """
    side = ((size - 4) // 2 - 4) // 2
    if side < 1:
        raise ValueError(f"the CNN needs images of at least 16 x 16 pixels, not {size} x {size}")
    return nn.Sequential(
        nn.Conv2d(channels, 16, kernel_size=5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(32 * side * side, num_classes),
    )


def fully_connected(channels: int = 1, size: int = 28, num_classes: int = 10) -> nn.Sequential:
    """The net on which the paper runs the loss corrections BLC and FLC, from Patrini et al. (2017).

    Two hidden layers of 128 with dropout 0.2 after each, weights drawn as He et al. (2015) suggest:
    118 282 parameters for images of 28 x 28.
    """
    net = nn.Sequential(
        nn.Flatten(),
        nn.Linear(channels * size * size, 128),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(128, 128),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(128, num_classes),
    )
    net.apply(_he_normal)
    return net


def small_net(channels: int = 1, size: int = 8, num_classes: int = 10) -> nn.Sequential:
    """A wide net of one hidden layer for the embedded digits: seconds to train, large enough to memorise."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(channels * size * size, 512), nn.ReLU(), nn.Linear(512, num_classes)
    )


def cifar_net(channels: int = 3, size: int = 32, num_classes: int = 10) -> nn.Sequential:
    """A small convolutional net for CIFAR on a laptop without a GPU; the paper has none like it.

    Four convolutions of 3 x 3 with batch normalisation, the first three halving the image, the mean over the
    image, and one linear layer: 242 474 parameters for ten classes. A first layer at full size would take
    longer than all the others.
    """
    layers: list[nn.Module] = []
    for inputs, outputs, stride in ((channels, 32, 2), (32, 64, 2), (64, 128, 2), (128, 128, 1)):
        layers += [
            nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, num_classes))


class PreActBlock(nn.Module):
    """A residual unit with full pre-activation: x + conv(act(conv(act(x)))), where act is BN and then ReLU.

    activated_shortcut: whether the shortcut starts from act(x) in place of x. He et al. let it where the
        network begins (their appendix); where the shortcut is a convolution it does in every implementation.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, activated_shortcut: bool) -> None:
        super().__init__()
        self.act1 = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU())
        self.conv1 = nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1, bias=False)
        self.act2 = nn.Sequential(nn.BatchNorm2d(outputs), nn.ReLU())
        self.conv2 = nn.Conv2d(outputs, outputs, kernel_size=3, padding=1, bias=False)
        projected = stride != 1 or inputs != outputs
        self.activated_shortcut = activated_shortcut or projected
        self.shortcut = (
            nn.Conv2d(inputs, outputs, kernel_size=1, stride=stride, bias=False)
            if projected
            else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        activated = self.act1(x)
        residual = self.conv2(self.act2(self.conv1(activated)))
        return residual + self.shortcut(activated if self.activated_shortcut else x)


def preact_resnet18(
    channels: int = 3, size: int = 32, num_classes: int = 10, as_authors: bool = False
) -> nn.Sequential:
    """PreAct ResNet-18 (He et al., 2016) for small images, which the paper trains on CIFAR (appendix C.5).

    A convolution, four stages of two units with 64, 128, 256 and 512 maps, each stage but the first halving
    the image, a last activation, the mean over the image, and one linear layer: 11 172 170 parameters for
    ten classes. Weights of the convolutions are drawn as He et al. (2015) suggest.

    as_authors: the network of the authors' program, which departs from He et al. in four places: an
        activation after the first convolution, every shortcut starts from the activated input, no last
        activation, and torch's own initial weights. 11 171 274 parameters.
    """
    layers: list[nn.Module] = [nn.Conv2d(channels, 64, kernel_size=3, padding=1, bias=False)]
    if as_authors:
        layers += [nn.BatchNorm2d(64), nn.ReLU()]
    inputs = 64
    for stage, outputs in enumerate((64, 128, 256, 512)):
        stride = 1 if stage == 0 else 2
        layers += [
            PreActBlock(inputs, outputs, stride, activated_shortcut=as_authors or stage == 0),
            PreActBlock(outputs, outputs, 1, activated_shortcut=as_authors),
        ]
        inputs = outputs
    if not as_authors:
        layers += [nn.BatchNorm2d(512), nn.ReLU()]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, num_classes))
    if not as_authors:
        net.apply(_he_convolution)
    return net


class WeightsMissing(OSError):
    """Weights that others trained are neither on this machine nor to be had; the message says what to do."""


def resnet50(channels: int = 3, size: int = 224, num_classes: int = 14, pretrained: bool = True) -> nn.Module:
    """ResNet-50, trained on ImageNet, with a new last layer: what the paper trains further on Clothing1M.

    torchvision's network and weights; 23 536 718 parameters for fourteen classes.

    pretrained: False leaves the weights random, for tests and where a checkpoint will replace them.
    """
    try:
        from torchvision.models import ResNet50_Weights
        from torchvision.models import resnet50 as build
    except ModuleNotFoundError:
        raise ImportError("ResNet-50 is torchvision's: run  python -m pip install 'fdiv[images]'") from None

    if channels != 3:
        raise ValueError(f"ResNet-50 takes images of 3 channels, not {channels}")
    state = _imagenet_weights(ResNet50_Weights.IMAGENET1K_V1) if pretrained else None
    net = build(weights=None)
    if state is not None:
        net.load_state_dict(state)
    net.fc = nn.Linear(net.fc.in_features, num_classes)
    return net


def _imagenet_weights(weights) -> dict[str, Tensor]:
    """What torchvision's ``weights`` hold, from torch's cache or their host; the hash is in their name."""
    name = Path(urlparse(weights.url).path).name
    path = Path(torch.hub.get_dir(), "checkpoints", name)
    put = (
        f"put {name} into {path.parent}, or choose the model 'resnet-50-random' to start from random weights"
    )
    if path.exists():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if not digest.startswith(path.stem.rpartition("-")[2]):
            raise WeightsMissing(f"{path} is corrupt (sha256 {digest}): delete it")
    elif offline():
        raise WeightsMissing(
            f"the ImageNet weights are not on this machine and FDIV_OFFLINE forbids the network: {put}"
        )
    try:
        return weights.get_state_dict(progress=True, check_hash=True)
    except Exception as error:  # of the network, of the disk, or a hash that is not the published one
        raise WeightsMissing(f"the ImageNet weights could not be fetched ({said(error)}): {put}") from error


MODELS: dict[str, Callable[..., nn.Module]] = {
    "cnn": cnn,
    "fully-connected": fully_connected,
    "small-net": small_net,
    "cifar-net": cifar_net,
    "preact-resnet-18": preact_resnet18,
    "preact-resnet-18-authors": partial(preact_resnet18, as_authors=True),
    "resnet-50": resnet50,
    "resnet-50-random": partial(resnet50, pretrained=False),
}


def build_model(name: str, images: Tensor | ImageFiles, num_classes: int) -> nn.Module:
    """The model called ``name`` for images (n, channels, height, width), its weights drawn by torch.

    Of these, "resnet-50" starts from downloaded weights but for its last layer, see ``resnet50``.
    """
    build = MODELS[choose("model", name, tuple(MODELS))]
    _, channels, height, width = images.shape
    if height != width:
        raise ValueError(f"the models take square images, not {height} x {width}")
    return build(channels=channels, size=height, num_classes=num_classes)


def _he_normal(layer: nn.Module) -> None:
    if isinstance(layer, nn.Linear):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(layer.bias)


def _he_convolution(layer: nn.Module) -> None:
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
