"""Every kind of fault of torture.py, a few times; ``make torture`` runs each of them some hundred times."""

import pytest
from torture import KINDS, run_kind

pytestmark = [pytest.mark.slow, pytest.mark.kernel]


@pytest.mark.parametrize("name", KINDS)
def test_every_fault_is_survived_or_refused_in_a_sentence(name):
    counts, said = run_kind(KINDS[name], cases=3, seed=1)
    assert said == []
    assert sum(counts.values()) >= 1


def test_there_are_many_kinds():
    assert len(KINDS) >= 60
