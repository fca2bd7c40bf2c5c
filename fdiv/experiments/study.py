"""A study: something is measured for many cases, and each is kept in a table of data/results once it is done.

A module that is a study says what its cases are and how one of them is measured. Its command then measures
what the table lacks: a study that was stopped goes on, and several processes share one.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from fdiv.experiments.grid import fields_of
from fdiv.experiments.results import provenance
from fdiv.files import RESULTS, runs_folder, write_text
from fdiv.names import choose

Case = Mapping[str, Any]


@dataclass(frozen=True)
class Study:
    """Many cases, and what is measured for each.

    name: of the table, data/results/NAME.csv.
    cases: for each case the columns that tell it from the others.
    measure: called with the values of these columns; returns the other columns, for one row or for several.
    needs: columns without which a row counts as missing, such as one that was thought of later.

    >>> squares = Study("squares", [{"n": n} for n in range(3)], lambda n: {"square": n * n})
    >>> squares.lacks({"n": 2})
    True
    """

    name: str
    cases: Sequence[Case]
    measure: Callable[..., Case | Sequence[Case]]
    needs: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file of the table."""
        return RESULTS / f"{self.name}.csv"

    def measured(self) -> pd.DataFrame:
        """Return the table, each row with its provenance; empty where nothing was ever measured."""
        try:
            return pd.read_csv(self.path, dtype={"commit": str})  # one of digits alone is no number
        except FileNotFoundError:
            return pd.DataFrame()

    def lacks(self, case: Case, commit: str | None = None) -> bool:
        """Return whether the table has no row of a case; with ``commit``, none that this commit measured."""
        table = self.measured()
        own = table[_rows_of(table, {**case, "commit": commit} if commit else case)]
        return own.empty or not own.reindex(columns=list(self.needs)).notna().all(axis=None)

    def run(self, cases: Sequence[Case], *, anew: bool = False) -> None:
        """Measure the cases that the table lacks; one that another process is at is left to it.

        anew: measure also what another commit has measured.
        """
        commit = str(provenance()["commit"]) if anew else None
        claims = runs_folder() / "studies"
        claims.mkdir(parents=True, exist_ok=True)
        for number, case in enumerate(cases, 1):
            label = " ".join(map(str, case.values()))
            claim = FileLock(claims / (re.sub(r"[^\w.]+", "-", f"{self.name} {label}") + ".lock"))
            try:
                held = claim.acquire(timeout=0)
            except Timeout:
                continue
            with held:
                if self.lacks(case, commit):
                    started = time.perf_counter()
                    self._keep(case, self.measure(*case.values()))
                    seconds = time.perf_counter() - started
                    print(f"{number}/{len(cases)} {label} in {seconds:.1f} s", file=sys.stderr, flush=True)

    def command(self, about: str, summary: Callable[[], object] | None = None) -> None:
        """The command line of the study.

        about: the docstring of its module.
        summary: returns what is printed in the end.
        """
        columns = tuple(self.cases[0])
        parser = argparse.ArgumentParser(description=about.splitlines()[0])
        some = f"some of the cases, by {', '.join(columns)}"
        parser.add_argument("only", nargs="*", metavar="COLUMN=A,B", help=some)
        parser.add_argument("--anew", action="store_true", help="measure again what another commit has")
        asked, cases = parser.parse_args(), list(self.cases)
        try:
            for column, values in fields_of(asked.only, columns, "column of a case").items():
                present = tuple(dict.fromkeys(str(case[column]) for case in cases))
                wanted = {choose(column, value, present) for value in values}
                cases = [case for case in cases if str(case[column]) in wanted]
        except ValueError as error:
            parser.error(str(error))
        self.run(cases, anew=asked.anew)
        if summary is not None:
            print(summary())

    def _keep(self, case: Case, found: Case | Sequence[Case]) -> None:
        """Put the rows of a case into the table, in place of older ones."""
        origin = provenance()
        rows = [{**case, **row, **origin} for row in ([found] if isinstance(found, Mapping) else found)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path.with_name(f".{self.path.name}.lock")):
            before = self.measured()
            table = pd.concat([before[~_rows_of(before, case)], pd.DataFrame(rows)], ignore_index=True)
            write_text(table.to_csv(index=False, float_format="%.6g"), self.path)


def _rows_of(table: pd.DataFrame, case: Case) -> pd.Series:
    """Return for each row of a table whether it is one of the case."""
    return (table.reindex(columns=list(case)) == pd.Series(dict(case))).all(axis=1)
