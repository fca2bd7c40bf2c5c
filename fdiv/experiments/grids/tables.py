"""What to run: the tables of the paper, or a file of one's own, as lists of experiments.

The paper's grids are read from its tables in data/paper, so that no cell of a table can be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from fdiv.experiments.experiment import Experiment, canonical
from fdiv.experiments.results import ROW, TABLES, paper_robustness, paper_table
from fdiv.names import choose

GRIDS = TABLES | {
    "robustness-figure": "the paper's figure: 3 divergences under ten rates of uniform noise",
}
FIELDS = tuple(field.name for field in fields(Experiment))
Values = Mapping[str, Sequence[str]]


def expand(table: str, mode: str | None = None, seeds: int | None = None) -> list[Experiment]:
    """The runs of a grid, each once.

    table: a name of ``GRIDS``, or a YAML file, see ``read_file``.
    mode, seeds: the MODE of all runs, and how many seeds from 0 up; "paper" and 1 where a file says nothing.
    """
    if table.endswith((".yml", ".yaml")):
        rows = read_file(Path(table))
    else:
        rows = _rows(choose("grid", table, tuple(GRIDS)))
    if seeds is not None and seeds < 1:
        raise ValueError(f"--seeds is {seeds}, but a grid has at least one seed")
    given = {} if mode is None else {"mode": mode}
    numbers = [{}] if seeds is None else [{"seed": seed} for seed in range(seeds)]
    return _unique(Experiment(**{"mode": "paper"} | row | given | seed) for row in rows for seed in numbers)


def _rows(table: str) -> list[dict[str, Any]]:
    """The fields of each run of a table of the paper."""
    if table == "robustness-figure":
        return paper_robustness()[ROW].to_dict("records")
    rows = paper_table(table)[ROW].to_dict("records")
    oracle = {"correction": "paper", "transition": "true"} if table.startswith("bias") else {}
    return [row | oracle for row in rows]


def read_file(path: Path) -> list[dict[str, Any]]:
    """The runs of a YAML file: a mapping from fields of ``Experiment`` to values, or a list of such mappings.

    Where a field has several values, every combination is a run.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    rows = []
    for block in content if isinstance(content, list) else [content]:
        if not isinstance(block, dict) or not {"dataset", "noise", "method"} <= block.keys():
            raise ValueError(f"{path} must give dataset, noise and method, each a value or a list of values")
        names = [choose(f"field of a run in {path}", name, FIELDS) for name in block]
        values = [value if isinstance(value, list) else [value] for value in block.values()]
        rows += [dict(zip(names, row, strict=True)) for row in product(*values)]
    if not rows:
        raise ValueError(f"{path} lists no run: a field has no value")
    return rows


def change(runs: Sequence[Experiment], changes: Values) -> list[Experiment]:
    """The runs with some fields replaced, as by ``--set dataset=mnist``."""
    for name, values in changes.items():
        name = choose("field of a run", name, FIELDS)
        if len(values) != 1:
            raise ValueError(f"--set {name} takes one value, not {len(values)}")
        value = int(values[0]) if name == "seed" and values[0].isdecimal() else values[0]
        runs = [replace(run, **{name: value}) for run in runs]
    return _unique(runs)


def select(runs: Sequence[Experiment], only: Values) -> list[Experiment]:
    """The runs whose fields have one of the given values, as by ``--only method=tv,js noise=sparse-high``."""
    for name, values in only.items():
        name = choose("field of a run", name, FIELDS)
        present = tuple(dict.fromkeys(str(getattr(run, name)) for run in runs))
        chosen = {choose(f"{name} among the runs of this grid", value, present) for value in values}
        runs = [run for run in runs if str(getattr(run, name)) in chosen]
    return list(runs)


def _unique(runs: Iterable[Experiment]) -> list[Experiment]:
    return list({run.name: run for run in map(canonical, runs)}.values())
