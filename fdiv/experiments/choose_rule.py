"""Which rule does ``loss="auto"`` follow? Chosen on other tables than those of the comparison.

``python -m fdiv.experiments.choose_rule`` trains the candidates on the tables of ``OTHER_TABLES`` with the
noises of ``own_tables``, and writes data/results/choose_rule.csv: for each training the accuracy on clean
labels and the classes lost, as trained and with a floor under each class, and what a rule may look at.
``AUTO_RULES`` are the rules that were compared; ``compared`` is their table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product

import pandas as pd

from fdiv.datasets.tables import OTHER_TABLES
from fdiv.experiments.own_tables import NOISES, noisy_table
from fdiv.experiments.study import Study
from fdiv.learning.estimator import RobustClassifier, raised
from fdiv.learning.recommendation import CANDIDATES, CONCENTRATED, look

SEEDS = (0, 1)
ROWS = 400
LOSSES = ("ce", "tv", "kl", "gce", "plugin")
FLOORS = (0.0, 0.15, 0.25, 0.4)  # how often a class is answered at least, against how often it is a label
Rule = Callable[[pd.DataFrame], str]


def train(table: str, kind: str, seed: int) -> list[dict[str, object]]:
    """Train the candidates on one noisy table; a row for each."""
    data = noisy_table(OTHER_TABLES[table], kind, seed, ROWS)
    K = int(data.clean.max()) + 1
    evidence = look(data.numbers, data.noisy, K, None, seed)
    common = {
        "rows": len(data.X), "imbalance": evidence.imbalance, "concentration": evidence.concentration,
        "classes": K, "foretold": evidence.foretold,
    }  # fmt: skip
    rows: list[dict[str, object]] = []
    for name in LOSSES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = RobustClassifier(random_state=seed, **CANDIDATES[name]).fit(data.X, data.noisy)
        judged = model.history_["validation_accuracy"].iloc[model.best_epoch_ - 1]
        row = common | {"method": name, "validation": judged}
        z, z_test = model.logits(data.X), model.logits(data.X_test)
        for floor in FLOORS:
            predicted = (z_test + raised(z, data.noisy, floor)).argmax(1)
            row |= {f"accuracy {floor:g}": (predicted == data.y_test).mean()}
            row |= {f"lost {floor:g}": data.lost(predicted)}
        rows.append(row)
    return rows


def _always(name: str) -> Rule:
    return lambda one: name


def _plugin_or(other: str, foretold: float = 0) -> Rule:
    """The plug-in where flips prefer certain labels and enough labels can be foretold, else the other one."""

    def choose(one: pd.DataFrame) -> str:
        seen = one.iloc[0]
        uneven = seen["concentration"] > CONCENTRATED[int(seen["classes"] == 2)]
        return "plugin" if uneven and seen["foretold"] >= foretold else other

    return choose


def _gce_or_tv(imbalance: float) -> Rule:
    return lambda one: "gce" if one["imbalance"].iloc[0] > imbalance else "tv"


def _best_on_validation(*names: str) -> Rule:
    def choose(one: pd.DataFrame) -> str:
        return str(one.loc[list(names), "validation"].idxmax())

    return choose


AUTO_RULES: dict[str, Rule] = {
    **{f"always {name}": _always(name) for name in LOSSES},
    "tv, or plugin where flips are uneven": _plugin_or("tv"),
    "kl, or plugin where flips are uneven": _plugin_or("kl"),
    **{
        f"kl, or plugin where flips are uneven and {share:.0%} of labels foretold": _plugin_or("kl", share)
        for share in (0.4, 0.5, 0.6)
    },
    "gce where labels are unbalanced, else tv": _gce_or_tv(1.3),
    "gce where labels are very unbalanced, else tv": _gce_or_tv(3),
    "plugin where flips are uneven, else gce where labels are unbalanced, else tv": lambda one: (
        "plugin" if _plugin_or("tv")(one) == "plugin" else _gce_or_tv(1.3)(one)
    ),
    "best of tv, gce on validation": _best_on_validation("tv", "gce"),
    "best of tv, kl on validation": _best_on_validation("tv", "kl"),
    "best of tv, kl, gce on validation": _best_on_validation("tv", "kl", "gce"),
    "best of tv, kl, plugin on validation": _best_on_validation("tv", "kl", "plugin"),
    "best of tv, kl, gce, plugin on validation": _best_on_validation("tv", "kl", "gce", "plugin"),
}


STUDY = Study(
    "choose_rule",
    [{"table": t, "noise": kind, "seed": seed} for seed, t, kind in product(SEEDS, OTHER_TABLES, NOISES)],
    train,
)
measured = STUDY.measured


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each rule and floor the mean accuracy in percent and the share of runs that lose a class.

    table: rows as ``measured`` returns them.
    """
    found: dict[str, dict[str, float]] = {}
    cells = [one.set_index("method") for _, one in table.groupby(["table", "noise", "seed"], sort=False)]
    for name, rule in AUTO_RULES.items():
        taken = pd.DataFrame([one.loc[rule(one)] for one in cells])
        found[name] = {f"accuracy {f:g}": 100 * taken[f"accuracy {f:g}"].mean() for f in FLOORS}
        found[name] |= {f"lost {f:g}": 100 * (taken[f"lost {f:g}"] > 0).mean() for f in FLOORS}
    return pd.DataFrame(found).T.round(1)


if __name__ == "__main__":
    STUDY.command(__doc__, lambda: compared(measured()).to_string())
