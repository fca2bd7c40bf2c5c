"""The networks: their shapes, sizes and what they refuse."""

import pytest
import torch
from torch import nn

from fdiv.augment import crop_flip
from fdiv.models import MODELS, build_model, cnn, fully_connected


def parameters(model):
    return sum(p.numel() for p in model.parameters())


def test_sizes_of_the_papers_networks():
    # official.md 1.6: two 5 x 5 convolutions to 16 and 32 maps, then 512 -> 10
    assert parameters(cnn()) == (25 + 1) * 16 + (16 * 25 + 1) * 32 + (512 + 1) * 10
    # Patrini et al.: 784-128-128-10
    assert parameters(fully_connected()) == 785 * 128 + 129 * 128 + 129 * 10


def test_the_cnn_is_layer_by_layer_the_one_of_dmi():
    layers = [(type(layer), getattr(layer, "p", None)) for layer in cnn()]
    assert [kind for kind, _ in layers] == [
        nn.Conv2d, nn.ReLU, nn.MaxPool2d, nn.Conv2d, nn.ReLU, nn.MaxPool2d, nn.Flatten, nn.Dropout, nn.Linear,
    ]  # fmt: skip
    assert layers[7][1] == 0.5
    assert [layer.p for layer in fully_connected() if isinstance(layer, nn.Dropout)] == [0.2, 0.2]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("channels", "size", "classes"), [(1, 28, 10), (3, 32, 100), (1, 16, 2)])
def test_every_model_maps_images_to_logits(name, channels, size, classes):
    images = torch.zeros(5, channels, size, size)
    assert build_model(name, images, classes)(images).shape == (5, classes)


def test_he_initialisation_of_the_fully_connected_net():
    torch.manual_seed(0)
    first = fully_connected()[1]
    assert first.weight.std().item() == pytest.approx((2 / 784) ** 0.5, rel=0.02)
    assert not first.bias.any()


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("cnnn", (1, 1, 28, 28), r"no model is called 'cnnn' \(did you mean 'cnn'\?\); choose from cnn, "),
        ("cnn", (1, 1, 8, 8), "at least 16 x 16 pixels, not 8 x 8"),
        ("cnn", (1, 1, 28, 30), "square images, not 28 x 30"),
    ],
)
def test_what_cannot_be_built(name, shape, message):
    with pytest.raises(ValueError, match=message):
        build_model(name, torch.zeros(shape), 10)


def test_crops_are_windows_of_the_padded_image_some_mirrored():
    torch.manual_seed(0)
    image = torch.arange(1, 2 * 6 * 6 + 1, dtype=torch.uint8).view(1, 2, 6, 6)
    padded = torch.nn.functional.pad(image, (2, 2, 2, 2))[0]
    windows = {}
    for top in range(5):
        for left in range(5):
            window = padded[:, top : top + 6, left : left + 6]
            windows[window.numpy().tobytes()] = (top, left, False)
            windows[window.flip(2).numpy().tobytes()] = (top, left, True)
    seen = [windows[crop.numpy().tobytes()] for crop in crop_flip(image.expand(2000, -1, -1, -1), padding=2)]
    assert set(seen) == set(windows.values())
    assert sum(mirrored for *_, mirrored in seen) == pytest.approx(1000, abs=100)
