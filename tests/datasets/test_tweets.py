"""Tweets: read as the two files have them, and nothing is run to fetch them."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pytest

from fdiv.datasets import mirrors
from fdiv.datasets.tweets import parse

TEXTS = "1\t2.0\tSo good.\n2\t-1.5\tA\ttab inside.\n3\t0.5\tMixed up.\n"
RATINGS = "1\t2.0\t0.1\t[2, 1, 0, 4]\n2\t-1.5\t1.0\t[-1, -2]\n3\t0.7\t1.0\t[1, -1]\n"


def test_ratings_become_signs_and_tweets_that_disagree_are_dropped():
    read = parse(TEXTS, RATINGS)
    assert read.texts == ["So good.", "A\ttab inside."]
    assert read.votes.tolist() == [[2, 2, 1, 2], [0, 0, -1, -1]]
    assert read.majority.tolist() == [2, 0]
    for seed in range(5):
        drawn = read.one_rater(seed)
        assert drawn[0] in (1, 2)
        assert drawn[1] == 0
    assert (read.one_rater(3) == read.one_rater(3)).all()


def archive(files: dict[str, bytes]) -> bytes:
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:gz") as packed:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            packed.addfile(entry, io.BytesIO(data))
    return memory.getvalue()


def test_the_source_archive_is_found_in_the_index_and_read_as_an_archive(monkeypatch, tmp_path):
    inner = archive({"hutto/one.txt": b"ratings"})
    outer = archive({"v-1/setup.py": b"raise SystemExit", "v-1/more/inner.tar.gz": inner})
    from pip._internal.models.index import PyPI

    pages = {
        f"{PyPI.simple_url}/vader/": b'<a href="https://host/packages/v-1.tar.gz#sha256=0">v-1.tar.gz</a>',
        "https://host/packages/v-1.tar.gz": outer,
    }
    monkeypatch.setattr(mirrors, "download", pages.__getitem__)
    source = mirrors.source_archive("Vader", "v-1.tar.gz", "inner.tar")
    assert source.fetch(tmp_path, ["one.txt"]) == {"one.txt": b"ratings"}
    with pytest.raises(OSError, match=r"the index has no v-2\.tar\.gz"):
        mirrors.source_archive("Vader", "v-2.tar.gz", "inner.tar").fetch(tmp_path, ["one.txt"])


def test_votes_of_all_kinds_are_counted():
    votes = parse("1\t0.0\tx\n", "1\t0.0\t0\t[0, -1, 1, 0]\n").votes
    np.testing.assert_array_equal(votes, [[1, 0, 2, 1]])
