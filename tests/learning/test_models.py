"""The networks: their shapes, sizes, shortcuts and what they refuse."""

import argparse
import dataclasses
import io
import pickle
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
import torchvision
from torch import nn

from fdiv.datasets import DatasetMissing, ImageFiles, mirrors
from fdiv.learning.models import (
    MODELS,
    PreActBlock,
    build_model,
    cifar_net,
    cnn,
    fast_net,
    fully_connected,
    preact_resnet18,
    prepare,
    resnet50,
)

ANY_IMAGE = [name for name in MODELS if not name.startswith("resnet-50")]
RESIDUAL = [False, True]


@pytest.fixture(autouse=True)
def weights_folder(tmp_path, monkeypatch) -> Path:
    """Where torch would keep downloaded weights: empty, as the cache is, and no network to fill it."""
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    monkeypatch.setenv("FDIV_DATA", str(tmp_path / "cache"))
    previous = torch.hub.get_dir()
    torch.hub.set_dir(tmp_path / "hub")
    yield tmp_path / "hub" / "checkpoints"
    torch.hub.set_dir(previous)


def parameters(model):
    return sum(p.numel() for p in model.parameters())


def test_sizes_of_the_papers_networks():
    # official.md 1.6: two 5 x 5 convolutions to 16 and 32 maps, then 512 -> 10
    assert parameters(cnn()) == (25 + 1) * 16 + (16 * 25 + 1) * 32 + (512 + 1) * 10
    # Patrini et al.: 784-128-128-10
    assert parameters(fully_connected()) == 785 * 128 + 129 * 128 + 129 * 10


def preact_count(num_classes: int, channels: int = 3) -> int:
    """Parameters of PreAct ResNet-18 without any BN outside its units, counted unit by unit."""
    total = 9 * channels * 64 + (512 + 1) * num_classes
    for inputs, outputs in [(64, 64), (64, 128), (128, 256), (256, 512)]:
        first = 2 * inputs + 9 * inputs * outputs + 2 * outputs + 9 * outputs * outputs
        shortcut = inputs * outputs if inputs != outputs else 0
        second = 2 * (2 * outputs + 9 * outputs * outputs)
        total += first + shortcut + second
    return total


def test_size_of_the_preact_resnet():
    assert preact_count(10) == 11_171_146  # as often quoted, for the net without a last BN
    assert parameters(preact_resnet18()) == preact_count(10) + 2 * 512 == 11_172_170
    assert parameters(preact_resnet18(as_authors=True)) == preact_count(10) + 2 * 64 == 11_171_274
    assert parameters(preact_resnet18(num_classes=100)) == preact_count(100) + 2 * 512
    assert parameters(preact_resnet18(channels=1)) == preact_count(10, channels=1) + 2 * 512


def test_size_of_resnet50():
    theirs = parameters(torchvision.models.resnet50(weights=None))
    assert theirs == 25_557_032  # as torchvision documents
    assert parameters(resnet50(pretrained=False)) == theirs - 2049 * 1000 + 2049 * 14 == 23_536_718


def test_the_cnn_and_its_gradients_are_those_of_dmi_where_each_relu_comes_before_its_pooling():
    net = cnn()
    assert [type(layer) for layer in net] == [
        nn.Conv2d, nn.MaxPool2d, nn.ReLU, nn.Conv2d, nn.MaxPool2d, nn.ReLU, nn.Flatten, nn.Dropout, nn.Linear,
    ]  # fmt: skip
    assert net[7].p == 0.5
    images = torch.randn(20, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    answers = []
    for model in (net, nn.Sequential(*(net[i] for i in (0, 2, 1, 3, 5, 4, 6, 7, 8)))):
        torch.manual_seed(0)
        logits = model(images)
        answers.append([logits, *torch.autograd.grad(logits.square().sum(), list(net.parameters()))])
    assert all(torch.equal(ours, dmi) for ours, dmi in zip(*answers, strict=True))


def test_the_fully_connected_net_drops_a_fifth_after_each_hidden_layer():
    assert [layer.p for layer in fully_connected() if isinstance(layer, nn.Dropout)] == [0.2, 0.2]


@pytest.mark.parametrize("name", ANY_IMAGE)
@pytest.mark.parametrize(("channels", "size", "classes"), [(1, 28, 10), (3, 32, 100), (1, 16, 2)])
def test_every_model_maps_images_to_logits(name, channels, size, classes):
    images = torch.zeros(5, channels, size, size)
    assert build_model(name, images, classes)(images).shape == (5, classes)


def test_resnet50_maps_images_on_the_disk_to_logits(tmp_path):
    files = ImageFiles([tmp_path / "1.jpg"] * 3, size=256)
    model = build_model("resnet-50-random", files, 14)
    assert model(torch.zeros(2, 3, 64, 64)).shape == (2, 14)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "resnet-50"])
