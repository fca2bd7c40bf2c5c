"""What the guide and notebook 14 say of tweets and photographs is what was measured."""

import re
from pathlib import Path

import numpy as np
from scipy import stats

from fdiv.experiments import own_data

GUIDE = Path(__file__).resolve().parents[2] / "fdiv" / "course" / "guides" / "own_data.md"


def test_every_case_was_measured_with_every_seed():
    rows = own_data.measured()
    study = own_data.STUDY
    assert not [case for case in study.cases if study.lacks(case)]
    assert len(rows) == len(study.cases)
    assert not rows["commit"].str.endswith("+").any()


def test_the_gain_of_sentence_embeddings_is_as_the_guide_says():
    rows = own_data.measured().query("method == 'ce-stopped'")
    by_seed = rows.pivot_table(index="seed", columns="data", values="accuracy")
    gain = 100 * (by_seed["tweets as sentences"] - by_seed["tweets as words"])
    half = stats.t.ppf(0.975, len(gain) - 1) * gain.std() / len(gain) ** 0.5
    text = GUIDE.read_text(encoding="utf-8")
    said = re.search(r"worth ([\d.]+) points of accuracy \(95 % interval ([\d.]+) to ([\d.]+)", text)
    assert np.allclose(
        [float(number) for number in said.groups()],
        [gain.mean(), gain.mean() - half, gain.mean() + half],
        atol=0.051,
    )


def test_the_two_ways_to_read_a_tweet_are_two_cases(monkeypatch):
    """Sentences are left out where their encoder is missing, and never replaced by words in silence."""
    monkeypatch.setattr(own_data, "examples", lambda data, labels: data)
    monkeypatch.setattr(own_data, "accuracy", lambda case, method, seed: {"accuracy": 0.5})
    for spec, expected in ((None, False), (object(), True)):
        monkeypatch.setattr(own_data.importlib.util, "find_spec", lambda name, spec=spec: spec)
        found = set(own_data.compare(0)["data"])
        assert ("tweets as sentences" in found) == expected
        assert {"tweets as words", "photographs"} <= found
