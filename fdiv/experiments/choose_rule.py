"""Which rule does ``loss="auto"`` follow? Chosen on other tables than those of the comparison.

``python -m fdiv.experiments.choose_rule`` trains the candidates on the tables of ``OTHER_TABLES`` with the
noises of ``own_tables``, and writes data/results/choose_rule.csv: for each training the accuracy on clean
labels and the classes lost, as trained and with a floor under each class, and what a rule may look at.
``AUTO_RULES`` are the rules that were compared; ``compared`` is their table.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable

import pandas as pd

from fdiv.datasets.tables import OTHER_TABLES
from fdiv.experiments.own_tables import NOISES, _place
from fdiv.experiments.results import provenance
from fdiv.files import RESULTS, write_text
from fdiv.learning.columns import Columns
from fdiv.learning.estimator import RobustClassifier, raised
from fdiv.learning.recommend import CANDIDATES, CONCENTRATED, look

__all__ = ["AUTO_RULES", "FLOORS", "compared", "measured"]

FILE = RESULTS / "choose_rule.csv"
SEEDS = (0, 1)
ROWS = 400
LOSSES = ("ce", "tv", "kl", "gce", "plugin")
FLOORS = (0.0, 0.15, 0.25, 0.4)  # how often a class is answered at least, against how often it is a label
Rule = Callable[[pd.DataFrame], str]


def cell(table: str, kind: str, seed: int) -> list[dict[str, object]]:
    """Train the candidates on one noisy table; a row for each."""
    from sklearn.model_selection import train_test_split

    X, y = OTHER_TABLES[table].load()
    size = min(ROWS, int(0.7 * len(y)))
    X, X_test, y, y_test = train_test_split(X, y, train_size=size, random_state=seed, stratify=y)
    numbers = Columns().fit(X).transform(X)
    K = int(y.max()) + 1
    noisy = NOISES[kind](numbers, y, K, seed)
    evidence = look(numbers, noisy, K, None, seed)
    common = {
        "table": table, "noise": kind, "seed": seed, "rows": size, "imbalance": evidence.imbalance,
        "concentration": evidence.concentration, "classes": K, "foretold": evidence.foretold,
    }  # fmt: skip
    rows: list[dict[str, object]] = []
    for name in LOSSES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = RobustClassifier(random_state=seed, **CANDIDATES[name]).fit(X, noisy)
        judged = model.history_["validation_accuracy"].iloc[model.best_epoch_ - 1]
        row = common | {"method": name, "validation": judged}
        z, z_test = model.logits(X), model.logits(X_test)
        for floor in FLOORS:
            predicted = (z_test + raised(z, noisy, floor)).argmax(1)
            lost = sum((predicted == k).sum() < (y_test == k).sum() / 10 for k in range(K))
            row |= {f"accuracy {floor:g}": (predicted == y_test).mean(), f"lost {floor:g}": int(lost)}
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


def run() -> None:
    """Train the cells that are not yet there, and write the results if none is missing."""
    now = provenance()
    paths = {}
    for seed in SEEDS:
        for table in OTHER_TABLES:
            for kind in NOISES:
                path = _place(f"rule-{now['commit']}", table, kind, seed)
                path.parent.mkdir(parents=True, exist_ok=True)
                paths[path] = (table, kind, seed)
    for path, key in paths.items():
        try:
            path.with_suffix(".begun").touch(exist_ok=False)  # so that several processes share the work
        except FileExistsError:
            continue
        write_text(json.dumps([row | now for row in cell(*key)], default=float), path)
    if all(path.exists() for path in paths):
        rows = [row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))]
        write_text(pd.DataFrame(rows).to_csv(index=False, float_format="%.5g"), FILE)


def measured() -> pd.DataFrame:
    """Return what ``run`` wrote for this repository."""
    return pd.read_csv(FILE)


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


def main() -> None:
    """The command line."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    run()
    if FILE.exists():
        print(compared(measured()).to_string())


if __name__ == "__main__":
    main()
