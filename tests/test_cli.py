"""The ``fdiv`` command on a small course of its own: what it prints, what it leaves, what it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import papermill
import pytest
from command import Said, fdiv
from filelock import FileLock
from waiting import PATIENCE, wait_for

import fdiv as fdiv_package
from fdiv.__main__ import main
from fdiv.course import notebooks, pages
from fdiv.course.notebooks import parse_value, read, tidy, write
from fdiv.course.site.shell import LOOK_UP
from fdiv.datasets import CATALOGUE
from fdiv.experiments import experiment
from fdiv.learning.training import TrainingFailed

OPENING = """# %% [markdown]
# # {number} · {title}
#
# **Why.** Because *it* is small.

# %% tags=["parameters"]
MODE = "quick"
SEED = 0

"""
CHECKED = """# %%
from fdiv.course.lesson import check_parameters, claim
check_parameters(MODE=MODE, SEED=SEED)

"""
GOOD = (
    CHECKED
    + """# %% tags=["claim"]
claim("one is one", 1 == 1)
claim("two is two", 2 == 2)
"""
)
FALSE = (
    CHECKED
    + """# %% tags=["claim"]
claim("one is one", 1 == 1)
claim("one is two", 1 == 2)

# %%
print("never reached")
"""
)
TWO = """# %% tags=["claim"]
print("ok  one is one\\nok  two is two")
"""
DIES = """# %%
import os
os._exit(3)
"""
PLAIN = """# %%
import os
print("MODE", MODE, "SEED", SEED, "threads", os.environ.get("OMP_NUM_THREADS"))