def test_every_parameter_learns(name):
    torch.manual_seed(0)
    images = torch.rand(8, 3, 32, 32)
    model = build_model(name, images, 7)
    nn.functional.cross_entropy(model(images), torch.arange(8) % 7).backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert still == []


def test_he_initialisation_of_the_fully_connected_net():
    torch.manual_seed(0)
    first = fully_connected()[1]
    assert first.weight.std().item() == pytest.approx((2 / 784) ** 0.5, rel=0.02)
    assert not first.bias.any()


# ---------------------------------------------------------------------- PreAct ResNet-18


def units(net: nn.Module) -> list[PreActBlock]:
    return [layer for layer in net if isinstance(layer, PreActBlock)]


def without_residual(unit: PreActBlock) -> PreActBlock:
    nn.init.zeros_(unit.conv1.weight)
    nn.init.zeros_(unit.conv2.weight)
    return unit


def test_what_an_identity_unit_returns_without_its_residual():
    """He et al. (2016): the shortcut is the identity, so the signal passes a unit unchanged.

    The authors' program hands the activated input on, and so does the first unit of He et al.
    """
    torch.manual_seed(0)
    identities = [0, 1, 3, 5, 7]  # the others halve the image
    for as_authors in RESIDUAL:
        chain = units(preact_resnet18(as_authors=as_authors))
        assert len(chain) == 8
        for number in identities:
            unit = without_residual(chain[number])
            x = torch.randn(4, unit.conv1.in_channels, 4, 4)
            activated = torch.relu(nn.functional.batch_norm(x, None, None, training=True))
            expected = activated if as_authors or number == 0 else x
            torch.testing.assert_close(unit(x), expected, rtol=0, atol=0 if expected is x else 1e-5)


@pytest.mark.parametrize("as_authors", RESIDUAL)
def test_a_unit_step_by_step(as_authors):
    torch.manual_seed(0)
    unit = PreActBlock(3, 5, 2, activated_shortcut=as_authors).eval()
    x = torch.randn(2, 3, 8, 8)
    activated = torch.relu(unit.act1[0](x))
    inner = nn.functional.conv2d(activated, unit.conv1.weight, stride=2, padding=1)
    inner = nn.functional.conv2d(torch.relu(unit.act2[0](inner)), unit.conv2.weight, padding=1)
    projected = nn.functional.conv2d(activated, unit.shortcut.weight, stride=2)
    torch.testing.assert_close(unit(x), inner + projected)


@pytest.mark.parametrize("as_authors", RESIDUAL)
def test_the_stages_of_the_preact_resnet(as_authors):
    net = preact_resnet18(as_authors=as_authors).eval()
    sizes, x = [], torch.zeros(1, 3, 32, 32)
    for layer in net:
        x = layer(x)
        if isinstance(layer, PreActBlock):
            sizes.append((x.shape[1], x.shape[2]))
    assert sizes == [(64, 32)] * 2 + [(128, 16)] * 2 + [(256, 8)] * 2 + [(512, 4)] * 2
    kinds = [type(layer) for layer in net if not isinstance(layer, PreActBlock)]
    ends = [nn.AdaptiveAvgPool2d, nn.Flatten, nn.Linear]
    assert kinds == [nn.Conv2d, nn.BatchNorm2d, nn.ReLU, *ends]
    assert isinstance(net[1 if as_authors else -5], nn.BatchNorm2d)


