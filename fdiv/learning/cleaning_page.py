"""The report of ``fdiv.clean`` as one page that needs nothing else: no server, no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from fdiv.datasets.images import in_colour, opened

if TYPE_CHECKING:
    from fdiv.learning.cleaning import CleaningReport

TEMPLATE = Path(__file__).with_suffix(".html")
SHOWN = 1000  # cards at most; the others are in the table only
THUMBNAIL = 128  # pixels
LARGEST_MATRIX = 20  # classes of a T that is drawn


def page(report: CleaningReport) -> str:
    """Return the page.

    Cards are there for the flagged labels and for those to re-annotate next, at most ``SHOWN``.
    """
    table = report.labels
    chosen = table[table["flagged"] | (table["action"] == "look")].head(SHOWN)
    pictures = report.data.kind == "images"
    files = dict(zip(report.data.rows.tolist(), report.data.features, strict=True)) if pictures else {}
    cards = [
        {
            "row": int(one.row),
            "text": str(one.shown)[:400],
            "given": str(one.given),
            "suggested": str(one.suggested),
            "wrong": round(float(one.wrong), 3),
            "sure": round(float(one.suggested_probability), 3),
            "flagged": bool(one.flagged),
            "look": int(one.look),
            "action": str(one.action),
        }
        | ({"image": thumbnail(files[int(one.row)])} if pictures else {})
        for one in chosen.itertuples()
    ]
    shown = json.dumps(cards, ensure_ascii=False).replace("<", "\\u003c")  # which cannot end its script
    shown = shown.replace("\u2028", "\\u2028")
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        headline=_headline(report),
        notes="".join(f"<li>{html.escape(note)}.</li>" for note in report.notes),
        hidden="" if report.notes else "hidden",
        per_class=_per_class(report),
        matrix=_matrix(report),
        total=len(table),
        left_out=_left_out(table, len(chosen)),
        cards=shown,
        digest=hashlib.sha256(shown.encode()).hexdigest()[:16],
    )


def thumbnail(path: Any) -> str:
    """Return a small JPEG of a picture as a data URL; an empty text where it cannot be read."""
    from PIL import Image

    try:
        with opened(path) as picture:
            image = in_colour(picture)
            image.thumbnail((THUMBNAIL, THUMBNAIL))
            small = max(image.size) < THUMBNAIL // 2
            if small:  # pixel art stays sharp
                factor = THUMBNAIL // max(image.size)
                image = image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
            memory = io.BytesIO()
            image.save(memory, "JPEG", quality=80)
    except Exception:  # Pillow raises whatever its decoder happened to run into
        return ""
    return "data:image/jpeg;base64," + base64.b64encode(memory.getvalue()).decode()


def _headline(report: CleaningReport) -> str:
    wrong, n = report.wrong, len(report.labels)
    text = (
        f"About <b>{wrong.count:.0f}</b> of {n} labels seem to be wrong ({wrong.count / n:.1%}), likely"
        f" <b>{wrong.low:.0f}</b> to <b>{wrong.high:.0f}</b>."
    )
    if wrong.disagreements > wrong.high:
        text += f" The models would change {wrong.disagreements}, the count if they are always right."
    return text


def _left_out(table: Any, shown: int) -> str:
    left = int((table["flagged"] | (table["action"] == "look")).sum()) - shown
    return f" The {shown} most suspicious are shown here, {left} more are in the table." if left > 0 else ""


def _per_class(report: CleaningReport) -> str:
    rows = [
        f"<tr><th>{html.escape(str(one['class']))}</th><td>{one['labels']:.0f}</td><td>{one['wrong']:.0f}</td"
        ">"
        f'<td class="bar"><i style="width:{100 * one["share_wrong"]:.1f}%"></i>'
        f"<span>{one['share_wrong']:.1%}</span></td><td>{one['lost']:.1%} ± {one['lost_error']:.1%}</td></tr>"
        for _, one in report.per_class.head(100).iterrows()
    ]
    return "".join(rows)


def _matrix(report: CleaningReport) -> str:
    """The estimated T as a table of shades."""
    T, names = report.wrong.T, [html.escape(str(name)) for name in report.classes]
    if len(T) > LARGEST_MATRIX:
        flips = np.argsort(-np.where(np.eye(len(T)) > 0, 0, T).ravel())[:10]
        rows = [
            f"<tr><th>{names[i]}</th><td>{names[j]}</td><td>{T[i, j]:.1%}</td></tr>"
            for i, j in zip(*np.unravel_index(flips, T.shape), strict=True)
        ]
        return f"<table><tr><th>class</th><th>labelled as</th><th>share</th></tr>{''.join(rows)}</table>"
    head = "".join(f'<th scope="col"><span>{name}</span></th>' for name in names)
    rows = [
        f'<tr><th scope="row">{names[i]}</th>'
        + "".join(
            f'<td style="--p:{100 * value:.0f}%"{" class=own" if i == j else ""}>{100 * value:.0f}</td>'
            for j, value in enumerate(T[i])
        )
        + "</tr>"
        for i in range(len(T))
    ]
    return f'<div class="wide"><table class="matrix"><tr><td></td>{head}</tr>{"".join(rows)}</table></div>'