# %% tags=["claim"]
print("ok  it ran")
"""


@dataclass
class Course:
    """A folder like the repository, with notebooks written by the test."""

    root: Path

    def __post_init__(self) -> None:
        (self.root / "notebooks").mkdir(parents=True)

    @property
    def quick(self) -> Path:
        return self.root / "runs" / "quick"

    def add(self, name: str, body: str) -> Path:
        source = self.root / "notebooks" / f"{name}.py"
        opening = OPENING.format(number=name[:2], title=name[3:].title())
        source.write_text(opening + body, encoding="utf-8")
        return source

    def move_in(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(notebooks, "FOLDER", self.root / "notebooks")
        patch.setenv("FDIV_RUNS", str(self.root / "runs"))


@pytest.fixture
def course(tmp_path, monkeypatch):
    course = Course(tmp_path / "clone")
    course.move_in(monkeypatch)
    return course


@pytest.fixture
def no_pages(monkeypatch):
    """The site is not built: a second for each call."""
    monkeypatch.setattr(pages, "build", lambda folder, *_: folder / "index.html")


@pytest.fixture
def no_kernel(monkeypatch):
    """The test fails as soon as anything is executed."""
    monkeypatch.setattr(
        papermill, "execute_notebook", lambda *_, **__: pytest.fail("a notebook was executed")
    )


def files(folder: Path) -> set[str]:
    """What lies in a folder; of a site, without the pages to look things up, which every site has."""
    return {path.name for path in folder.iterdir()} - {f"{name}.html" for name in LOOK_UP}


# One run of four notebooks, two of which fail, over what an earlier run left.


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    course = Course(tmp_path_factory.mktemp("mixed") / "clone")
    for name, body in {"00_good": TWO, "01_false": FALSE, "02_dies": DIES, "03_after": PLAIN}.items():
        course.add(name, body)
    course.quick.mkdir(parents=True)
    for name in ("00_good.failed.ipynb", "01_false.ipynb", "01_false.html", "02_dies.html", "notes.txt"):
        (course.quick / name).write_text("from an earlier day")
    with pytest.MonkeyPatch.context() as patch:
        course.move_in(patch)
        said = fdiv("run")
    return course, said


@pytest.mark.kernel
def test_progress_and_then_a_table(mixed):
    _, said = mixed
    progress, table = said.out.split("\n\n")[:2]
    assert progress.splitlines() == ["[1/4] 00_good", "[2/4] 01_false", "[3/4] 02_dies", "[4/4] 03_after"]
    head, *rows = [line.split() for line in table.splitlines()]
    assert head == ["notebook", "seconds", "claims", "checked"]
    assert [(row[0], row[2]) for row in rows] == [
        ("00_good", "2"), ("01_false", "FAILED"), ("02_dies", "FAILED"), ("03_after", "1"), ("all", "3"),
    ]  # fmt: skip
    seconds = [float(row[1]) for row in rows]
    assert all(0 < one < 60 for one in seconds)
    assert seconds[-1] == pytest.approx(sum(seconds[:-1]), abs=0.3)


@pytest.mark.kernel
def test_a_failure_is_named_with_its_first_error_and_is_the_exit_code(mixed):
    _, said = mixed
    assert said.code == 1
    failures = re.findall(r"^(\w+) failed: (.+)$", said.out, re.MULTILINE)
    assert failures == [
        ("01_false", "cell 3: ClaimError: claim does not hold: one is two"),
        ("02_dies", "DeadKernelError: Kernel died"),
    ]


@pytest.mark.kernel
def test_only_what_succeeded_counts_as_done(mixed):
    course, _ = mixed
    assert files(course.quick) == {
        "00_good.ipynb", "00_good.html", "03_after.ipynb", "03_after.html", "index.html", "assets",
        "01_false.failed.ipynb", "02_dies.failed.ipynb", "notes.txt",
        "01_false.earlier.ipynb", "01_false.earlier.html", "02_dies.earlier.html",
    }  # fmt: skip
    for kept in ("notes.txt", "01_false.earlier.ipynb", "01_false.earlier.html", "02_dies.earlier.html"):
        assert (course.quick / kept).read_text() == "from an earlier day"


@pytest.mark.kernel
def test_a_failed_run_is_kept_up_to_its_error(mixed):
    course, _ = mixed
    failed = nbformat.read(course.quick / "01_false.failed.ipynb", as_version=4)
    code = [cell for cell in failed.cells if cell.cell_type == "code"]
    assert [bool(cell.execution_count) for cell in code] == [True, True, True, False]
    assert [output.output_type for output in code[2].outputs] == ["stream", "error"]


@pytest.mark.kernel
def test_the_course_page_lists_what_succeeded(mixed):
    course, _ = mixed
    index = (course.quick / "index.html").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r'href="(\d\d_\w+\.html)"', index))) == ["00_good.html", "03_after.html"]


@pytest.mark.kernel
def test_a_later_run_overwrites_only_its_own(mixed, monkeypatch, capfd):
    course, _ = mixed
    course.move_in(monkeypatch)
    own = course.quick / "03_after.ipynb"
    others = [course.quick / name for name in ("00_good.ipynb", "01_false.failed.ipynb", "notes.txt")]
    before = [path.read_bytes() for path in others]
    assert "SEED 0" in own.read_text()
    assert main(["run", "03", "-p", "SEED", "7"]) == 0
    assert "SEED 7" in own.read_text()
    assert [path.read_bytes() for path in others] == before
    index = (course.quick / "index.html").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r'href="(\d\d_\w+\.html)"', index))) == ["00_good.html", "03_after.html"]
    assert capfd.readouterr().err == "", "neither a bar nor the kernel's own warnings in a pipe"


# What is refused, before anything runs.


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-p", "MODE", "fast"], r"00_good: MODE is 'fast', which is not one of 'quick' .*'paper' .*"),
        (["-p", "MODE", "None"], r"00_good: MODE is None, but .* wants one of type str, like 'quick'"),
        (["-p", "MOED", "paper"],
         r"00_good: this notebook has no parameter 'MOED' \(did you mean MODE\?\); it has MODE, SEED"),
        (["-p", "seed", "1"],
         r"00_good: this notebook has no parameter 'seed' \(did you mean SEED\?\); it has MODE, SEED"),
        (["-p", "SEED", "one"], r"00_good: SEED is 'one', but this notebook wants one of type int, like 0"),
        (["-p", "SEED", "1.5"], r"00_good: SEED is 1.5, but this notebook wants one of type int, like 0"),
        (["-p", "SEED", "True"], r"00_good: SEED is True, but this notebook wants one of type int, like 0"),
        (["99"], r"no notebook called '99'; there are 00_good, 01_other"),
        (["00", "good"], r"no notebook called 'good'; there are 00_good, 01_other"),
        (["-p", "SEED", "{[]: 1}"], r"00_good: SEED is '{\[\]: 1}', but this notebook wants .*"),
        (["--out", "notebooks"], r"--out would overwrite the committed notebooks: use  fdiv refresh .*"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_leaves_nothing(course, no_kernel, monkeypatch, arguments, sentence):
    course.add("00_good", GOOD)
    course.add("01_other", GOOD)
    monkeypatch.chdir(course.root)
    said = fdiv("run", *arguments)
    assert said.code == 2
    assert said.out == ""
    assert re.fullmatch(f"fdiv: {sentence}\n", said.err), said.err
    assert files(course.root) == {"notebooks"}
    assert files(course.root / "notebooks") == {"00_good.py", "01_other.py"}


def test_a_parameter_only_one_of_the_notebooks_has_is_refused_for_the_other(course, no_kernel):
    course.add("00_good", GOOD)
    extra = course.add("01_extra", GOOD)
    extra.write_text(extra.read_text().replace("SEED = 0", "SEED = 0\nRATE = 0.5"))
    said = fdiv("run", "-p", "RATE", "1")
    assert (said.code, said.err.split(":")[1]) == (2, " 00_good")


def test_outside_a_clone_the_command_says_so(course, no_kernel):
    for command in ("run", "refresh", "check"):
        said = fdiv(command)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert "run this from a clone of the repository" in said.err


def test_a_folder_that_cannot_be_written_is_one_sentence(course, no_kernel, tmp_path):
    course.add("00_good", GOOD)
    (tmp_path / "file").write_text("")
    said = fdiv("run", "--out", str(tmp_path / "file"))
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert str(tmp_path / "file") in said.err


def test_a_cell_of_parameters_is_required(course, no_kernel):
    (course.root / "notebooks" / "00_none.py").write_text("# %%\nMODE = 'quick'\n")
    assert fdiv("run").err == "fdiv: 00_none: 0 cells are tagged 'parameters'; there must be one\n"


def test_a_cell_of_parameters_that_is_no_python_is_one_sentence(course, no_kernel):
    edit(course.add("00_good", GOOD), "SEED = 0", "SEED = = 0")
    said = fdiv("run")
    assert (said.code, said.err) == (
        2, "fdiv: 00_good: its cell of parameters is no Python: invalid syntax, line 2\n",
    )  # fmt: skip


def test_the_notebooks_of_another_clone_are_not_overwritten(course, no_kernel, tmp_path):
    course.add("00_good", GOOD)
    other = Course(tmp_path / "other")
    other.add("00_good", GOOD)
    said = fdiv("run", "--out", str(other.root / "notebooks"))
    assert said.err == "fdiv: --out would overwrite the committed notebooks: use  fdiv refresh  for that\n"


def test_an_old_file_that_is_no_notebook_costs_its_page_only(course, started):
    for name in ("00_good", "01_broken", "02_empty"):
        course.add(name, GOOD)
    course.quick.mkdir(parents=True)
    (course.quick / "01_broken.ipynb").write_text('{"cells": [{"cell')
    (course.quick / "02_empty.ipynb").write_text("{}")
    said = fdiv("run", "00")
    assert said.code == 0
    assert re.search(r"^00_good +\d+\.\d +0$", said.out, re.M), said.out
    assert [line.split(" (")[0] for line in said.err.splitlines()] == [
        "fdiv: 01_broken.ipynb is not a notebook", "fdiv: 02_empty.ipynb is not a notebook",
    ]  # fmt: skip
    assert files(course.quick) >= {"01_broken.ipynb", "02_empty.ipynb", "00_good.html", "index.html"}


def test_an_earlier_output_is_deleted_when_the_new_one_is_there(course, started, monkeypatch):
    course.add("00_good", GOOD)
    course.quick.mkdir(parents=True)
    for name in ("00_good.ipynb", "00_good.html", "00_good.failed.ipynb"):
        (course.quick / name).write_text("from an earlier day")
    with monkeypatch.context() as patch:
        patch.setattr(papermill, "execute_notebook", lambda *_, **__: 1 / 0)
        assert fdiv("run").code == 1
    assert (course.quick / "00_good.earlier.ipynb").read_text() == "from an earlier day"
    assert not (course.quick / "00_good.ipynb").exists(), "it would pass for the result of this run"
    assert fdiv("run").code == 0
    assert files(course.quick) == {"00_good.ipynb", "00_good.html", "index.html", "assets"}


def test_what_killed_commands_left_is_removed_and_what_others_use_is_not(course, started):
    source = course.add("00_good", GOOD)
    course.quick.mkdir(parents=True)
    for name in (".running-dead", ".running-alive"):
        (course.quick / name).mkdir()
        (course.quick / name / "lock").touch()
    with FileLock(course.quick / ".running-alive" / "lock"):
        notebooks.run(source, course.quick / "00_good.ipynb", {})
    assert files(course.quick) == {"00_good.ipynb", ".running-alive"}


# Every error is one sentence, and help needs the core dependencies alone.


def raises(error):
    def fails(*_, **__):
        raise error

    return fails


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (TrainingFailed("the objective\nbecame nan"), "the objective became nan"),
        (MemoryError(), "the memory is full (MemoryError): choose a smaller MODE, or end other programs"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "the memory is full .*"),
        (ValueError("x.pt is no readable checkpoint"), "x.pt is no readable checkpoint"),
        (
            ModuleNotFoundError("No module named 'plotly'"),
            "this needs the notebook tools (No module named 'plotly'):"
            " run  python -m pip install 'fdiv[notebooks]'",
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_goes_wrong_in_training_is_one_sentence(monkeypatch, tmp_path, error, sentence):
    monkeypatch.setattr(experiment, "run_experiment", raises(error))
    said = fdiv("train", "digits", "--mode", "quick", "--out", str(tmp_path))
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err == f"fdiv: {sentence}\n" or re.fullmatch(f"fdiv: {sentence}\n", said.err), said.err


def test_a_folder_of_pictures_is_shown_the_way(tmp_path):
    said = fdiv("train", str(tmp_path))
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert f"fdiv clean {tmp_path}  finds its wrong labels" in said.err
    assert "image_folder" in said.err


def test_a_device_that_cannot_compute_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("FDIV_DEVICE", "meta")
    said = fdiv("train", "digits", "--mode", "quick", "--out", str(tmp_path))
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert said.err.startswith("fdiv: FDIV_DEVICE='meta' cannot be used here")


WITHOUT_EXTRAS = """
import importlib.abc, io, sys, contextlib
EXTRAS = {"anywidget", "cleanlab", "dask", "distributed", "IPython", "ipykernel", "ipywidgets", "jupytext",
          "jupyter_client", "nbclient", "nbconvert", "nbformat", "papermill", "plotly", "torchvision",
          "traitlets", "yaml"}
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from fdiv.__main__ import main
commands = "run", "refresh", "check", "train", "grid", "clean", "results"
for arguments in (["--help"], ["--version"], *([command, "--help"] for command in commands)):
    try:
        main(arguments)
    except SystemExit as end:
        assert end.code == 0
