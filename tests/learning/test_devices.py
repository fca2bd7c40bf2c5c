"""Losses, networks, augmentations and evaluation on a GPU that is not here, by fake tensors.

A fake tensor has a shape, a type and a device but no values. What mixes tensors of two devices raises, and so
does what has to know a value, for which a real device would be waited for. Apple's MPS cannot be faked where
torch was built without it; what it lacks, numbers of 64 bits, is watched for.
"""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fdiv import device
from fdiv.experiments.recipes import FORWARD, LAPTOP_CIFAR_CE, RECIPES
from fdiv.learning import training
from fdiv.learning.augment import AUGMENTATIONS
from fdiv.learning.losses import NoisyLabelLoss, trains_forward
from fdiv.learning.methods import CORRECTIONS, METHODS, build_loss, needs_transition
from fdiv.learning.models import MODELS, build_model, prepare
from fdiv.theory.divergences import DIVERGENCES

NETWORKS = [name for name in MODELS if name != "resnet-50"]  # whose weights are downloaded
SIDES = {"resnet-50-random": 64, "crop224-flip": 256}
# A step depends on the family of the dataset (its images), of the method (its loss), and on their recipe.
IMAGES = {"digits": (1, 8), "paired-digits": (2, 8), "mnist": (1, 28), "features": (256, 1), "own": (3, 48)}
FOLLOWERS = {
    row.recipe: (method, "none") for method, row in reversed(list(METHODS.items()))
}  # the first of each
FOLLOWERS |= {FORWARD: ("kl", "forward")}
STEPS = {
    f"{mode}, {family}, {name}": (family, *FOLLOWERS[name], recipe)
    for mode, families in RECIPES.items()
    for family, recipes in families.items()
    for name, recipe in recipes.items()
    if name != "dmi"  # which takes its determinant in float64, on the CPU where a device has none
}
LOSSES = [(name, "none") for name in METHODS]
LOSSES += [(name, how) for name in DIVERGENCES for how in CORRECTIONS[1:]]
LOSSES = [(n, how) for n, how in LOSSES if how != "forward" or trains_forward(DIVERGENCES[n])]
T = [[0.9 if i == j else 0.1 / 9 for j in range(10)] for i in range(10)]