def test_he_initialisation_of_the_preact_resnet():
    torch.manual_seed(0)
    wider = units(preact_resnet18())[-2].conv1.weight  # from 256 maps to 512
    assert wider.std().item() == pytest.approx((2 / (9 * 512)) ** 0.5, rel=0.01)
    torchs_own = units(preact_resnet18(as_authors=True))[-2].conv1.weight
    assert torchs_own.std().item() == pytest.approx((1 / (3 * 9 * 256)) ** 0.5, rel=0.01)


# ---------------------------------------------------------------------- CIFAR on a laptop


@pytest.mark.parametrize("build", [cifar_net, partial(fast_net, widths=(16, 32, 32))])
def test_the_nets_for_a_laptop_are_small_and_can_learn(build):
    assert parameters(cifar_net()) <= 300_000
    torch.manual_seed(0)
    images, labels = torch.rand(40, 3, 32, 32), torch.arange(40) % 10
    net = build()
    prepare(net, images)
    optimiser = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(40):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(images), labels).backward()
        optimiser.step()
    assert (net(images).argmax(1) == labels).float().mean() > 0.9


# ---------------------------------------------------------------------- the fast net


def patches(images: torch.Tensor) -> np.ndarray:
    """All patches of 2 x 2, one per row, cut out by numpy."""
    windows = np.lib.stride_tricks.sliding_window_view(images.double().numpy(), (2, 2), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, 4 * images.shape[1])


def photographs(count: int = 60, seed: int = 0) -> torch.Tensor:
    """Random images whose neighbouring pixels and colours go together, as in photographs."""
    rough = torch.randn(count, 3, 8, 8, generator=torch.Generator().manual_seed(seed))
    rough = rough + 2 * rough.mean(1, keepdim=True)
    return nn.functional.interpolate(rough, size=32, mode="bilinear") + 0.3 * torch.randn(
        count, 3, 32, 32, generator=torch.Generator().manual_seed(seed + 1)
    )


def test_size_of_the_fast_net():
    maps = (24, 64, 128, 256)  # twelve numbers a patch and their negatives, then the blocks
    blocks = sum(9 * (a * b + b * b) + 4 * b for a, b in pairwise(maps))
    assert parameters(fast_net()) == blocks + 256 * 10 == 1_160_960
    assert parameters(fast_net(widths=(8, 8, 8))) < 5_000


def test_the_first_layer_whitens_patches_of_the_images_it_was_prepared_with():
    images, net = photographs(), fast_net()
    before = np.corrcoef(patches(images).T)
    assert before[0, 1] > 0.8  # they need it
    prepare(net, images)
    outputs = net[0](images).transpose(0, 1).flatten(1).double().numpy()
    assert np.allclose(outputs[:12], -outputs[12:])
    assert np.cov(outputs[:12]) == pytest.approx(np.eye(12), abs=0.02)
    # numpy's filters span the same: the covariance of the patches times W'W is nearly the identity
    W = net[0].weight[:12].flatten(1).double().numpy()
    assert np.cov(patches(images).T) @ W.T @ W == pytest.approx(np.eye(12), abs=0.05)


def test_preparing_is_deterministic_and_part_of_the_state():
    torch.manual_seed(0)
    first, second, others = fast_net(), fast_net(), fast_net()
    state = torch.get_rng_state()
    prepare(first, photographs())
    prepare(second, photographs().contiguous(memory_format=torch.channels_last))
    prepare(others, photographs(seed=7))
    assert torch.get_rng_state().equal(state)
    torch.testing.assert_close(first[0].weight, second[0].weight)
    assert not torch.allclose(first[0].weight, others[0].weight, atol=0.1)
    others.load_state_dict(first.state_dict())
    assert others[0].weight.equal(first[0].weight)
    assert "0.weight" not in dict(first.named_parameters())


def test_flat_images_are_whitened_to_finite_numbers():
    net = fast_net()
    prepare(net, torch.ones(3, 3, 32, 32))
    assert net(torch.ones(2, 3, 32, 32)).isfinite().all()


