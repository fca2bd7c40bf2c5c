"""The notebooks as files: finding, pairing, running and refreshing them.

``NN_name.py`` (py:percent) is the source; ``NN_name.ipynb`` is its executed twin.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import jupytext
import nbformat
from filelock import FileLock, Timeout
from nbformat import NotebookNode
from traitlets.config import Config

from fdiv.course.lesson import CLAIM_OK, assigned_literals, refuse_unknown
from fdiv.course.watch import IN_GRID
from fdiv.datasets import CATALOGUE
from fdiv.experiments.experiment import Experiment, plan, stored_result
from fdiv.experiments.grid import LOG, ONE_AT_A_TIME, Outcome, environment, log_head, train_here
from fdiv.experiments.recipes import check_mode
from fdiv.files import ROOT, write_text

FOLDER = ROOT / "notebooks"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# Tags of code that is not shown: what does not teach (imports, checks, plotting), what would tell the answer.
FOLD, PREDICT = "fold", "predict"
CELL_TIMEOUT_QUICK = 300
# The kernel's own log: warnings about its sockets, and now and then the interrupt that ends it. What a cell
# does wrong comes back as an output, and a kernel that dies as an exception: neither passes through this log.
QUIET_KERNEL = ["--log-level=CRITICAL"]


GRID = "grid"  # the tag of the cells that train one run and show what came out


class NotebookError(ValueError):
    """A notebook that could not be found or run, in one sentence."""


class KernelDied(RuntimeError):
    """The process that trained is gone; another attempt goes on from the checkpoint."""


@dataclass(frozen=True)
class Execution:
    """What happened to one notebook: how long it took, the claims it checked, its first error if any."""

    name: str
    seconds: float
    claims: int
    error: str | None = None


def find(names: Iterable[str] = ()) -> list[Path]:
    """The sources called ``names`` ('04', '04_mnist' or a path), or all of them in order."""
    sources = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
    if not sources:
        raise NotebookError(f"there are no notebooks in {FOLDER}: run this from a clone of the repository")
    names = list(names)
    return [_find_one(name, sources) for name in names] if names else sources


def _find_one(name: str, sources: list[Path]) -> Path:
    stem = Path(name).stem
    for source in sources:
        if stem in (source.stem, source.stem[:2]):
            return source
    raise NotebookError(f"no notebook called {name!r}; there are {', '.join(s.stem for s in sources)}")


def read(source: Path) -> NotebookNode:
    """The notebook of a py:percent file, without outputs, with cell ids that depend only on its text."""
    notebook = jupytext.read(source)
    notebook.metadata = NotebookNode(
        kernelspec=NotebookNode(KERNEL), language_info=NotebookNode(name="python")
    )
    return tidy(notebook)


def tidy(notebook: NotebookNode) -> NotebookNode:
    """``notebook`` without what differs between runs: widget state, timestamps, random ids, torn prints."""
    for stale in ("widgets", "papermill", "jupytext"):
        notebook.metadata.pop(stale, None)
    notebook.metadata.language_info = NotebookNode(name="python")
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        cell.metadata = NotebookNode({k: v for k, v in cell.metadata.items() if k == "tags" and v})
        if {FOLD, PREDICT} & set(cell.metadata.get("tags", [])):
            cell.metadata.jupyter = NotebookNode(source_hidden=True)  # JupyterLab shows a bar in its place
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
        for output in cell.get("outputs", []):
            output.get("metadata", {}).clear()
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _joined(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """``outputs`` with consecutive pieces of printed text made one: where it breaks is chance."""
    joined: list[NotebookNode] = []
    for output in outputs:
        before = joined[-1] if joined else {}
        if output.output_type == "stream" and before.get("name") == output.name:
            before.text += output.text
        else:
            joined.append(output)
    return joined


def parameters(notebook: NotebookNode) -> dict[str, object]:
    """Names and defaults in the cell tagged ``parameters``."""
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise NotebookError(f"{len(tagged)} cells are tagged 'parameters'; there must be one")
    try:
        return assigned_literals(tagged[0].source)
    except SyntaxError as error:
        raise NotebookError(
            f"its cell of parameters is no Python: {error.msg}, line {error.lineno}"
        ) from None


def parse_value(text: str) -> object:
    """A number, True, False or None where ``text`` reads as one; otherwise the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def check_given(notebook: NotebookNode, given: Mapping[str, object]) -> None:
    """Refuse, before any kernel starts, a parameter the notebook has not, or of another type."""
    known = parameters(notebook)
    refuse_unknown(given, known)
    for name, value in given.items():
        wanted = type(known[name])
        fits = isinstance(value, wanted) or (wanted is float and type(value) is int)
        if not fits or (wanted is int and type(value) is bool):
            raise ValueError(
                f"{name} is {value!r}, but this notebook wants one of type {wanted.__name__},"
                f" like {known[name]!r}"
            )
    if "MODE" in given:
        check_mode(given["MODE"])


