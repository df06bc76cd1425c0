// Draws the charts of work lists; report.js calls it with its tools. As there, all figures were
// aggregated by the program, and texts only ever become text nodes and attributes.
globalThis.worklistCharts = tools => {
  "use strict";
  const { data, base, tip, cap, swatches } = tools;
  const SHAPES = ["circle", "triangle", "square", "diamond", "star", "wye", "cross"];
  const colorOf = i => `var(--c${i % 8})`;
  const shapeOf = i => SHAPES[(i + Math.floor(i / 8)) % SHAPES.length];
  const short = value => (value >= 1000 ? d3.format(".4~s")(value) : d3.format(".3~r")(value));
  const element = (name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text) node.textContent = text;
    return node;
  };

  // Ticks of a logarithmic axis that stand far enough apart; round ones first.
  function logTicks(domain, pixels, apart) {
    const scale = d3.scaleLog(domain, [0, pixels]);
    const powers = d3.range(Math.floor(Math.log10(domain[0])), Math.ceil(Math.log10(domain[1])) + 1);
    const kept = [];
    for (const mantissa of [1, 2, 5, 3, 7, 1.5, 4, 6, 8, 2.5]) {
      for (const power of powers) {
        const tick = Number(`${mantissa}e${power}`);
        if (tick > domain[0] && tick < domain[1] && kept.every(other => Math.abs(scale(other) - scale(tick)) > apart)) kept.push(tick);
      }
    }
    return kept;
  }

  function legend(lines) {
    const list = element("ul", "legend");
    lines.forEach((line, i) => {
      const item = element("li");
      const svg = d3.create("svg").attr("width", 14).attr("height", 14).attr("viewBox", "-7 -7 14 14").attr("aria-hidden", "true");
      svg.append("path").attr("d", d3.symbol(d3[`symbol${shapeOf(i).replace(/^./, c => c.toUpperCase())}`], 50)()).attr("fill", colorOf(i));
      item.append(svg.node(), document.createTextNode(" " + line.name));
      list.append(item);
    });
    return list;
  }

  // Where the words of a segment stand: above the highest line, below the others.
  function segments(lines, points) {
    const all = lines.flatMap((line, i) => line.steps.map(([from, to, text, effect, figures]) => {
      const [a, b] = [from, to].map(jobs => points.find(p => p.i === i && p.jobs === jobs));
      return a && b && { i, from, to, text, figures, name: line.name, x: Math.sqrt(a.jobs * b.jobs), y: Math.sqrt(a.rate * b.rate), effect };
    }).filter(Boolean));
    for (const own of all) own.top = all.every(other => other.from !== own.from || other.y <= own.y);
    return all;
  }

  function jobs(box, index, width) {
    const { lines, perfect, unit } = data.jobs[index];
    const points = lines.flatMap((line, i) => line.points.map(([jobs, rate, low, high, figures]) => ({ i, name: line.name, jobs, rate, low, high, figures })));
    const xs = [...new Set(points.map(p => p.jobs))].sort(d3.ascending);
    const [least, most] = d3.extent(points.flatMap(p => [p.rate, p.low, p.high]).filter(v => v > 0));
    const domain = [least / 1.2, most * 1.5];
    const height = Math.min(420, Math.max(290, width * 0.45));
    const ticks = logTicks(domain, height - 64, 24);
    const marks = [
      Plot.gridY(ticks, { stroke: "var(--rule)", strokeOpacity: 1 }),
      // Axes of their own: those of logarithmic scales leave out labels between powers.
      Plot.axisX(xs, { text: d => String(d), label: "jobs", labelAnchor: "center", labelArrow: "none" }),
      Plot.axisY(ticks, { text: short, label: unit, labelArrow: "none", tickSize: 0 }),
    ];
    // Drawn as far as the chart goes.
    const until = Math.min(xs.at(-1), (perfect[0] * domain[1]) / perfect[1]);
    const diagonal = [perfect, [until, (perfect[1] * until) / perfect[0]]];
    if (until > perfect[0]) {
      marks.push(
        Plot.line(diagonal, { x: d => d[0], y: d => d[1], stroke: "var(--muted)", strokeWidth: 1 }),
        Plot.text([diagonal[1]], { x: d => d[0], y: d => d[1], text: () => "perfect scaling", textAnchor: "end", dx: -30, dy: 6, fontSize: 11, fill: "var(--muted)" }),
      );
    }
    lines.forEach((_, i) => {
      const own = points.filter(p => p.i === i);
      const known = own.filter(p => p.low !== null && p.high !== null);
      const dx = (i - (lines.length - 1) / 2) * 5;
      marks.push(
        Plot.line(own, { x: "jobs", y: "rate", dx, stroke: colorOf(i), strokeWidth: 1.75 }),
        Plot.ruleX(known, { x: "jobs", y1: "low", y2: "high", dx, stroke: colorOf(i), strokeWidth: 2 }),
        ...["low", "high"].map(y => Plot.dot(known, { x: "jobs", y, dx, symbol: cap(1, 0), stroke: colorOf(i), strokeWidth: 2, r: 3.5 })),
        Plot.dot(own, { x: "jobs", y: "rate", dx, fill: colorOf(i), symbol: shapeOf(i), r: 4.5 }),
      );
    });
    const words = segments(lines, points);
    for (const [own, dy, weight] of [[true, -13, 700], [true, -13, 400], [false, 15, 700], [false, 15, 400]].map(([top, dy, weight]) => [words.filter(d => d.top === top && d.effect === (weight === 700)), dy, weight])) {
      marks.push(Plot.text(own, { x: "x", y: "y", text: "text", dy, fontSize: 12, fontWeight: weight, fontVariant: "tabular-nums", fill: d => colorOf(d.i), stroke: "var(--paper)", strokeWidth: 4 }));
    }
    const tips = [...points.map(p => ({ x: p.jobs, y: p.rate, text: `${p.name}, ${p.jobs} job${p.jobs === 1 ? "" : "s"}\n${short(p.rate)} ${unit}\n${p.figures}` })),
      ...words.map(d => ({ x: d.x, y: d.y, text: `${d.name}, ${d.from} to ${d.to} jobs\n${d.figures}` }))];
    marks.push(tip(tips, { x: "x", y: "y" }, d => d.text));
    return [legend(lines), Plot.plot(base(box, width, {
      height, marginLeft: 54, marginRight: 28, marginTop: 24, marginBottom: 40,
      x: { type: "log", base: 2, domain: [xs[0] / 1.12, xs.at(-1) * 1.12], axis: null },
      y: { type: "log", domain, axis: null },
      color: { type: "identity" },
      marks,
    }))];
  }

  function panel(box, own, width, last) {
    const count = own.ends.length;
    const each = Math.max(4, Math.min(24, 260 / count));
    const [unit, per] = last > 7200 ? ["h", 3600] : last > 180 ? ["min", 60] : ["s", 1];
    const seen = new Map();
    const bars = own.bars.map(([job, start, elapsed, name]) => ({ job, x1: start / per, x2: (start + elapsed) / per, elapsed, name })).sort((a, b) => a.x1 - b.x1);
    // Neighbours differ in ink, so that short items need no gaps.
    for (const bar of bars) { bar.odd = (seen.get(bar.job) ?? 0) % 2; seen.set(bar.job, bar.odd + 1); }
    const idle = own.ends.map((end, job) => ({ job, x1: end / per, x2: own.end_s / per })).filter(d => d.x2 > d.x1);
    const marginLeft = 34;
    const room = d => ((d.x2 - d.x1) / (last / per)) * (width - marginLeft - 10);
    const place = { y: "job", x1: "x1", x2: "x2", insetTop: each > 10 ? 1 : 0, insetBottom: each > 10 ? 1 : 0 };
    const every = Math.ceil(count / 16);
    const svg = Plot.plot({
      ...base(box, width, {}),
      ariaLabel: `${box.dataset.title}: ${own.name}`,
      height: count * each + 46, marginLeft, marginRight: 10, marginTop: 6, marginBottom: 36,
      x: { domain: [0, last / per], label: `time since the first item's start (${unit})`, labelAnchor: "center", labelArrow: "none" },
      y: { type: "band", domain: d3.range(count), label: null, tickSize: 0, padding: 0, ticks: d3.range(0, count, every), tickFormat: d => String(d) },
      marks: [
        Plot.barX(idle, { ...place, fill: "var(--c1)", fillOpacity: 0.45 }),
        Plot.barX(bars, { ...place, fill: "var(--c0)", fillOpacity: d => (d.odd ? 0.34 : 0.62) }),
        Plot.ruleX([own.end_s / per], { stroke: "var(--ink)", strokeWidth: 1.25 }),
        Plot.text(each < 16 ? [] : bars.filter(d => d.name.length * 6 + 8 <= room(d)), { y: "job", x: d => (d.x1 + d.x2) / 2, text: "name", fontSize: 10.5, fill: "var(--ink)" }),
        tip(bars, { y: "job", x: d => (d.x1 + d.x2) / 2 }, d => `${d.name}\njob ${d.job}, ${short(d.elapsed)} s\nfrom ${short(d.x1)} to ${short(d.x2)} ${unit}`),
      ],
    });
    const node = element("div", "panel");
    node.append(element("h4", "", own.name), element("p", "", own.about), svg);
    return node;
  }

  // One axis for all, so that their ends compare.
  function timelines(box, index, width) {
    const timelines = data.timelines[index];
    const last = d3.max(timelines, own => own.end_s) || 1;
    const columns = Math.max(1, Math.min(timelines.length, Math.floor((width + 30) / 470)));
    const grid = element("div", "panels");
    grid.append(...timelines.map(own => panel(box, own, (width - 30 * (columns - 1)) / columns, last)));
    return [swatches([["var(--c0)", 0.62, "an item"], ["var(--c0)", 0.34, "the next"], ["var(--c1)", 0.45, "nothing left to do"]]), grid];
  }

  return { jobs, timelines };
};
