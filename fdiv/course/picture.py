"""The picture of the README, drawn from the outputs stored in notebook 00: python -m fdiv.course.picture."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import nbformat

from fdiv.course.notebooks import FOLDER
from fdiv.course.site.lessons import PLOTLY
from fdiv.course.twins import numbers
from fdiv.files import ROOT
from fdiv.learning.methods import METHODS

PICTURE = ROOT / "data" / "figures" / "start_here.png"
TITLES = ("Accuracy on clean test digits", "Wrong labels learned by heart")


def stored_curves() -> dict[str, dict[str, list[float]]]:
    """Title to line name to y values, of the two figures that notebook 00 stored when it last ran."""
    notebook = nbformat.read(FOLDER / "00_start_here.ipynb", as_version=4)
    figures = [
        o.data[PLOTLY] for c in notebook.cells for o in c.get("outputs", []) if PLOTLY in o.get("data", {})
    ]
    by_title = {figure["layout"].get("title", {}).get("text"): figure for figure in figures}
    return {
        title: {line["name"]: numbers(line["y"]).tolist() for line in by_title[title]["data"]}
        for title in TITLES
    }


def fingerprint(curves: dict[str, dict[str, list[float]]]) -> str:
    """Return a hash of the curves; it is stored inside the PNG, so that a stale picture is noticed."""
    return hashlib.sha256(json.dumps(curves, sort_keys=True).encode()).hexdigest()


def draw(path: Path = PICTURE) -> Path:
    """Draw the two figures side by side."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    curves = stored_curves()
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    colours = {"cross-entropy": METHODS["ce"].colour, "total variation": METHODS["tv"].colour}
    for axis, (title, lines) in zip(axes, curves.items(), strict=True):
        for name, y in lines.items():
            axis.plot(
                range(1, len(y) + 1), [100 * value for value in y], color=colours[name], lw=2.2, label=name
            )
        axis.set(title=title, xlabel="epoch", ylabel="%", xlim=(0, None))
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[1].legend(frameon=False, loc="center right")
    figure.suptitle("Half of the training labels are wrong", fontsize=13)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Description": fingerprint(curves), "Software": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    print(draw())
