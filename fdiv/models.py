"""The networks of the paper, each from images to logits."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from fdiv.names import choose

__all__ = ["MODELS", "build_model", "cnn", "fully_connected", "small_net"]


def cnn(channels: int = 1, size: int = 28, num_classes: int = 10) -> nn.Sequential:
    """The convolutional net of DMI, which the paper trains on MNIST and Fashion-MNIST (appendix C.5).

    Two convolutions of 5 x 5 without padding, each halved by max pooling, dropout, one linear layer:
    18 378 parameters for images of 28 x 28.
    """
    side = ((size - 4) // 2 - 4) // 2
    if side < 1:
        raise ValueError(f"the CNN needs images of at least 16 x 16 pixels, not {size} x {size}")
    return nn.Sequential(
        nn.Conv2d(channels, 16, kernel_size=5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, kernel_size=5),
        nn.ReLU(),
        nn.MaxPool2d(2),
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


MODELS: dict[str, Callable[..., nn.Module]] = {
    "cnn": cnn,
    "fully-connected": fully_connected,
    "small-net": small_net,
}


def build_model(name: str, images: Tensor, num_classes: int) -> nn.Module:
    """The model called ``name`` for images (n, channels, height, width), its weights drawn by torch."""
    build = MODELS[choose("model", name, tuple(MODELS))]
    _, channels, height, width = images.shape
    if height != width:
        raise ValueError(f"the models take square images, not {height} x {width}")
    return build(channels=channels, size=height, num_classes=num_classes)


def _he_normal(layer: nn.Module) -> None:
    if isinstance(layer, nn.Linear):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(layer.bias)
