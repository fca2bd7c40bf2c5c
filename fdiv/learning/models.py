"""The networks of the paper, each from images to logits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from fdiv.datasets import DatasetMissing, ImageFiles, mirrors
from fdiv.datasets.features import torchvision_models
from fdiv.names import choose

WHITENING_FLOOR = 5e-4  # added to each eigenvalue, so that directions without content are not blown up
BN_MOMENTUM = 0.4  # so few steps need averages that follow soon


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
    for layer in net:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
    return net


def small_net(channels: int = 1, size: int = 8, num_classes: int = 10) -> nn.Sequential:
    """A wide net of one hidden layer for the embedded digits: seconds to train, large enough to memorise."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(channels * size * size, 512), nn.ReLU(), nn.Linear(512, num_classes)
    )


def linear(channels: int = 256, size: int = 1, num_classes: int = 10) -> nn.Sequential:
    """One linear layer, for frozen features: logistic regression, whichever the loss."""
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * size * size, num_classes))


def mlp_head(channels: int = 256, size: int = 1, num_classes: int = 10) -> nn.Sequential:
    """A hidden layer of 256 for frozen features: 68 362 parameters for 256 features and ten classes."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(channels * size * size, 256), nn.ReLU(), nn.Linear(256, num_classes)
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


class Whitening(nn.Module):
    """A fixed convolution of 2 x 2 whose outputs are uncorrelated and alike in size, and their negatives.

    Its filters are the eigenvectors of the covariance of the training images' patches, each divided by the
    square root of its eigenvalue. They are computed once, see ``prepare``, and never trained; before that the
    pixels of a patch are passed on as they are. As a ReLU follows, each filter comes with its negative.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        pixels = torch.eye(4 * channels).view(-1, channels, 2, 2)
        self.register_buffer("weight", torch.cat([pixels, -pixels]))

    weight: Tensor

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.conv2d(x, self.weight)

    @torch.no_grad()
    def prepare(self, images: Tensor) -> None:
        """Compute the filters from ``images`` as the network is given them."""
        # float64 on the CPU, as not every device has it
        pixels = images.cpu().double()
        patches = nn.functional.unfold(pixels, kernel_size=2).transpose(1, 2).flatten(0, 1)
        patches = patches - patches.mean(0)
        sizes, directions = torch.linalg.eigh(patches.T @ patches / len(patches))
        filters = (directions / (sizes + WHITENING_FLOOR).sqrt()).T
        # an eigenvector is known up to its sign: let its largest entry be positive, on every machine
        largest = filters.gather(1, filters.abs().argmax(1, keepdim=True))
        filters = (filters * largest.sign()).view(-1, *self.weight.shape[1:])
        self.weight.copy_(torch.cat([filters, -filters]))


class ScaledLinear(nn.Linear):
    """A linear layer without bias whose outputs are multiplied by ``scale``, in float32 at any precision."""

    def __init__(self, inputs: int, outputs: int, scale: float) -> None:
        super().__init__(inputs, outputs, bias=False)
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):  # two classes are rarely alike in all 24 bits
            return self.scale * super().forward(x.to(self.weight.dtype))


def fast_net(
    channels: int = 3, size: int = 32, num_classes: int = 10, widths: tuple[int, ...] = (64, 128, 256)
) -> nn.Sequential:
    """A network for CIFAR that learns in few epochs, and so within minutes on a CPU; the paper has none.

    Whitened patches of 2 x 2, three blocks of two convolutions of 3 x 3, each halving the image, the maximum
    over what is left of it, and one linear layer without bias, its outputs scaled down: 1 160 960 parameters
    for ten classes. Its ideas are those of David Page's "How to train your ResNet" (DAWNBench, 2018: the
    whitened patches, pooling before batch normalisation, the small scale of the outputs, the triangular
    schedule) and Keller Jordan's airbench (2024: the three blocks, their first maps an identity).

    widths: the maps of each block.
    """
    smallest = 2 ** len(widths) + 1
    if size < smallest:
        raise ValueError(
            f"the fast net needs images of at least {smallest} x {smallest}, not {size} x {size}"
        )
    layers: list[nn.Module] = [Whitening(channels), nn.ReLU()]
    inputs = 8 * channels
    for outputs in widths:
        layers += [
            _passing_on(inputs, outputs),
            nn.MaxPool2d(2),  # before the normalisation, which then has a quarter of the work
            nn.BatchNorm2d(outputs, momentum=BN_MOMENTUM),
            nn.ReLU(),
            _passing_on(outputs, outputs),
            nn.BatchNorm2d(outputs, momentum=BN_MOMENTUM),
            nn.ReLU(),
        ]
        inputs = outputs
    head = ScaledLinear(inputs, num_classes, scale=1 / 9)
    return nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), head)


