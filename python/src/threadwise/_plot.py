"""The chart of ratios, as the page of a report has it (`crates/report/assets/report.js`)."""

from __future__ import annotations

import importlib
import importlib.util
import math
import textwrap
from typing import Any, NamedTuple

from ._file import Error, marked

#: Blue of Okabe and Ito, "Color Universal Design" (2008). Fill, not colour, tells what differs.
BLUE, BAND, INK = "#0072b2", "#c9cacb", "#1c1e21"
#: Family, figure and unit of ratios of treatments.
RATIOS = ("comparisons", "", "ratio")
#: Answers whose interval excludes 1 and reaches beyond the margin.
DIFFERENT = ("larger", "smaller", "size-open")
#: Ticks, the most wanted first.
TICKS = [1, 2, 0.5, 4, 0.25, 8, 16, 32, 64, 128, 256, 512, 0.1, 0.01, 1.5, 3, 0.75, 6, 12, 24, 48, 96]
TICKS += [1.2, 0.8, 1.1, 0.9, 2.5, 5, 1.05, 0.95, 1.02, 0.98]


class Drawing(NamedTuple):
    """What is drawn: `comparison`, `value`, `low`, `high`, `answer` and `differs` of each ratio, and what is around."""

    rows: list[dict[str, Any]]
    title: list[str]
    what: str
    margin: tuple[float, float]
    domain: tuple[float, float]
    ticks: list[float]


def ratios(report: dict[str, Any], metric: str | None) -> Any:
    """The ratios of one metric, by Altair or matplotlib."""
    found = [one for one in report["estimates"] if (one["family"], one["figure"], one["unit"]) == RATIOS]
    metrics = list(dict.fromkeys(one["metric"] for one in found))
    if metric is None:
        headlines = ["metric/" + str(one["options"].get("headline")) for one in report["treatments"]]
        metric = next((one for one in [*headlines, *metrics] if one in metrics), None)
    if metric is None or metric not in metrics:
        what = f"the ratios are of {', '.join(map(marked, metrics))}, not of {metric}" if metrics else "it has no ratio"
        raise Error(f"{marked(report['source'])} has nothing to plot: {what}")
    for library, draw in {"altair": _altair, "matplotlib": _matplotlib}.items():
        if importlib.util.find_spec(library) is not None:
            return draw(_drawing(report, [one for one in found if one["metric"] == metric], metric))
    raise Error("a plot needs altair or matplotlib, and neither is installed: pip install altair")


def _drawing(report: dict[str, Any], estimates: list[dict[str, Any]], metric: str) -> Drawing:
    rows = []
    for one in estimates:
        # With one block there is no interval.
        low, high = (one["low"], one["high"]) if one["low"] and one["high"] else (None, None)
        name = marked(one["place"].get("comparison") or one["treatment"])
        row = {"comparison": name, "value": one["value"], "low": low, "high": high, "answer": one.get("answer")}
        rows.append({**row, "differs": row["answer"] in DIFFERENT})
    above = 1 + report["study"]["design"]["margin"]
    ends = [row[name] for row in rows for name in ("value", "low", "high") if row[name]] + [1 / above, above]
    domain = (min(ends) / 1.04, max(ends) * 1.04)
    apart, ticks = math.log(domain[1] / domain[0]) / 12, list[float]()
    for tick in TICKS:
        if domain[0] < tick < domain[1] and all(abs(math.log(tick / other)) > apart for other in ticks):
            ticks.append(tick)
    title = textwrap.wrap(marked(report["screen"]["subject"]), 80)
    return Drawing(rows, title, f"ratio of {marked(metric)}", (1 / above, above), domain, ticks)


def _altair(drawing: Drawing) -> Any:
    altair = importlib.import_module("altair")
    scale = altair.Scale(type="log", domain=drawing.domain, nice=False)
    axis = altair.Axis(values=drawing.ticks, labelExpr="format(datum.value, '~r') + 'x'", labelOverlap=False)

    def x(name: str) -> Any:
        return altair.X(f"{name}:Q", scale=scale, title=drawing.what, axis=axis)

    y = altair.Y("comparison:N", sort=None, title=None, axis=altair.Axis(labelLimit=300))
    tips = [altair.Tooltip(f"{name}:Q", format=".3f") for name in ("value", "low", "high")]
    low, high = drawing.margin
    around = altair.Chart(altair.Data(values=[{"low": low, "high": high, "one": 1}]))
    rows = altair.Chart(altair.Data(values=drawing.rows)).encode(y=y, tooltip=["comparison:N", *tips, "answer:N"])
    fill = altair.condition("datum.differs", altair.value(BLUE), altair.value("white"))
    layers = [
        around.mark_rect(color=BAND).encode(x=x("low"), x2="high:Q"),
        around.mark_rule(color=INK).encode(x=x("one")),
        rows.mark_rule(color=BLUE, strokeWidth=2).encode(x=x("low"), x2="high:Q"),
        *[rows.mark_tick(color=BLUE, thickness=2, size=9, opacity=1).encode(x=x(end)) for end in ("low", "high")],
        rows.mark_point(color=BLUE, size=60, strokeWidth=2, opacity=1).encode(x=x("value"), fill=fill),
    ]
    title = altair.TitleParams(drawing.title, anchor="start")
    return altair.layer(*layers).properties(title=title, width=480, height=altair.Step(36))


def _matplotlib(drawing: Drawing) -> Any:
    pyplot, ticker = importlib.import_module("matplotlib.pyplot"), importlib.import_module("matplotlib.ticker")
    figure, axes = pyplot.subplots(figsize=(8, 1.5 + 0.45 * len(drawing.rows)), layout="constrained")
    axes.axvspan(*drawing.margin, color=BAND, linewidth=0)
    axes.axvline(1, color=INK, linewidth=1.25)
    for place, row in enumerate(drawing.rows):
        if row["low"] is not None:
            axes.plot([row["low"], row["high"]], [place, place], color=BLUE, linewidth=2, marker="|", markersize=9)
        axes.plot(row["value"], place, "o", color=BLUE, markerfacecolor=BLUE if row["differs"] else "white")
    axes.set(xscale="log", xlim=drawing.domain, xlabel=drawing.what, ylim=(len(drawing.rows) - 0.5, -0.5))
    axes.set_title("\n".join(drawing.title), loc="left", fontsize="medium")
    axes.set_xticks(drawing.ticks, [f"{tick:g}x" for tick in drawing.ticks])
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.set_yticks(range(len(drawing.rows)), [row["comparison"] for row in drawing.rows])
    pyplot.close(figure)
    return figure
