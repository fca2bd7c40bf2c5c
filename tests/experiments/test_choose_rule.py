"""Where the rule of auto comes from: the file of the choice, and that no table is used twice."""

from fdiv.datasets.tables import OTHER_TABLES, TABLES
from fdiv.experiments import choose_rule
from fdiv.experiments.own_tables import NOISES
from fdiv.learning.estimator import FLOOR
from fdiv.learning.recommendation import FORETOLD

CHOSEN = f"kl, or plugin where flips are uneven and {FORETOLD:.0%} of labels foretold"


def test_no_table_is_both_for_choosing_and_for_comparing():
    assert not set(OTHER_TABLES) & set(TABLES)


def test_made_tables_have_the_classes_they_say():
    X, y = OTHER_TABLES["made-five"].load()
    assert len(X) == len(y) == 1200
    assert set(y) == set(range(5))


def test_the_committed_choice_is_whole():
    cells = choose_rule.measured().groupby(["table", "noise", "seed"])["method"].agg(tuple)
    assert len(cells) == len(OTHER_TABLES) * len(NOISES) * len(choose_rule.SEEDS)
    assert set(cells) == {choose_rule.LOSSES}


def test_the_rule_is_the_best_of_those_that_lose_no_class():
    found = choose_rule.compared(choose_rule.measured())
    keeping = found[found[f"lost {FLOOR:g}"] == 0]
    assert keeping[f"accuracy {FLOOR:g}"].idxmax() == CHOSEN
