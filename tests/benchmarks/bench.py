"""How fast a training step is, as ratios measured in one run: ``make bench``.

Timings of one machine scatter and those of two do not compare. So all variants of a question take turns,
round after round, and a variant is reported by its median and by the median of its ratios to the reference
of the same round. The table is printed and written to data/results/benchmarks.csv with its provenance.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from importlib.util import find_spec
from itertools import cycle
from multiprocessing.synchronize import Barrier
from statistics import median

import pandas as pd
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torchvision import transforms

from fdiv.datasets import Dataset, DatasetMissing, NoisySplit, cifar10, mnist, noisy_split
from fdiv.device import has_bfloat16, memory_kept, pick_device
from fdiv.experiments.experiment import Experiment, plan, run_experiment
from fdiv.experiments.recipes import PAPER_CIFAR_DF, PAPER_DF
from fdiv.experiments.results import provenance
from fdiv.files import RESULTS, write_text
from fdiv.learning.losses import CrossEntropy, FDivLoss, NoisyLabelLoss
from fdiv.learning.models import build_model
from fdiv.learning.training import _batch_count, _Session, label_shares, normalise
from fdiv.noise import corrupt, paper_noise, uniform
from fdiv.theory import DIVERGENCES

Step = Callable[[], object]
CIFAR_STEP = replace(  # in smaller batches on a CPU, where a step of 128 images takes seconds
    PAPER_CIFAR_DF, warm_up=None, batch_size=32 if pick_device().type == "cpu" else PAPER_CIFAR_DF.batch_size
)


def measure(
    question: str,
    variants: Mapping[str, Step],
    reference: str,
    rounds: int,
    steps: int,
    images: int | None = None,
    clock: Callable[[], float] | None = None,
) -> pd.DataFrame:
    """Milliseconds per step of each variant, and the ratio to ``reference``.

    images: how many training images a step sees; then images per second are said too.
    clock: what time is read from, by default that of the wall.
    """
    clock = clock or time.perf_counter
    for step in variants.values():
        step()
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, step in variants.items():
            started = clock()
            for _ in range(steps):
                step()
            _wait()
            times[name].append((clock() - started) / steps)
    rows = [
        {
            "question": question,
            "variant": name,
            "milliseconds": round(1000 * median(taken), 3),
            "images_per_second": round(images / median(taken), 1) if images else None,
            "ratio": round(median(t / r for t, r in zip(taken, times[reference], strict=True)), 3),
            "reference": reference,
        }
        for name, taken in times.items()
    ]
    return pd.DataFrame(rows)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


# ------------------------------------------------------------------ one step on MNIST, three ways


class PILImages(torch.utils.data.Dataset):
    """One image at a time through PIL, ToTensor and Normalize, as the authors' program reads MNIST."""

    def __init__(self, split: NoisySplit) -> None:
        self.images, self.labels = split.train_images[:, 0].cpu().numpy(), split.train_labels.cpu().tolist()
        self.transform = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize(PAPER_DF.mean, PAPER_DF.std)]
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.transform(Image.fromarray(self.images[index])), self.labels[index]


def loader_step(split: NoisySplit, session: _Session) -> Step:
    """Algorithm 1 as the authors run it: at every step the peers come from a new, newly shuffled iterator."""
    options = {"batch_size": PAPER_DF.batch_size, "shuffle": True, "drop_last": True}
    joint_loader, peer_loader = (DataLoader(PILImages(split), **options) for _ in range(2))
    joint = forever(joint_loader)
    device = session.device

    def step() -> None:
        images, labels = next(joint)
        peers = iter(peer_loader)
        peer_images, _ = next(peers)
        _, peer_labels = next(peers)
        session.optimiser.zero_grad()
        logits, peer_logits = session.model(images.to(device)), session.model(peer_images.to(device))
        session.loss(logits, labels.to(device), peer_logits, peer_labels.to(device)).backward()
        session.optimiser.step()

    return step


def forever(loader: DataLoader) -> Iterator:
    while True:
        yield from loader


def resident_step(session: _Session) -> Step:
    """A step of ``fdiv.learning.training`` on tensors that stay on the device."""
    batches = cycle(session.batches())
    session.model.train()
    return lambda: session.step(*next(batches))