def _passing_on(inputs: int, outputs: int) -> nn.Conv2d:
    """Return a 3 x 3 convolution that starts as a copy of its inputs; its further maps start at random."""
    convolution = nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False)
    kept = min(inputs, outputs)
    with torch.no_grad():
        convolution.weight[:kept] = 0
        convolution.weight[:kept, :, 1, 1] = torch.eye(kept, inputs)
    return convolution


def prepare(model: nn.Module, images: Tensor) -> None:
    """Let the layers that depend on the data see some of it, once, before the first step of a training.

    Only the fast net has such a layer; what it computes is part of the model's state and the same for the
    same images.

    images: some thousand training images as the model is given them, that is normalised and of its size.

    >>> model = fast_net()
    >>> images = torch.rand(50, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    >>> prepare(model, images)
    >>> whitened = model[0](images)[:, :12].transpose(0, 1).flatten(1)
    >>> round(torch.cov(whitened)[0, 0].item(), 1), round(torch.cov(whitened)[0, 1].item(), 1)
    (1.0, 0.0)
    """
    for layer in model.modules():
        if isinstance(layer, Whitening):
            layer.prepare(images)


def looks_at_data(model: nn.Module) -> bool:
    """Return whether ``model`` has a layer for ``prepare``.

    >>> looks_at_data(fast_net()), looks_at_data(cnn())
    (True, False)
    """
    return any(isinstance(layer, Whitening) for layer in model.modules())


class PreActBlock(nn.Module):
    """A residual unit with full pre-activation: x + conv(act(conv(act(x)))), where act is BN and then ReLU.

    activated_shortcut: whether the shortcut starts from act(x) in place of x. True for the
        network's first block (He et al., appendix). A shortcut that is a convolution always starts there.
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
        for layer in net.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return net


def resnet50(channels: int = 3, size: int = 224, num_classes: int = 14, pretrained: bool = True) -> nn.Module:
    """ResNet-50, trained on ImageNet, with a new last layer: what the paper trains further on Clothing1M.

    torchvision's network and weights; 23 536 718 parameters for fourteen classes.

    pretrained: False leaves the weights random, for tests and where a checkpoint will replace them.
    """
    models = torchvision_models("ResNet-50")
    if channels != 3:
        raise ValueError(f"ResNet-50 takes images of 3 channels, not {channels}")
    state = None
    if pretrained:
        try:
            state = mirrors.obtain("ResNet-50", (mirrors.RESNET50,))
        except DatasetMissing as error:
            random = "choose the model 'resnet-50-random' to start from random weights"
            raise DatasetMissing(f"{error}, or {random}") from error
    net = models.resnet50(weights=None)
    if state is not None:
        net.load_state_dict(state)
    net.fc = nn.Linear(net.fc.in_features, num_classes)
    return net


MODELS: dict[str, Callable[..., nn.Module]] = {
    "cnn": cnn,
    "fully-connected": fully_connected,
    "small-net": small_net,
    "linear": linear,
    "mlp-head": mlp_head,
    "cifar-net": cifar_net,
    "fast-net": fast_net,
    "preact-resnet-18": preact_resnet18,
    "preact-resnet-18-authors": partial(preact_resnet18, as_authors=True),
    "resnet-50": resnet50,
    "resnet-50-random": partial(resnet50, pretrained=False),
}


SQUARE = frozenset(MODELS) - {"cifar-net"}  # the others take any height and width
TORCHVISION = "torchvision/"


def build_model(name: str, images: Tensor | ImageFiles, num_classes: int) -> nn.Module:
    """The model called ``name`` for images (n, channels, height, width), its weights drawn by torch.

    name: a name of ``MODELS``, to which functions of one's own can be added, or one of torchvision's, such as
        "torchvision/resnet18".

    Of these, "resnet-50" starts from downloaded weights but for its last layer, see ``resnet50``.

    >>> sum(weights.numel() for weights in build_model("cnn", torch.empty(0, 1, 28, 28), 10).parameters())
    18378
    """
    _, channels, height, width = images.shape
    if name.startswith(TORCHVISION):
        theirs = name.removeprefix(TORCHVISION)
        models = torchvision_models(theirs)
        theirs = choose("torchvision model", theirs, models.list_models(models))
        return models.get_model(theirs, num_classes=num_classes)
    name = choose("model", name, tuple(MODELS))
    if height != width and name in SQUARE:
        raise ValueError(
            f"the model {name!r} takes square images, not {height} x {width}: choose 'cifar-net',"
            f" '{TORCHVISION}resnet18' or the like"
        )
    return MODELS[name](channels=channels, size=height, num_classes=num_classes)
