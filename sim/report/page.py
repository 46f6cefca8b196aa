"""Puts the report together: one HTML file that opens from disk and asks no network for anything."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from core.errors import MissingPackageError

_SCRIPTS = ("plots.js", "sweep.js", "explorer.js", "main.js")


def assemble(
    title: str,
    lead: str,
    labels: Sequence[str],
    sections: Sequence[tuple[str, str, str]],
    data: Mapping[str, Any],
) -> str:
    """The page.

    Args:
        title, lead, labels: what stands at its head, plain text.
        sections: id, heading and body of each section; the body is HTML.
        data: what the scripts draw from, plain values.

    Raises:
        MissingPackageError: plotly is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "the report needs the package 'plotly': pip install 'securecollarag[report]'"
        ) from error
    packed = gzip.compress(
        json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8"), mtime=0
    )
    parts = {
        "title": escape(title),
        "lead": escape(lead),
        "labels": _chips(labels),
        "links": "".join(f'<a href="#{name}">{escape(heading)}</a>' for name, heading, _ in sections),
        "sections": "\n".join(
            f'<section id="{name}" aria-labelledby="{name}-head">'
            f'<h2 id="{name}-head">{escape(heading)}</h2>\n{body}</section>'
            for name, heading, body in sections
        ),
        "foot": "Made by scr report. Everything on this page is inside this one file.",
        "style": asset("style.css"),
        "plotly": get_plotlyjs().replace("</script", "<\\/script"),
        "data": base64.b64encode(packed).decode("ascii"),
        "scripts": "\n".join(asset(name) for name in _SCRIPTS),
    }
    head, *rest = asset("page.html").split("{{")
    found = [head]
    for piece in rest:  # not replace(): a part may hold braces of its own
        name, _, tail = piece.partition("}}")
        found += [parts[name], tail]
    return "".join(found)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: int = 1) -> str:
    """A table as HTML; columns from `numeric` on are figures."""
    style = ['class="n"' if i >= numeric else "" for i in range(len(headings))]
    head = "".join(f'<th scope="col" {s}>{escape(h)}</th>' for h, s in zip(headings, style, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {s}>{escape(c)}</td>" for c, s in zip(row, style, strict=True)) + "</tr>"
        for row in rows
    )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Table">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def plot(name: str, caption: str = "") -> str:
    """The place of a figure."""
    told = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure><div class="plot" id="plot-{name}"></div>{told}</figure>'


def choice(name: str, label: str, options: Sequence[tuple[Any, str]] = ()) -> str:
    """A labelled select box."""
    inside = "".join(
        f'<option value="{escape(str(value))}">{escape(text)}</option>' for value, text in options
    )
    return f'<label>{escape(label)}<select id="{name}">{inside}</select></label>'


def _chips(labels: Sequence[str]) -> str:
    if not labels:
        return ""
    return '<ul class="labels">' + "".join(f"<li>{escape(label)}</li>" for label in labels) + "</ul>"


def asset(name: str) -> str:
    """A file of the folder assets/."""
    return (resources.files("sim.report") / "assets" / name).read_text(encoding="utf-8")