def bare_step(session: _Session, loss: Callable[[Tensor, Tensor], Tensor]) -> Step:
    """Forward, backward and optimiser step on one batch that is ready: what no loop can be faster than."""
    images = normalise(session.data.train_images[: PAPER_DF.batch_size], session.recipe)
    labels = session.data.train_labels[: PAPER_DF.batch_size]
    session.model.train()

    def step() -> None:
        session.optimiser.zero_grad(set_to_none=True)
        loss(session.model(images), labels).backward()
        session.optimiser.step()

    return step


def steps_on_mnist(split: NoisySplit, rounds: int) -> pd.DataFrame:
    def session(product: str) -> _Session:
        loss = FDivLoss("tv", 10, product=product, label_prior=label_shares(split))
        return _Session(split, PAPER_DF, loss, 0, None, pick_device())

    exact, bare, bare_ce = session("exact"), session("exact"), session("exact")
    variants = {
        "Algorithm 1 with per-sample loaders": loader_step(split, session("sampled")),
        "sampled, resident tensors": resident_step(session("sampled")),
        "exact, resident tensors": resident_step(exact),
    }
    bare_steps = {
        "bare step, the same loss": bare_step(bare, bare.loss),
        "bare step, cross-entropy": bare_step(bare_ce, nn.functional.cross_entropy),
        "exact, resident tensors": resident_step(exact),
    }
    size = PAPER_DF.batch_size
    table = measure("a step on MNIST, batch 128", variants, "exact, resident tensors", rounds, 10, size)
    loop = measure(
        "the loop over the bare step", bare_steps, "bare step, the same loss", 4 * rounds, 10, size
    )
    return pd.concat([table, loop])


# ------------------------------------------------------------------ what else could be faster


def ways(rounds: int, steps: int = 20) -> pd.DataFrame:
    """The step of the paper's CNN taken in other ways, its evaluation, and two runs side by side.

    Every variant but "compiled" takes the same steps bit for bit; how far the compiled network is off stands
    in its name.
    """
    data, pixels = mnist_or_its_shape()
    split = noisy_split(data, corrupt(data.train_labels, paper_noise("mnist", "uniform-high"), seed=0))
    threads, size = torch.get_num_threads(), PAPER_DF.batch_size

    def session() -> _Session:
        loss = FDivLoss("tv", 10, label_prior=label_shares(split))
        return _Session(split, PAPER_DF, loss, 0, None, pick_device())

    def on(count: int, step: Step) -> Step:
        def one() -> None:
            torch.set_num_threads(count)
            try:
                step()
            finally:
                torch.set_num_threads(threads)

        return one

    plain, rows, slow, compiled = session(), session(), session(), session()
    rows.model.to(memory_format=torch.contiguous_format)
    slow.optimiser = torch.optim.Adam(slow.model.parameters(), lr=1e-3, fused=False)
    compiled.forward = torch.compile(compiled.model)
    pictures = normalise(split.train_images[:size], PAPER_DF)
    compiled.model.eval()
    off = (compiled.forward(pictures) - compiled.model(pictures)).abs().max().item()
    variants = {
        "as it is, one thread": on(1, resident_step(plain)),
        "two threads": on(2, resident_step(session())),
        "pixels one after another, not by channels": on(1, resident_step(rows)),
        "Adam not fused": on(1, resident_step(slow)),
        f"compiled, logits off by {off:.0e}": on(1, resident_step(compiled)),
    }
    table = measure(
        "a step of the paper's CNN in other ways, batch 128",
        variants,
        "as it is, one thread",
        rounds,
        steps,
        size,
    )
    tenth = _batch_count(len(split.train_labels), size) // 10
    step = resident_step(plain)
    parts = {
        "a tenth of its steps": on(1, lambda: [step() for _ in range(tenth)]),
        "the evaluation after it": on(1, plain.evaluate),
    }
    epoch = measure("an epoch on MNIST in parts", parts, "a tenth of its steps", rounds, 1)
    return pd.concat([table, epoch, side_by_side(rounds)]).assign(pixels=pixels)


