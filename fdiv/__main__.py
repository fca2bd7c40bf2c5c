"""The ``fdiv`` command: run, refresh and check the notebooks, train one run or many, collect results."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fdiv
from fdiv.files import runs_folder
from fdiv.names import TOOLS, printable

if TYPE_CHECKING:
    from fdiv.course.notebooks import Execution

CLEAN_EXAMPLE = "examples: fdiv clean table.csv --label kind · fdiv clean photos/ --labels labels.csv"
EXAMPLE = "example: fdiv train mnist --noise uniform-high --method tv --mode laptop"


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, run, and turn what went wrong into one sentence; ``python -X dev -m fdiv`` shows where."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except (ValueError, OSError, RuntimeError, MemoryError, ImportError) as error:
        if sys.flags.dev_mode:
            raise
        print(f"fdiv: {_sentence(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # about a reply nobody waits for any more
        print("fdiv: stopped; what had finished is kept, what was running is not", file=sys.stderr)
        return 130


def _sentence(error: Exception) -> str:
    said = printable(" ".join(line.strip() for line in str(error).splitlines())) or type(error).__name__
    if isinstance(error, ModuleNotFoundError) and "fdiv" not in said:
        return TOOLS.format("this", said)
    if isinstance(error, MemoryError) or "out of memory" in said or "allocate memory" in said:
        return f"the memory is full ({said[:99]}): choose a smaller MODE, or end other programs"
    return said


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fdiv", description=__doc__)
    parser.add_argument("--version", action="version", version=f"fdiv {fdiv.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="execute notebooks with papermill and write them as pages")
    run.add_argument("notebooks", nargs="*", help="such as 04 or 04_mnist; all when none is named")
    run.add_argument(
        *("-p", "--parameter"), nargs=2, action="append", default=[], metavar=("NAME", "VALUE"),
        dest="parameters", help="a parameter of the notebooks, such as  -p MODE laptop  or  -p SEED 1",
    )  # fmt: skip
    run.add_argument("--out", type=Path, help="folder to write to (default: runs/<MODE>)")
    run.set_defaults(command=_run)

    refresh = commands.add_parser(
        "refresh", help="execute in quick mode and store as the committed notebooks"
    )
    refresh.add_argument("notebooks", nargs="*", help="such as 04 or 04_mnist; all when none is named")
    refresh.set_defaults(command=_refresh)

    check = commands.add_parser("check", help="compare every .py with its executed twin")
    check.set_defaults(command=_check)

    one = "one run of the paper; called again, it goes on where it stopped"
    train = commands.add_parser("train", help=one, description=one, epilog=EXAMPLE)
    known = "digits, paired-digits, mnist, fashion-mnist, cifar-10, cifar-10-features, cifar-100, clothing1m"
    train.add_argument("dataset", help=f"{known}, or one of your own (FDIV_PLUGINS)")
    noise = "a setting of the paper, clean, human-..., or a pattern with a rate, such as uniform-0.45"
    train.add_argument("--noise", default="uniform-low", help=noise)
    method = "ce, blc, flc, dmi, pl, a divergence, ratio, pearson-logit, plugin, or a later loss such as gce"
    train.add_argument("--method", default="tv", help=method)
    train.add_argument("--mode", default="laptop", help="quick, laptop or paper")
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("--correction", default="none", help="for a divergence: none, paper, exact or forward")
    train.add_argument("--transition", default="estimated", help="where T is needed: estimated or true")
    variants = "paper, authors-code, long, averaged, strong, sam or shifted"
    train.add_argument("--variant", default="paper", help=variants)
    train.add_argument("--out", type=Path, help="folder to write to (default: runs/train/<name of the run>)")
    train.set_defaults(command=_train)

    grid = commands.add_parser("grid", help="all runs of a table; called again, it does what is left")
    grid.add_argument("table", metavar="TABLE", help="a table of the paper, or a YAML file of one's own")
    grid.add_argument("--mode", help="quick, laptop or paper (default: paper)")
    grid.add_argument("--seeds", type=int, help="how many, from 0 up (default: 1)")
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    grid.add_argument("--only", **several, metavar="FIELD=A,B", help="some of the runs: method=tv,js")
    grid.add_argument("--set", **several, metavar="FIELD=A", help="in all runs: dataset=mnist")
    grid.add_argument("--plain", action="store_true", help="train directly, without the dataset's notebook")
    grid.add_argument("--dry-run", action="store_true", help="print the runs and how long they would take")
    grid.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster, such as tcp://node1:8786")
    grid.add_argument("--workers", type=int, help="local processes (default: one per GPU or per two cores)")
    grid.set_defaults(command=_grid)

    find = "find wrong labels in your own table, embeddings or pictures"
    clean = commands.add_parser("clean", help=find, description=find, epilog=CLEAN_EXAMPLE)
    clean.add_argument("data", help="a table (.csv), embeddings (.npy), or a folder of pictures")
    clean.add_argument(
        "--label", metavar="NAME", help="the column of the labels, in the table or in --labels"
    )
    clean.add_argument(
        "--labels", metavar="FILE", help="the labels of embeddings or pictures, a .csv or .npy"
    )
    clean.add_argument(
        "--folds", type=int, default=5, help="each label is judged without its fold (default: 5)"
    )
    clean.add_argument("--seed", type=int, default=0)
    clean.add_argument("--out", type=Path, default=Path("."), help="folder to write to (default: this one)")
    clean.set_defaults(command=_clean)

    results = commands.add_parser("results", help="collect finished runs into data/results/accuracies.csv")
    results.add_argument("folder", nargs="?", type=Path, help="below which to look (default: runs)")
    results.set_defaults(command=_results)
    return parser


def _run(options: argparse.Namespace) -> int:
    """Every notebook in turn; one that fails does not stop the others."""
    from fdiv.course import notebooks, pages

    sources = notebooks.find(options.notebooks)
    given = {name: notebooks.parse_value(value) for name, value in options.parameters}
    for source in sources:
        _check_given(source, given)
    folder = options.out or runs_folder() / str(given.get("MODE", "quick"))
    if any(folder.glob("[0-9][0-9]_*.py")):
        raise ValueError("--out would overwrite the committed notebooks: use  fdiv refresh  for that")
    done: list[Execution] = []
    try:
        for number, source in enumerate(sources, 1):
            print(f"[{number}/{len(sources)}] {source.stem}", flush=True)
            output = folder / f"{source.stem}.ipynb"
            done.append(notebooks.run(source, output, given, bar=sys.stderr.isatty()))
    finally:  # stopped half-way, the course page must still list what is there
        if len(done) == len(sources):
            _table(done)
        names = [source.stem for source in notebooks.find() if _has_page(folder / f"{source.stem}.ipynb")]
        page = pages.build(folder, names, {one.name: one.seconds for one in done})
    print(f"\npages: {page}")
    return _exit_code(done)


def _has_page(notebook: Path) -> bool:
    """Return whether there is a notebook that can be shown; tell of a file that is none."""
    from fdiv.course import notebooks

    if not notebook.exists():
        return False
    problem = notebooks.problem_of(notebook)
    if problem:
        print(f"fdiv: {problem}, so it has no page: delete it, or run it again", file=sys.stderr)
    return not problem


def _check_given(source: Path, given: Mapping[str, object]) -> None:
    """Refuse parameters that ``source`` cannot run with, saying which notebook it is."""
    from fdiv.course import notebooks

    try:
        notebooks.check_given(notebooks.read(source), given)
    except ValueError as error:
        raise ValueError(f"{source.stem}: {error}") from None


def _refresh(options: argparse.Namespace) -> int:
    from fdiv.course import notebooks

    done = []
    for source in notebooks.find(options.notebooks):
        print(source.stem, flush=True)
        done.append(notebooks.refresh(source, bar=sys.stderr.isatty()))
    _table(done)
    return _exit_code(done)


def _check(_: argparse.Namespace) -> int:
    from fdiv.course import notebooks

    differences = [line for source in notebooks.find() for line in notebooks.pair_differences(source)]
    for line in differences:
        print(line, file=sys.stderr)
    if differences:
        print("run  fdiv refresh  to execute and pair the notebooks again", file=sys.stderr)
    return 1 if differences else 0


def _train(options: argparse.Namespace) -> int:
    from fdiv.experiments.experiment import Experiment, plan, run_experiment
    from fdiv.experiments.grid import epoch_line
    from fdiv.learning.distributed import world

    if "/" in options.dataset and Path(options.dataset).is_dir():
        raise ValueError(
            f"{options.dataset} is a folder:  fdiv clean {options.dataset}  finds its wrong labels; to train"
            " on it, register fdiv.datasets.own.image_folder(...) in a file that FDIV_PLUGINS names"
        )
    given = {name: value for name, value in vars(options).items() if name not in ("command", "out")}
    experiment = Experiment(**given)
    folder = options.out or plan(experiment).folder
    _, result = run_experiment(experiment, folder, on_epoch=lambda row: print(epoch_line(row), flush=True))
    if world().is_main:  # of the processes that torchrun started
        for name, value in result.items():
            print(f"{name:<26}{value}")
        print(f"\nwritten to {folder}")
    return 0


def _grid(options: argparse.Namespace) -> int:
    from fdiv.experiments import grid

    if options.workers is not None and options.workers < 1:
        raise ValueError(f"--workers is {options.workers}, but at least one has to do the work")
    name = grid.grid_name(options.table)
    chosen = grid.expand(options.table, options.mode, options.seeds)
    chosen = grid.select(grid.change(chosen, grid.fields_of(options.set)), grid.fields_of(options.only))
    if options.dry_run:
        print(grid.forecast(chosen, options.workers or grid.local_workers()))
        return 0
    execute = grid.train_here
    if not options.plain:
        from fdiv.course.notebooks import execute_notebook as execute
    with _terminated_as_interrupted():
        ended = grid.run_grid(
            name, chosen, scheduler=options.scheduler, workers=options.workers, execute=execute
        )
    print(f"\n{ended.table()}\n\nlisted in {ended.file}")
    if ended.stopped is not None:
        print(f"fdiv: {ended.stopped}; call again to go on from the checkpoints", file=sys.stderr)
        return 130 if ended.stopped == grid.STOPPED else 1
    return 1 if ended.errors() else 0


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, which batch systems send when the time is up, ends the block as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _clean(options: argparse.Namespace) -> int:
    from fdiv.learning.cleaning import clean, writable

    writable(options.out)  # before an hour of training, not after
    report = clean(options.data, options.labels, label=options.label, folds=options.folds, seed=options.seed)
    table, page = report.write(options.out)
    print(report)
    print(f"\n{table}  all labels, the most suspicious first\n{page}  to look at, in any browser")
    return 0


def _results(options: argparse.Namespace) -> int:
    from fdiv.experiments import report
    from fdiv.experiments.results import collect

    collected = collect(options.folder or runs_folder())
    report.write()
    print(f"{len(collected)} results in data/results/accuracies.csv, and their tables in README.md beside it")
    loose = sum(str(commit).endswith("+") for commit in collected["commit"])
    if loose:
        print(
            f"{loose} of them came from uncommitted code (their commit ends in +): run them again",
            file=sys.stderr,
        )
    return 0


def _table(runs: Sequence[Execution]) -> None:
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


def _exit_code(runs: Sequence[Execution]) -> int:
    return 1 if any(run.error for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