class NoFloat64(TorchDispatchMode):
    """Refuse what MPS does not have: float64 anywhere but on the CPU."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        outputs = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(outputs):
            if isinstance(tensor, torch.Tensor) and tensor.device.type != "cpu":
                assert tensor.dtype != torch.float64, f"{func} makes float64"
        return outputs


class NoWait(TorchDispatchMode):
    """Refuse to bring a tensor to the CPU, for which a real device would be waited for."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        there = any(isinstance(one, torch.Tensor) and one.device.type != "cpu" for one in tree_leaves(args))
        outputs = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(outputs):
            assert not (there and isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu"), func
        return outputs


@pytest.fixture(autouse=True)
def elsewhere(request):
    """Fake tensors only, and no fake constant left behind for the next test."""
    training._scale_and_shift.cache_clear()
    float64 = nullcontext() if "dmi" in request.node.name else NoFloat64()
    with FakeTensorMode(allow_non_fake_inputs=True), float64:  # constants of a loss move there once
        yield
    training._scale_and_shift.cache_clear()


def loss_there(method: str, correction: str) -> NoisyLabelLoss:
    """A loss with all that it holds on the device."""
    with unset_fake_temporarily():  # what it is given is looked at, once, before training
        needed = T if needs_transition(method, correction) else None
        loss = build_loss(method, 10, T=needed, correction=correction, examples=16)
    for module in loss.modules():
        for held, tensor in module.named_buffers(recurse=False):
            setattr(module, held, torch.zeros(tensor.shape, dtype=tensor.dtype, device="cuda"))
    loss.check = False
    return loss


def photographs(side: int = 32, count: int = 8) -> torch.Tensor:
    return torch.zeros(count, 3, side, side, dtype=torch.uint8, device="cuda")


def network(name: str, images: torch.Tensor) -> torch.nn.Module:
    with torch.device("cuda"):  # the parameters of a fake network cannot be moved
        return build_model(name, images, 10)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_runs_there(name):
    images = photographs(SIDES.get(name, 32))
    model, pixels = network(name, images), training.normalise(images, LAPTOP_CIFAR_CE)
    prepare(model, pixels)
    logits = model(pixels)
    assert (logits.shape, logits.device.type) == ((8, 10), "cuda")


@pytest.mark.parametrize("name", AUGMENTATIONS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_every_augmentation_runs_there(name, dtype):
    images = photographs(SIDES.get(name, 32)).to(dtype)
    for change in (AUGMENTATIONS[name].train, AUGMENTATIONS[name].test):
        changed = change(images)
        assert (changed.dtype, changed.device.type) == (dtype, "cuda")


@pytest.mark.parametrize("augment", AUGMENTATIONS)
def test_evaluation_runs_there(augment):
    images = photographs(SIDES.get(augment, 32), count=700)
    recipe = replace(LAPTOP_CIFAR_CE, augment=augment)
    logits = training.outputs(network("cifar-net", images), images, recipe)
    assert (logits.shape, logits.device.type) == ((700, 10), "cuda")


@pytest.mark.parametrize("step", STEPS)
def test_the_forward_half_of_a_step_runs_there(step):
    """In 16 bits, as on a card; the backward half of a fake step says nothing more."""
    family, method, correction, recipe = STEPS[step]
    channels, side = IMAGES.get(family, (3, SIDES.get(recipe.augment, 32)))
    images = torch.zeros(16, channels, side, side, dtype=torch.uint8, device="cuda")
    name = "resnet-50-random" if recipe.model == "resnet-50" else recipe.model
    loss = loss_there(method, correction)
    labels = torch.zeros(16, dtype=torch.int64, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        pixels = training.normalise(AUGMENTATIONS[recipe.augment].train(images), recipe)
        value = loss(network(name, images)(pixels), labels)
    assert (value.shape, value.dtype, value.device.type) == ((), torch.float32, "cuda")


@pytest.mark.parametrize("half", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("method", "correction"), LOSSES)
def test_every_loss_runs_there_without_a_wait(method, correction, half):
    loss = loss_there(method, correction)
    logits = torch.zeros(16, 10, dtype=half, device="cuda")
    labels = torch.zeros(16, dtype=torch.int64, device="cuda")
    more = {}
    if getattr(loss, "needs_index", False):
        more["index"] = labels
    if getattr(loss, "needs_view", False):
        more["view_logits"] = logits
    if loss.needs_peers:
        more |= {"peer_logits": logits, "peer_labels": labels}
    with NoWait():
        value = loss(logits, labels, **more)
    assert (value.shape, value.device.type) == ((), "cuda")
    if method not in ("dmi", "plugin"):  # which look at values there, once an epoch, where the loop does too
        value = loss.eval().objective(logits, labels)
        assert (value.shape, value.device.type) == ((), "cuda")


def test_what_such_a_test_sees():
    """That it can fail: by tensors of two devices, by asking for a value, by 64 bits, by a way back."""
    there, here = torch.zeros(3, device="cuda"), torch.zeros(3, device="cpu")
    with pytest.raises(RuntimeError, match="device"):
        there + here
    with pytest.raises(DataDependentOutputException):
        there.sum().item()
    with pytest.raises(AssertionError, match="makes float64"):
        there.double()
    with pytest.raises(AssertionError, match="_to_copy"), NoWait():
        there.cpu()


@pytest.mark.parametrize(("value", "static"), [("1", True), ("true", True), ("false", False), ("off", False)])
def test_static_is_a_switch(monkeypatch, value, static):
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    monkeypatch.setenv("FDIV_STATIC", value)
    assert device.is_static() is static
    monkeypatch.setenv("FDIV_STATIC", "banana")
    with pytest.raises(ValueError, match="FDIV_STATIC is 'banana', but must be one of"):
        device.is_static()
