"""The ``fdiv`` command: run, refresh and check the notebooks, train one run or many, collect results."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fdiv.course import notebooks
from fdiv.course.notebooks import NotebookError, Run
from fdiv.files import runs_folder
from fdiv.modes import MODES


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, run, and turn what the user got wrong into one sentence."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except (NotebookError, ValueError, OSError) as error:
        print(f"fdiv: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # about a reply nobody waits for any more
        print("fdiv: stopped; what had finished is kept, what was running is not", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fdiv", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="execute notebooks with papermill and write them as pages")
    run.add_argument("notebooks", nargs="*", help="such as 04 or 04_mnist; all when none is named")
    run.add_argument("-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), dest="parameters")
    run.add_argument("--out", type=Path, help="folder to write to (default: runs/<MODE>)")
    run.set_defaults(command=_run)

    refresh = commands.add_parser(
        "refresh", help="execute in quick mode and store as the committed notebooks"
    )
    refresh.add_argument("notebooks", nargs="*")
    refresh.set_defaults(command=_refresh)

    check = commands.add_parser("check", help="compare every .py with its executed twin")
    check.set_defaults(command=_check)

    train = commands.add_parser(
        "train", help="one run of the paper; called again, it goes on where it stopped"
    )
    train.add_argument("dataset", help="digits, mnist, fashion-mnist, cifar-10, cifar-100 or clothing1m")
    noise = "a setting of the paper, clean, human-..., or uniform-R or instance-R with a rate such as 0.45"
    train.add_argument("--noise", default="uniform-low", help=noise)
    train.add_argument(
        "--method", default="tv", help="ce, blc, flc, dmi, pl, a divergence, ratio, pearson-logit or plugin"
    )
    train.add_argument("--mode", default="laptop", help="quick, laptop or paper")
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("--correction", default="none", help="for a divergence: none, paper, exact or forward")
    train.add_argument("--transition", default="estimated", help="where T is needed: estimated or true")
    train.add_argument("--variant", default="paper", help="paper, paper-low-rate or authors-code")
    train.add_argument("--out", type=Path, help="folder to write to (default: runs/train/<name of the run>)")
    train.set_defaults(command=_train)

    grid = commands.add_parser("grid", help="all runs of a table; called again, it does what is left")
    grid.add_argument("table", metavar="TABLE", help="a table of the paper, or a YAML file of one's own")
    grid.add_argument("--mode", help="quick, laptop or paper (default: paper)")
    grid.add_argument("--seeds", type=int, help="how many, from 0 up (default: 1)")
    grid.add_argument("--only", nargs="+", default=[], metavar="FIELD=A,B", help="such as method=tv,js")
    grid.add_argument("--set", nargs="+", default=[], metavar="FIELD=A", help="in all runs: dataset=mnist")
    grid.add_argument("--dry-run", action="store_true", help="print the runs and how long they would take")
    grid.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, such as tcp://node1:8786")
    grid.add_argument("--workers", type=int, help="local processes (default: one per GPU or per two cores)")
    grid.set_defaults(command=_grid)

    results = commands.add_parser("results", help="collect finished runs into data/results/accuracies.csv")
    results.add_argument("folder", nargs="?", type=Path, help="below which to look (default: runs)")
    results.set_defaults(command=_results)
    return parser


def _run(options: argparse.Namespace) -> int:
    """Every notebook in turn; one that fails does not stop the others."""
    from fdiv.course import pages

    sources = notebooks.find(options.notebooks)
    given = {name: notebooks.parse_value(value) for name, value in options.parameters}
    for source in sources:
        _check_given(source, given)
    folder = options.out or notebooks.ROOT / "runs" / str(given.get("MODE", "quick"))
    if folder.resolve() == notebooks.FOLDER.resolve():
        raise NotebookError("--out would overwrite the committed notebooks: use  fdiv refresh  for that")
    runs = []
    try:
        for number, source in enumerate(sources, 1):
            print(f"[{number}/{len(sources)}] {source.stem}", flush=True)
            output = folder / f"{source.stem}.ipynb"
            runs.append(notebooks.run(source, output, given, bar=sys.stderr.isatty()))
    finally:  # stopped half-way, the course page must still list what is there
        names = [source.stem for source in notebooks.find() if (folder / f"{source.stem}.ipynb").exists()]
        page = pages.build(folder, names, {run.name: run.seconds for run in runs})
    _table(runs)
    print(f"\npages: {page}")
    return _exit_code(runs)


def _check_given(source: Path, given: Mapping[str, object]) -> None:
    """Refuse parameters that ``source`` cannot run with, saying which notebook it is."""
    try:
        notebooks.check_given(notebooks.read(source), given)
    except (NotebookError, ValueError) as error:
        raise NotebookError(f"{source.stem}: {error}") from None


def _refresh(options: argparse.Namespace) -> int:
    runs = []
    for source in notebooks.find(options.notebooks):
        print(source.stem, flush=True)
        runs.append(notebooks.refresh(source, bar=sys.stderr.isatty()))
    _table(runs)
    return _exit_code(runs)


def _check(_: argparse.Namespace) -> int:
    differences = [line for source in notebooks.find() for line in notebooks.pair_differences(source)]
    for line in differences:
        print(line, file=sys.stderr)
    if differences:
        print("run  fdiv refresh  to execute and pair the notebooks again", file=sys.stderr)
    return 1 if differences else 0


def _train(options: argparse.Namespace) -> int:
    from fdiv.experiments.experiment import Experiment, experiment_folder, run_experiment
    from fdiv.experiments.grids.lesson import epoch_line
    from fdiv.learning.distributed import world

    given = {name: value for name, value in vars(options).items() if name not in ("command", "out")}
    experiment = Experiment(**given)
    folder = options.out or experiment_folder(experiment)
    _, result = run_experiment(experiment, folder, on_epoch=lambda row: print(epoch_line(row), flush=True))
    if world().is_main:  # of the processes that torchrun started
        for name, value in result.items():
            print(f"{name:<26}{value}")
        print(f"\nwritten to {folder}")
    return 0


def _grid(options: argparse.Namespace) -> int:
    from fdiv.experiments.grids import cluster, estimates, progress, runs, tables
    from fdiv.experiments.recipes import STAGES

    if options.workers is not None and options.workers < 1:
        raise ValueError(f"--workers is {options.workers}, but at least one has to do the work")
    chosen = tables.expand(options.table, options.mode, options.seeds)
    chosen = tables.select(tables.change(chosen, _fields(options.set)), _fields(options.only))
    name, folder = Path(options.table).stem, runs_folder() / Path(options.table).stem
    if name in (*MODES, "train", *STAGES):
        raise ValueError(f"a grid cannot be called {name!r}, since runs/{name} holds something else")
    if options.dry_run:
        todo = [run for run in chosen if not (runs.is_delivered(run, folder) or runs.is_finished(run))]
        workers = options.workers or cluster.local_workers()
        seconds = estimates.estimated_seconds(todo, cluster.threads_each(workers))
        print(progress.plan(chosen, seconds, workers))
        return 0
    with _terminated_as_interrupted():
        ended = cluster.run_grid(name, chosen, options.scheduler, options.workers)
    print(f"\n{ended.table()}\n\nwritten to {folder}")
    if ended.stopped is not None:
        print(f"fdiv: {ended.stopped}; call again to go on from the checkpoints", file=sys.stderr)
        return 130 if ended.stopped == cluster.STOPPED else 1
    return 1 if ended.errors else 0


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, which batch systems send when the time is up, ends the block as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _fields(texts: Sequence[str]) -> dict[str, list[str]]:
    """``field=a,b`` as a mapping."""
    wrong = [text for text in texts if "=" not in text]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is not of the form field=value, such as method=tv,js")
    return {name: value.split(",") for name, _, value in (text.partition("=") for text in texts)}


def _results(options: argparse.Namespace) -> int:
    from fdiv.experiments.results import collect

    collected = collect(options.folder or runs_folder())
    print(f"{len(collected)} results in data/results/accuracies.csv")
    loose = sum(str(commit).endswith("+") for commit in collected["commit"])
    if loose:
        print(
            f"{loose} of them come from code in no commit, with a + after it: run them again", file=sys.stderr
        )
    return 0


def _table(runs: Sequence[Run]) -> None:
    """Notebook, seconds, claims checked; then each failure with its first error."""
    width = max(len(run.name) for run in runs)
    print(f"\n{'notebook':<{width}}  seconds  claims checked")
    for run in runs:
        print(f"{run.name:<{width}}  {run.seconds:7.1f}  {'FAILED' if run.error else run.claims:>14}")
    total = sum(run.claims for run in runs)
    print(f"{'all':<{width}}  {sum(run.seconds for run in runs):7.1f}  {total:>14}")
    for run in runs:
        if run.error:
            print(f"\n{run.name} failed: {run.error}")


def _exit_code(runs: Sequence[Run]) -> int:
    return 1 if any(run.error for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