@pytest.mark.parametrize("name", ANY_IMAGE)
def test_preparing_changes_nothing_but_whitening(name):
    images = photographs(4)
    model = build_model(name, images, 10)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    prepare(model, images)
    changed = [key for key, value in model.state_dict().items() if not value.equal(before[key])]
    assert changed == (["0.weight"] if name == "fast-net" else [])


def test_a_block_of_the_fast_net_begins_by_passing_its_maps_on():
    torch.manual_seed(0)
    first, second = (layer for layer in fast_net()[2:9] if isinstance(layer, nn.Conv2d))
    x = torch.randn(2, 24, 6, 6)
    torch.testing.assert_close(first(x)[:, :24], x)
    assert first(x)[:, 24:].std() > 0.1
    y = torch.randn(2, 64, 6, 6)
    torch.testing.assert_close(second(y), y)


# ---------------------------------------------------------------------- weights of others


def test_resnet50_starts_from_weights_with_a_new_last_layer(weights_folder, monkeypatch):
    """Here from torch's cache, without the network; other places are those of any download."""
    torch.manual_seed(1)
    state, data = torchvision.models.resnet50(weights=None).state_dict(), io.BytesIO()
    torch.save(state, data)
    weights = torchvision.models.ResNet50_Weights.IMAGENET1K_V1  # the first release, which the paper had
    (name,) = mirrors.RESNET50.checksums
    assert weights.url.endswith(f"/{name}")
    form = dataclasses.replace(mirrors.RESNET50, checksums={name: mirrors.sha256(data.getvalue())})
    monkeypatch.setattr(mirrors, "RESNET50", form)
    weights_folder.mkdir(parents=True)
    (weights_folder / name).write_bytes(data.getvalue())
    model = build_model("resnet-50", torch.zeros(1, 3, 256, 256), 14)
    for key, value in model.state_dict().items():
        if key.startswith("fc."):
            assert value.shape[0] == 14
        else:
            assert value.equal(state[key])


def test_weights_run_no_program():
    """A file with the right hash is still read as weights alone."""
    data = io.BytesIO()
    torch.save({"conv1.weight": argparse.Namespace()}, data)
    with pytest.raises(pickle.UnpicklingError, match=r"argparse\.Namespace"):
        mirrors.read_weights({"weights.pth": data.getvalue()})


def test_the_sentence_where_the_weights_cannot_be_had(tmp_path):
    with pytest.raises(DatasetMissing) as error:
        resnet50()
    assert str(error.value) == (
        "ResNet-50 is not in the cache and could not be fetched (FDIV_OFFLINE forbids the network): put"
        f" weights/resnet50-0676ba61.pth into {tmp_path / 'cache'}, or name a folder that has it with"
        " FDIV_DATA, or choose the model 'resnet-50-random' to start from random weights"
    )


def test_random_weights_ask_nobody(monkeypatch):
    monkeypatch.setattr(mirrors, "obtain", lambda *_: pytest.fail("weights were asked for"))
    build_model("resnet-50-random", torch.zeros(1, 3, 64, 64), 14)


# ---------------------------------------------------------------------- what cannot be built


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("cnnn", (1, 1, 28, 28), r"no model is called 'cnnn' \(did you mean 'cnn'\?\); choose from cnn, "),
        ("cnn", (1, 1, 8, 8), "at least 16 x 16 pixels, not 8 x 8"),
        ("cnn", (1, 1, 28, 30), "square images, not 28 x 30"),
        ("fast-net", (1, 3, 8, 8), "at least 9 x 9, not 8 x 8"),
        ("resnet-50", (1, 1, 28, 28), "images of 3 channels, not 1"),
    ],
)
def test_what_cannot_be_built(name, shape, message):
    with pytest.raises(ValueError, match=message):
        build_model(name, torch.zeros(shape), 10)


def test_the_fast_net_answers_in_float32_at_any_precision():
    """In bfloat16 two classes of an image would often be alike, and the first would win."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = fast_net()(torch.rand(4, 3, 32, 32))
    assert logits.dtype == torch.float32
    assert len(logits.unique()) > 30