for arguments in (["run"], ["check"], ["grid", "clean"], ["grid", "clean", "--plain"], ["grid", "mine.yml"]):
    assert main(arguments) == 2, arguments
sys.exit(main(["train", "digits", "--mode", "quick", "--noise", "storm"]))
"""


def test_the_help_of_train_names_every_dataset(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    said = "".join(capsys.readouterr().out.split())  # however its lines are broken
    assert [name for name in CATALOGUE if f"{name}," not in said] == []


@pytest.mark.kernel
def test_help_and_training_need_the_core_dependencies_only(tmp_path):
    (tmp_path / "mine.yml").write_text("dataset: digits\nnoise: clean\nmethod: tv\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"FDIV_RUNS": str(tmp_path / "runs")},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    *refused, bad_noise = done.stderr.splitlines()
    assert [re.sub(r" \(.*\)", "", line) for line in refused] == [
        "fdiv: this needs the notebook tools: run  python -m pip install 'fdiv[notebooks]'"
    ] * 5
    assert bad_noise.startswith("fdiv: no digits noise setting is called 'storm'")
    assert f"fdiv {fdiv_package.__version__}" in done.stdout
    assert "example: fdiv train mnist" in done.stdout


def test_a_missing_kernel_is_a_failure_with_its_remedy(course, no_pages, monkeypatch):
    course.add("00_good", GOOD)
    monkeypatch.setitem(notebooks.KERNEL, "name", "nowhere")
    said = fdiv("run")
    assert said.code == 1
    assert "00_good failed: there is no Jupyter kernel 'nowhere' here: run  python -m pip install" in said.out
    assert "Traceback" not in said.out + said.err
    assert not (course.quick / "00_good.ipynb").exists()


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-1", -1), ("0.5", 0.5), ("True", True), ("None", None), ("paper", "paper"), ("true", "true"),
     ("uniform-high", "uniform-high"), ("[1, 2]", [1, 2]), ("1 +", "1 +"), ("'1'", "1")],
)  # fmt: skip
def test_what_a_value_on_the_command_line_means(text, value):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


# Plain papermill, which only warns of a parameter it does not know.


@pytest.fixture
def plain(course, tmp_path):
    notebook = tmp_path / "in.ipynb"
    write(read(course.add("00_good", GOOD)), notebook)
    return notebook


@pytest.mark.kernel
def test_papermill_alone_is_stopped_in_the_second_cell(plain, tmp_path):
    with pytest.raises(papermill.PapermillExecutionError) as stopped:
        papermill.execute_notebook(plain, tmp_path / "out.ipynb", {"MOED": "paper"}, progress_bar=False)
    assert stopped.value.ename == "ValueError"
    assert stopped.value.evalue.startswith("this notebook has no parameter 'MOED' (did you mean MODE?)")
    assert stopped.value.exec_count == 3, "after the parameters and what papermill injected"


# How a kernel is started.


@pytest.fixture
def started(monkeypatch):
    """The environment and the options of each call of papermill, which only copies its input."""
    calls = []

    def pretend(source, output, parameters, **options):
        calls.append((dict(os.environ), options))
        write(nbformat.read(source, as_version=4), Path(output))

    monkeypatch.setattr(papermill, "execute_notebook", pretend)
    return calls


@pytest.mark.parametrize(
    ("mode", "chosen", "threads"),
    [("quick", None, "1"), ("quick", "2", "2"), ("laptop", None, None), ("laptop", "2", "2")],
)
def test_a_quick_kernel_has_one_thread_or_what_the_user_chose(
    course, started, no_pages, monkeypatch, mode, chosen, threads
):
    course.add("00_good", GOOD)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("FDIV_STATIC", raising=False)
    if chosen:
        monkeypatch.setenv("OMP_NUM_THREADS", chosen)
    before = dict(os.environ)
    assert fdiv("run", "-p", "MODE", mode).code == 0
    ((environment, options),) = started
    assert environment.get("OMP_NUM_THREADS") == threads
    assert environment["FDIV_STATIC"] == "1"
    assert bool(options["execution_timeout"]) == (mode == "quick")
    assert dict(os.environ) == before


def test_a_kernel_has_the_package_that_started_it(course, started, no_pages, monkeypatch):
    """And not the installed one, which may belong to another checkout with other code."""
    package = str(Path(notebooks.__file__).parents[2])
    course.add("00_good", GOOD)
    for given, expected in ((None, package), ("mine", os.pathsep.join([package, "mine"]))):
        if given:
            monkeypatch.setenv("PYTHONPATH", given)
        else:
            monkeypatch.delenv("PYTHONPATH", raising=False)
        assert fdiv("run").code == 0
        assert started.pop()[0]["PYTHONPATH"] == expected


@pytest.mark.skipif(os.name == "nt", reason="Windows has no sockets that are files")
def test_kernels_that_start_together_cannot_take_each_others_port(course, started, no_pages):
    course.add("00_good", GOOD)
    course.add("01_other", GOOD)
    fdiv("run")
    managers = [options["config"].KernelManager for _, options in started]
    assert [manager.transport for manager in managers] == ["ipc", "ipc"]
    assert len({manager.ip for manager in managers}) == 2
    assert not any(Path(manager.ip).parent.exists() for manager in managers), "cleaned up"


@pytest.mark.kernel
def test_a_long_run_shows_what_its_cells_print(course):
    course.add("00_plain", PLAIN)
    said = fdiv("run", "-p", "MODE", "laptop")
    assert "MODE laptop SEED 0 threads" in said.out
    assert files(course.root / "runs") == {"laptop"}


# Interrupted.


def test_an_interrupt_keeps_what_had_finished_and_nothing_half_written(course, monkeypatch):
    for name in ("00_first", "01_second", "02_third"):
        course.add(name, PLAIN)

    def interrupted(source, output, parameters, **_):
        write(nbformat.read(source, as_version=4), Path(output))
        if Path(output).stem == "01_second":
            raise KeyboardInterrupt

    course.quick.mkdir(parents=True)
    for name in ("01_second.ipynb", "01_second.html"):
        (course.quick / name).write_text("from an earlier day")
    monkeypatch.setattr(papermill, "execute_notebook", interrupted)
    said = fdiv("run")
    assert said.code == 130
    assert said.err == "fdiv: stopped; what had finished is kept, what was running is not\n"
    assert files(course.quick) == {
        "00_first.ipynb", "00_first.html", "index.html", "assets",
        "01_second.earlier.ipynb", "01_second.earlier.html",
    }  # fmt: skip


WAITS = """# %%
import os, pathlib, time
pathlib.Path({began!r}).write_text(str(os.getpid()))
time.sleep(300)
"""
ELSEWHERE = """
import pathlib, signal, sys
from fdiv.course import notebooks
from fdiv.__main__ import main
signal.signal(signal.SIGINT, signal.default_int_handler)
notebooks.FOLDER = pathlib.Path(sys.argv[1]) / "notebooks"
sys.exit(main(["run"]))
"""


@pytest.mark.kernel
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_control_c_ends_the_command_and_its_kernel(course):
    began = course.root / "began"
    course.add("00_waits", WAITS.format(began=str(began)))
    command = subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE, str(course.root)], stderr=subprocess.PIPE, text=True
    )
    try:
        wait_for(lambda: began.exists() and began.read_text(), "the kernel started")
        command.send_signal(signal.SIGINT)
        _, err = command.communicate(timeout=PATIENCE)
    finally:
        command.kill()
    assert command.returncode == 130
    assert err.splitlines()[-1] == "fdiv: stopped; what had finished is kept, what was running is not"
    assert files(course.quick) == {"index.html", "assets"}
    wait_for(lambda: not alive(int(began.read_text())), "the kernel ended too")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# The committed twins.

TORN = """# %%
import ipywidgets, sys, time
slider = ipywidgets.IntSlider()
for number in range(3):
    print(number, flush=True)
    time.sleep(0.05)