def side_by_side(rounds: int, steps: int = 50) -> pd.DataFrame:
    """Two runs of one thread at the same time, and one run of two threads: how long a step takes in all."""
    times: dict[str, list[float]] = {"one run of two threads": [], "two runs of one thread": []}
    context = multiprocessing.get_context("spawn")
    for _ in range(rounds):
        for name, taken in times.items():
            runs = 1 if name.startswith("one") else 2
            start, end = context.Barrier(runs + 1), context.Barrier(runs + 1)
            given = (2 // runs, steps, start, end)
            workers = [context.Process(target=_worker, args=given) for _ in range(runs)]
            for worker in workers:
                worker.start()
            start.wait()
            started = time.perf_counter()
            end.wait()
            taken.append((time.perf_counter() - started) / (steps * runs))
            for worker in workers:
                worker.join()
    reference = "one run of two threads"
    rows = [
        {
            "question": "steps of the paper's CNN on two cores",
            "variant": name,
            "milliseconds": round(1000 * median(taken), 3),
            "images_per_second": round(PAPER_DF.batch_size / median(taken), 1),
            "ratio": round(median(t / r for t, r in zip(taken, times[reference], strict=True)), 3),
            "reference": reference,
        }
        for name, taken in times.items()
    ]
    return pd.DataFrame(rows)


def _worker(threads: int, steps: int, start: Barrier, end: Barrier) -> None:
    """Take ``steps`` steps with ``threads`` threads between two barriers, on pixels that nobody looks at."""
    torch.set_num_threads(threads)
    images = torch.randint(0, 256, (1000, 1, 28, 28), dtype=torch.uint8)
    labels = torch.arange(1000) % 10
    split = noisy_split(Dataset("mnist", images, labels, images[:9], labels[:9], 10), labels, validation=100)
    loss = FDivLoss("tv", 10, label_prior=label_shares(split))
    step = resident_step(_Session(split, PAPER_DF, loss, 0, None, pick_device()))
    for _ in range(5):
        step()
    start.wait()
    for _ in range(steps):
        step()
    end.wait()


# ------------------------------------------------------------------ one step on CIFAR-10, exact and sampled


def steps_on_cifar(rounds: int) -> pd.DataFrame | None:
    """A step of PreAct ResNet-18 on the real CIFAR-10; sampling the product takes a second forward pass."""
    try:
        data = cifar10()
    except DatasetMissing as missing:
        print(f"no steps on CIFAR-10: {missing}")
        return None
    split = noisy_split(data, corrupt(data.train_labels, paper_noise("cifar-10", "uniform-high"), seed=0))
    split = split.to(pick_device())

    def step(loss: NoisyLabelLoss) -> Step:
        return resident_step(_Session(split, CIFAR_STEP, loss, 0, None, pick_device()))

    variants = {
        f"{product} product": step(FDivLoss("tv", 10, product=product, label_prior=label_shares(split)))
        for product in ("exact", "sampled")
    }
    return measure(
        f"a step of PreAct ResNet-18 on CIFAR-10, batch {CIFAR_STEP.batch_size}",
        variants | {"cross-entropy": step(CrossEntropy(10))},
        "exact product",
        rounds,
        5,
        CIFAR_STEP.batch_size,
    ).assign(pixels="CIFAR-10")


# ------------------------------------------------------------------ the networks for CIFAR


def networks(rounds: int) -> pd.DataFrame:
    """Forward, backward and optimiser step of each network for CIFAR, on pixels that are ready."""
    variants = {name: network_step(name, 64) for name in ("fast-net", "cifar-net", "preact-resnet-18")}
    variants |= {"fast-net in bfloat16": network_step("fast-net", 64, half=True)}
    return measure(
        "a bare step of the networks for CIFAR, batch 64", variants, "fast-net", rounds, 1, 64
    ).assign(pixels="random pixels")


def network_step(name: str, batch: int, half: bool = False) -> Step:
    """A step of cross-entropy with random pixels of CIFAR's size."""
    device = pick_device()
    images = torch.rand(batch, 3, 32, 32, device=device).contiguous(memory_format=torch.channels_last)
    labels = torch.arange(batch, device=device) % 10
    model = build_model(name, images, 10).to(device, memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)

    def one() -> None:
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
            value = nn.functional.cross_entropy(model(images), labels)
        value.backward()
        optimiser.step()

    return one


def memory(rounds: int, batch: int = 256) -> pd.DataFrame:
    """A bare step of the fast net where freed memory is kept, and where the C library decides.

    Each in a new process, since the library learns from what a process has freed before.
    """
    spent, context = 0.0, multiprocessing.get_context("spawn")

    def step(kept: bool) -> Step:
        def one() -> None:
            nonlocal spent
            with ProcessPoolExecutor(1, context) as pool:
                spent += pool.submit(_fast_step, batch, kept).result()

        return one

    return measure(
        f"a bare step of the fast net by what becomes of freed memory, batch {batch}",
        {"as the C library decides": step(False), "kept": step(True)},
        "as the C library decides",
        rounds,
        1,
        batch,
        clock=lambda: spent,
    ).assign(pixels="random pixels")


def _fast_step(batch: int, kept: bool, steps: int = 5) -> float:
    """Return the seconds of a step, as the training loop takes it, after two that do not count."""
    torch.set_num_threads(1)
    step = network_step("fast-net", batch, half=has_bfloat16(pick_device()))
    with memory_kept() if kept else nullcontext():
        for _ in range(2):
            step()
        started = time.perf_counter()
        for _ in range(steps):
            step()
        return (time.perf_counter() - started) / steps


def minutes(rounds: int, levels: Sequence[float] = (0.8, 0.85, 0.9)) -> pd.DataFrame | None:
    """How long the fast recipe needs to an accuracy on clean CIFAR-10, evaluation counted; no rounds.

    The run is kept like every other: called again, its times are only read.
    """
    wanted = Experiment(dataset="cifar-10", noise="clean", method="ce", mode="laptop")
    try:
        run, _ = run_experiment(wanted, plan(wanted).folder)
    except DatasetMissing as error:
        print(f"no minutes on CIFAR-10: {error}")
        return None
    after = run.history["seconds"].cumsum() * 1000
    reached = [after[run.history["test_accuracy"] >= level].min() for level in levels]
    return pd.DataFrame(
        {
            "question": "time to an accuracy on clean CIFAR-10, fast net, 12 epochs",
            "variant": [f"{level:.0%}" for level in levels],
            "milliseconds": [round(time, 0) for time in reached],
            "ratio": [round(time / after.iloc[-1], 3) for time in reached],
            "reference": "the whole run",
            "pixels": "CIFAR-10",
        }
    )


# ------------------------------------------------------------------ growth of the loss alone


def loss_step(num_classes: int, batch: int, device: torch.device) -> Step:
    """Forward and backward of the exact TV loss on given logits."""
    logits = torch.randn(batch, num_classes, device=device, requires_grad=True)
    labels = torch.randint(0, num_classes, (batch,), device=device)
    loss = FDivLoss("tv", num_classes, label_prior=torch.full((num_classes,), 1 / num_classes))
    loss.check = False

    def step() -> None:
        logits.grad = None
        loss(logits, labels).backward()

    return step


def growth(rounds: int) -> pd.DataFrame:
    device = pick_device()
    classes = {f"K = {K}": loss_step(K, 128, device) for K in (10, 30, 100, 300, 1000)}
    sizes = {f"B = {B}": loss_step(10, B, device) for B in (32, 128, 512, 2048)}
    return pd.concat(
        [
            measure("the exact loss alone, batch 128", classes, "K = 10", rounds, steps=50),
            measure("the exact loss alone, 10 classes", sizes, "B = 128", rounds, steps=50),
        ]
    )


def against_cross_entropy(rounds: int) -> pd.DataFrame:
    """Loss and backward at 256 x 100, with the values of a batch checked and without.

    On a CPU in time of this process alone, as steps this short are lost among other processes.
    """
    device, K = pick_device(), 100
    logits = torch.randn(256, K, device=device, requires_grad=True)
    labels = torch.randint(0, K, (256,), device=device)

    def step(loss: nn.Module) -> Step:
        return lambda: torch.autograd.grad(loss(logits, labels), logits)

    variants = {"nn.CrossEntropyLoss": step(nn.CrossEntropyLoss())}
    for name in DIVERGENCES:
        for check in (True, False):
            loss = FDivLoss(name, K, label_prior="balanced", check=check)
            variants[f"{name}{'' if check else ', no checks'}"] = step(loss)
    forward = {"transition": uniform(0.3 / K, K), "correction": "forward", "label_prior": "balanced"}
    variants["kl, forward, no checks"] = step(FDivLoss("kl", K, check=False, **forward))
    clock = time.process_time if device.type == "cpu" else None
    question = "loss and backward, 256 x 100"
    return measure(question, variants, "nn.CrossEntropyLoss", rounds, steps=20, clock=clock).assign(
        pixels="random logits"
    )


def mnist_or_its_shape() -> tuple[Dataset, str]:
    """The real MNIST where it can be had; a step takes as long on random pixels."""
    try:
        return mnist(), "MNIST"
    except DatasetMissing:
        generator = torch.Generator().manual_seed(0)
        images = torch.randint(0, 256, (60_000, 1, 28, 28), dtype=torch.uint8, generator=generator)
        labels = torch.randint(0, 10, (60_000,), generator=generator)
        return Dataset("mnist", images, labels, images[:100], labels[:100], 10), "random pixels"


def steps_and_growth(rounds: int) -> pd.DataFrame:
    data, pixels = mnist_or_its_shape()
    split = noisy_split(data, corrupt(data.train_labels, paper_noise("mnist", "uniform-high"), seed=0))
    return pd.concat([steps_on_mnist(split, rounds), growth(rounds)]).assign(pixels=pixels)


def features(rounds: int) -> pd.DataFrame:
    """The frozen network: as torchvision builds it, as ``fdiv.datasets.features`` does, and two other ways.

    In bfloat16 where the CPU multiplies it, which changes the features by up to a tenth; and in onnxruntime,
    where that and onnx are installed. On a CPU in time of this process alone, see ``against_cross_entropy``.
    """
    from torchvision.models import mobilenet_v2

    from fdiv.datasets.features import BATCH, SIZE, frozen

    images = torch.rand(BATCH, 3, SIZE, SIZE)
    built = mobilenet_v2().features.eval()
    ours, by_pixels = frozen(mobilenet_v2().features), images.contiguous(memory_format=torch.channels_last)

    def step(net: Callable[[Tensor], object], batch: Tensor) -> Step:
        def run() -> None:
            with torch.inference_mode():
                net(batch)

        return run

    variants = {"as built": step(built, images), "fused, laid out by pixels": step(ours, by_pixels)}
    if has_bfloat16(torch.device("cpu")):
        short = frozen(mobilenet_v2().features).to(torch.bfloat16)
        variants["fused, in bfloat16"] = step(lambda batch: short(batch.to(torch.bfloat16)), by_pixels)
    if all(map(find_spec, ("onnx", "onnxruntime"))):
        variants["onnxruntime"] = step(in_onnxruntime(frozen(mobilenet_v2().features), images), images)
    question = f"features of MobileNetV2, batch {BATCH}, {SIZE} x {SIZE}"
    return measure(question, variants, "as built", rounds, 2, images=BATCH, clock=time.process_time).assign(
        pixels="random pixels"
    )


def in_onnxruntime(net: nn.Module, images: Tensor) -> Callable[[Tensor], object]:
    """``net`` as onnxruntime runs it, on as many threads as torch."""
    import onnxruntime

    file, options = io.BytesIO(), onnxruntime.SessionOptions()
    plain = net.to(memory_format=torch.contiguous_format)
    torch.onnx.export(plain, (images,), file, input_names=["images"], dynamo=False)
    options.intra_op_num_threads, options.inter_op_num_threads = torch.get_num_threads(), 1
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    return lambda batch: session.run(None, {"images": batch.numpy()})


PARTS: dict[str, Callable[[int], pd.DataFrame | None]] = {
    "mnist": steps_and_growth,
    "ways": ways,
    "losses": against_cross_entropy,
    "cifar": steps_on_cifar,
    "networks": networks,
    "features": features,
    "memory": memory,
    "minutes": minutes,
}
AT_WILL = ("memory", "minutes", "ways")  # measured only if named: they train a network or start processes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="how often the variants take turns")
    parser.add_argument("--only", choices=PARTS, help="measure one part; the others' lines of the table stay")
    options = parser.parse_args()
    parts = [options.only] if options.only else [part for part in PARTS if part not in AT_WILL]
    tables = [table for part in parts if (table := PARTS[part](options.rounds)) is not None]
    if not tables:
        return
    table = pd.concat(tables, ignore_index=True)
    print(table.to_string(index=False))
    store(table.assign(**provenance()), keep_others=options.only is not None)


def store(table: pd.DataFrame, keep_others: bool) -> None:
    """Write benchmarks.csv; ``keep_others`` leaves the lines of questions that ``table`` does not answer."""
    path = RESULTS / "benchmarks.csv"
    if keep_others and path.exists():
        old = pd.read_csv(path)
        table = pd.concat([old[~old["question"].isin(table["question"])], table], ignore_index=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(table.to_csv(index=False), path)


if __name__ == "__main__":
    main()