def run(
    source: Path,
    output: Path,
    given: Mapping[str, object],
    *,
    bar: bool = False,
    only: str | None = None,
    log: TextIO | None = None,
) -> Execution:
    """Execute ``source`` with papermill into ``output``, which appears only when the run has succeeded.

    A failed run is kept beside it as ``NN_name.failed.ipynb``. What an earlier run left is set aside as
    ``NN_name.earlier...``, its page too, so that nothing old passes for the result of this run; it is deleted
    when the new one is there.

    only: a tag; cells without it are left out, see ``tagged``.
    log: what the cells print goes there as they print it; otherwise, and not in quick mode, to the terminal.
    """
    notebook = read(source)
    check_given(notebook, given)
    if only is not None:
        notebook = tagged(notebook, only)
    failed = output.with_suffix(".failed.ipynb")
    output.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with _scratch(output.parent) as scratch:
        earlier = []
        for old in (output, output.with_suffix(".html")):
            earlier.append(old.with_suffix(f".earlier{old.suffix}"))
            if old.exists():
                os.replace(old, earlier[-1])
        executed = scratch / output.name
        error = _papermill(notebook, executed, given, bar=bar, log=log)
        if executed.exists():
            result = tidy(nbformat.read(executed, as_version=4))
            write(result, executed)
            os.replace(executed, failed if error else output)
        for stale in () if error else (failed, *earlier):
            stale.unlink(missing_ok=True)
    return Execution(source.stem, time.perf_counter() - start, 0 if error else count_claims(result), error)


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder for unfinished work in ``folder``, removed after it, as are those of killed processes.

    A process holds the lock in its own; where it is free, nobody works there any more.
    """
    for left in folder.glob(".running-*/lock"):
        with contextlib.suppress(Timeout), FileLock(left, timeout=0):
            shutil.rmtree(left.parent, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix=".running-") as name,
        FileLock(Path(name) / "lock"),
    ):
        yield Path(name)


def execute_notebook(experiment: Experiment, runs: str) -> Outcome:
    """Train one run of a grid by executing the cells of its dataset's notebook that are tagged for it.

    The executed notebook lies beside the result. A dataset without a notebook, or a variant, for which none
    has a parameter, is trained as by ``train_here``. A kernel that died raises, since another attempt goes on
    from its checkpoint; everything else that goes wrong is an ``Outcome`` with an error.

    runs: the folder of all runs.
    """
    name = CATALOGUE[experiment.dataset].notebook
    if name is None or experiment.variant != "paper":
        return train_here(experiment, runs)
    start, error = time.perf_counter(), None
    with ONE_AT_A_TIME, environment({"FDIV_RUNS": runs, IN_GRID: "1"}):
        try:
            folder = plan(experiment).folder
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / "notebook.lock"):
                if stored_result(experiment) is None:
                    error = _execute(experiment, find([name])[0], folder)
        except (ValueError, OSError) as problem:
            error = " ".join(str(problem).split())
    return Outcome(time.perf_counter() - start, error)


def _execute(experiment: Experiment, source: Path, folder: Path) -> str | None:
    """Run the notebook with a log, and return its error; the caller holds the lock of the folder."""
    given = grid_parameters(experiment, parameters(read(source)))
    with open(folder / LOG, "a", encoding="utf-8") as log:
        print(log_head(experiment), file=log, flush=True)
        done = run(source, folder / f"{source.stem}.ipynb", given, only=GRID, log=log)
        error = done.error
        if error is None and stored_result(experiment) is None:
            error = f"{source.stem} left no result: do its cells tagged {GRID!r} train into kept_folder?"
        print(f"# {error or 'finished'} after {done.seconds:.0f} s", file=log)
    if error and error.startswith("DeadKernelError"):
        raise KernelDied(error)
    return error


def grid_parameters(experiment: Experiment, known: Mapping[str, object]) -> dict[str, object]:
    """Return what papermill gives a notebook with the parameters ``known``, a single method in any case."""
    given = {
        "MODE": experiment.mode,
        "NOISE": experiment.noise,
        "SEED": experiment.seed,
        "CORRECTION": experiment.correction,
        "TRANSITION": experiment.transition,
    }
    return given | (
        {"METHODS": experiment.method, "SEEDS": 1} if "METHODS" in known else {"METHOD": experiment.method}
    )


def tagged(notebook: NotebookNode, tag: str) -> NotebookNode:
    """The cells of ``notebook`` that are tagged ``tag``, after its title and its parameters."""
    kept = [cell for cell in notebook.cells if {tag, "parameters"} & set(cell.metadata.get("tags", []))]
    if not any(tag in cell.metadata.tags for cell in kept):
        raise NotebookError(f"no cell of this notebook is tagged {tag!r}")
    first = notebook.cells[0]
    if first.cell_type == "markdown" and first not in kept:
        kept.insert(0, NotebookNode(first, source=first.source.splitlines()[0]))
    return tidy(NotebookNode(notebook, cells=kept))


def _papermill(
    notebook: NotebookNode,
    executed: Path,
    given: Mapping[str, object],
    *,
    bar: bool,
    log: TextIO | None,
) -> str | None:
    """Execute and return the first error in one line, or None."""
    import papermill
    from jupyter_client.kernelspec import NoSuchKernel

    quick = given.get("MODE", "quick") == "quick"
    unexecuted = executed.with_name("source.ipynb")
    write(notebook, unexecuted)
    try:
        with environment(_kernel_variables(quick)), tempfile.TemporaryDirectory() as sockets:
            papermill.execute_notebook(
                unexecuted,
                executed,
                dict(given),
                cwd=FOLDER,
                kernel_name=KERNEL["name"],
                progress_bar=bar and quick,
                stdout_file=log or (None if quick else sys.stdout),  # hours of training report as they go
                stderr_file=log or (None if quick else sys.stderr),
                execution_timeout=CELL_TIMEOUT_QUICK if quick else None,
                extra_arguments=QUIET_KERNEL,
                config=_transport(Path(sockets)),
            )
    except papermill.PapermillExecutionError as error:
        return f"cell {error.exec_count}: {error.ename}: {error.evalue}".splitlines()[0]
    except NoSuchKernel:
        return f"there is no Jupyter kernel {KERNEL['name']!r} here: run  python -m pip install ipykernel"
    except Exception as error:  # a kernel that died, a cell that timed out: named like any other failure
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None


def _kernel_variables(quick: bool) -> dict[str, str]:
    """This package, figures drawn once, no debugger's hint; one thread in quick mode unless the user chose.

    Threads of two processes that wait for the same cores make a tiny network many times slower. A kernel
    starts in the notebook's folder, where it would find the installed package, of another checkout perhaps.
    """
    package = str(ROOT)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    threads = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")} if quick else {}
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "FDIV_STATIC": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        **threads,
    }


def _transport(sockets: Path) -> Config:
    """Files instead of ports where the system can: two kernels that start at once may pick the same port."""
    if os.name == "nt":
        return Config()
    return Config({"KernelManager": {"transport": "ipc", "ip": str(sockets / "kernel")}})


def count_claims(notebook: NotebookNode) -> int:
    """How many claims the outputs of ``notebook`` show as checked."""
    return sum(line.startswith(CLAIM_OK) for cell in notebook.cells for line in _printed(cell).splitlines())


def _printed(cell: NotebookNode) -> str:
    return "".join(
        o.text for o in cell.get("outputs", []) if o.output_type == "stream" and o.name == "stdout"
    )


def write(notebook: NotebookNode, path: Path) -> None:
    """Write ``notebook`` so that ``path`` is either the old file or the whole new one."""
    nbformat.validate(notebook)
    write_text(nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n", path)


def refresh(source: Path, *, bar: bool = False) -> Execution:
    """Execute ``source`` in quick mode and store the result as its committed twin."""
    with tempfile.TemporaryDirectory() as scratch:
        executed = Path(scratch) / f"{source.stem}.ipynb"
        done = run(source, executed, {}, bar=bar)
        if done.error is None:
            write(nbformat.read(executed, as_version=4), source.with_suffix(".ipynb"))
    return done


def problem_of(notebook: Path) -> str | None:
    """Return why a file is no notebook, in one sentence, or None."""
    try:
        cells = nbformat.read(notebook, as_version=4).cells
        if all(cell.keys() >= {"cell_type", "source", "metadata"} for cell in cells) and cells:
            return None
        reason = "it has no cells" if not cells else "a cell lacks its type, source or metadata"
    except Exception as error:  # the marks of a merge conflict, an empty object, a cut in the middle
        reason = type(error).__name__
    return f"{notebook.name} is not a notebook ({reason})"


def pair_differences(source: Path) -> list[str]:
    """Where the text and its executed twin differ in type, source or tags of a cell; empty when equal."""
    twin = source.with_suffix(".ipynb")
    if not twin.exists():
        return [f"{twin.name} is missing"]
    if problem := problem_of(twin):
        return [problem]
    executed = nbformat.read(twin, as_version=4).cells
    text = read(source).cells
    differences = [
        f"{source.stem} cell {index}: {what} differs"
        for index, (a, b) in enumerate(zip(text, executed, strict=False))
        for what, of in _COMPARED.items()
        if of(a) != of(b)
    ]
    if len(text) != len(executed):
        differences.append(f"{source.name} has {len(text)} cells, {twin.name} has {len(executed)}")
    return differences


_COMPARED: dict[str, Callable[[NotebookNode], object]] = {
    "type": lambda cell: cell.cell_type,
    "source": lambda cell: cell.source.strip(),
    "tags": lambda cell: sorted(cell.metadata.get("tags", [])),
}
