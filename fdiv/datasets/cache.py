"""The cache: files that are right are used, others are fetched, compared with their hash and kept.

``FDIV_DATA`` names the folder (default: data/cache of this repository). It is laid out as torchvision's are,
so that a folder which torchvision filled will do. ``FDIV_OFFLINE=1`` forbids the network.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fdiv.datasets.sources import Source, md5
from fdiv.files import ROOT, replacing

Files = dict[str, bytes]


class DatasetMissing(OSError):
    """A dataset is neither in the cache nor to be had; the message says why, and what to do."""


@dataclass(frozen=True)
class Form:
    """One way in which a dataset is distributed.

    folder: where its files lie, below the cache.
    checksums: the MD5 of each file, by the file's name.
    read: makes what they stand for of the files' contents, such as the training and the test pair.
    sources: where to have the files from, the best first.
    by_hand: the archive to put into the cache by hand; without one, the files themselves.
    """

    folder: str
    checksums: Mapping[str, str]
    read: Callable[[Files], Any]
    sources: tuple[Source, ...]
    by_hand: str | None = None


def cache_folder() -> Path:
    """The folder that ``FDIV_DATA`` names, or data/cache of this repository."""
    return Path(os.environ.get("FDIV_DATA") or ROOT / "data" / "cache").expanduser().absolute()


def offline() -> bool:
    """Whether ``FDIV_OFFLINE`` forbids the network."""
    return os.environ.get("FDIV_OFFLINE", "") not in ("", "0")


def obtain(title: str, forms: tuple[Form, ...]) -> Any:
    """What ``read`` makes of a dataset's files, from the cache or from the first source that has them right.

    title: what the dataset is called in messages.
    forms: the forms it may have, the preferred one first.
    """
    cache, held, corrupt = cache_folder(), [], []
    for form in forms:
        right, faults = cached(form, cache / form.folder)
        if len(right) == len(form.checksums):
            return form.read(right)
        held.append(right)
        corrupt += faults
    reasons = [*corrupt, *(["FDIV_OFFLINE forbids the network"] if offline() else [])]
    for form, right in zip(forms, held, strict=True):
        lacking = [name for name in form.checksums if name not in right]
        for source in form.sources:
            if offline() and not source.local:
                continue
            try:
                files = take(title, form, source, cache, lacking)
            except Refused as refusal:
                reasons += [f"{source.label}: {reason}" for reason in refusal.args]
                continue
            if corrupt or not source.local:
                keep(files, cache / form.folder)
            if corrupt:
                warnings.warn(f"{'; '.join(corrupt)}: read again from {source.label}", stacklevel=4)
            return form.read(right | files)
    raise DatasetMissing(missing(title, forms[0], held[0], cache, reasons))


def cached(form: Form, folder: Path) -> tuple[Files, list[str]]:
    """The files of ``folder`` whose hash is right, and a remark on each that is there but corrupt."""
    right, faults = {}, []
    for name, checksum in form.checksums.items():
        try:
            data = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise DatasetMissing(unusable(folder / name, error)) from None
        if md5(data) == checksum:
            right[name] = data
        else:
            faults.append(f"{folder / name} is corrupt (md5 {md5(data)}, {len(data)} bytes)")
    return right, faults


class Refused(Exception):
    """A source does not give what it was asked for; the message, if any, is the reason."""


def take(title: str, form: Form, source: Source, cache: Path, names: list[str]) -> Files:
    """The files called ``names`` from ``source``, all of them right, or ``Refused``."""
    if not source.local:
        check_writable(cache / form.folder)
        print(f"fetching {title} from {source.label} ...", file=sys.stderr, flush=True)
    try:
        files = source.fetch(cache, names)
    except Exception as error:  # whatever is wrong with a source, the next one may do
        absent = source.local and isinstance(error, FileNotFoundError)
        raise Refused(*([] if absent else [said(error)])) from error
    for name in names:
        if name not in files:
            raise Refused(f"has no {name}")
        if md5(files[name]) != form.checksums[name]:
            raise Refused(f"its {name} has md5 {md5(files[name])}, not {form.checksums[name]}")
    return {name: files[name] for name in names}


def check_writable(folder: Path) -> None:
    """Refuse a folder, made or yet to be made, that could not keep what is about to be fetched."""
    try:
        tempfile.TemporaryFile(dir=nearest(folder)).close()
    except OSError as error:
        raise DatasetMissing(unusable(folder, error)) from None


def keep(files: Files, folder: Path) -> None:
    """Put verified files into the cache, each as a whole, whoever else may be doing the same."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            with replacing(folder / name) as temporary:
                temporary.write_bytes(data)
    except OSError as error:
        raise DatasetMissing(unusable(folder, error)) from None


def nearest(path: Path) -> Path:
    """``path``, or the nearest folder above it that exists."""
    return next(place for place in (path, *path.parents) if os.path.exists(place))


def said(error: Exception) -> str:
    """What an exception says, in one line of moderate length."""
    text = str(error) if isinstance(error, OSError) else f"{type(error).__name__} {error}"
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"{line[:300]}..."


def unusable(path: Path, error: OSError) -> str:
    """The sentence about a cache that cannot be read or written."""
    return (
        f"the cache cannot be used because of {nearest(path)} ({error.strerror or error}): "
        "repair it, or name another folder with FDIV_DATA"
    )


def missing(title: str, form: Form, right: Files, cache: Path, reasons: list[str]) -> str:
    """The sentence about a dataset that cannot be had: what of ``form`` is lacking, why, where to put it."""
    lacking = ", ".join(name for name in form.checksums if name not in right)
    put = f"{form.by_hand} into {cache}" if form.by_hand else f"{lacking} (or .gz) into {cache / form.folder}"
    return (
        f"{title} is not in the cache and could not be fetched ({'; '.join(reasons)}): "
        f"put {put}, or name a folder that has it with FDIV_DATA"
    )