# %%
print("twice")

# %%
print("twice")
"""


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory):
    """A notebook with its twin, and the same after a second refresh."""
    course = Course(tmp_path_factory.mktemp("refreshed") / "clone")
    twin = course.add("00_torn", TORN).with_suffix(".ipynb")
    with pytest.MonkeyPatch.context() as patch:
        course.move_in(patch)
        first = fdiv("refresh")
        once = twin.read_bytes()
        second = fdiv("refresh", "00")
    return course, twin, [first, second], [once, twin.read_bytes()]


@pytest.mark.kernel
def test_refresh_writes_the_same_twin_every_time(refreshed):
    course, _, said, twins = refreshed
    assert [(one.code, one.err) for one in said] == [(0, ""), (0, "")]
    assert re.search(r"^00_torn +\d+\.\d +0$", said[0].out, re.MULTILINE)
    assert twins[0] == twins[1]
    assert files(course.root) == {"notebooks"}
    assert files(course.root / "notebooks") == {"00_torn.py", "00_torn.ipynb"}


@pytest.mark.kernel
def test_a_twin_is_executed_and_holds_nothing_of_the_moment(refreshed):
    _, twin, _, _ = refreshed
    notebook = nbformat.read(twin, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4]
    assert notebook.metadata.keys() == {"kernelspec", "language_info"}
    assert all(cell.metadata.keys() <= {"tags"} for cell in notebook.cells)
    assert [(output.name, output.text) for output in code[1].outputs] == [("stdout", "0\n1\n2\n")]
    identifiers = [cell.id for cell in notebook.cells]
    assert len(set(identifiers)) == len(identifiers)
    assert identifiers[-1] == f"{identifiers[-2]}-2"


@pytest.fixture
def pair(course):
    """A text with its twin."""
    source = course.add("00_torn", TORN)
    write(read(source), source.with_suffix(".ipynb"))
    return source


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.kernel
def test_a_refresh_that_fails_leaves_the_old_twin(pair):
    twin = pair.with_suffix(".ipynb")
    before = twin.read_bytes()
    edit(pair, 'print("twice")', "1 / 0")
    said = fdiv("refresh")
    assert said.code == 1
    assert "00_torn failed: cell 3: ZeroDivisionError: division by zero" in said.out
    assert twin.read_bytes() == before
    assert files(pair.parent) == {pair.name, twin.name}


def test_an_equal_pair_passes(pair):
    assert fdiv("check") == Said(0, "", "")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('print("twice")', 'print("thrice")', "00_torn cell 3: source differs"),
        ("Because *it*", "Since *it*", "00_torn cell 0: source differs"),
        ('tags=["parameters"]', 'tags=["parameters", "x"]', "00_torn cell 1: tags differs"),
        ("# %%\nprint", "# %% [markdown]\n# print", "00_torn cell 3: type differs"),
        ('# %%\nprint("twice")\n\n', "", "00_torn.py has 4 cells, 00_torn.ipynb has 5"),
    ],
)
def test_an_edited_text_is_noticed_and_its_cell_named(pair, old, new, complaint):
    edit(pair, old, new)
    said = fdiv("check")
    assert (said.code, said.out) == (1, "")
    assert complaint in said.err.splitlines()
    assert said.err.splitlines()[-1] == "run  fdiv refresh  to execute and pair the notebooks again"


def test_a_twin_that_is_missing_or_no_notebook_is_noticed(pair):
    twin = pair.with_suffix(".ipynb")
    whole = twin.read_text()
    without = nbformat.reads(whole, as_version=4)
    for cell in without.cells:
        del cell["metadata"]
    for text in ("<<<<<<< HEAD\n" + whole, "{}", "[]", '{"cells": []}', whole[:500], json.dumps(without)):
        twin.write_text(text)
        said = fdiv("check")
        assert (said.code, said.err.count("\n")) == (1, 2), said.err
        assert said.err.startswith("00_torn.ipynb is not a notebook (")
    twin.unlink()
    said = fdiv("check")
    assert (said.code, said.err.splitlines()[0]) == (1, "00_torn.ipynb is missing")


def test_prints_are_joined_but_not_across_a_figure_or_an_error_stream():
    def stream(name, text):
        return nbformat.v4.new_output("stream", name=name, text=text)

    figure = nbformat.v4.new_output("display_data", {"text/plain": "figure"})
    outputs = [
        stream("stdout", "a"),
        stream("stdout", "b\n"),
        stream("stderr", "w"),
        figure,
        stream("stdout", "c"),
    ]
    (cell,) = tidy(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=outputs)])).cells
    assert [one.get("text") for one in cell.outputs] == ["ab\n", "w", None, "c"]
