// Draws the charts of queries; report.js calls it with its tools. As there, all figures were
// aggregated by the program, and texts only ever become text nodes and attributes.
globalThis.queryCharts = tools => {
  "use strict";
  const { data, base, tip, cap, swatches, dark, ticks: TICKS } = tools;
  const two = d3.format(".2f");
  const ratio = value => `${value >= 100 || value < 0.1 ? d3.format(".3r")(value) : two(value)}x`;
  const short = value => (value >= 1000 ? d3.format(".4~s")(value) : d3.format(".3~r")(value));
  const range = (low, high, words) => (low === null || high === null ? "" : ` [${words(low)}, ${words(high)}]`);
  const cutTo = (text, room) => (text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text);
  const queryName = query => (query === 0 ? "all" : `Q${query}`);
  const element = (name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text) node.textContent = text;
    return node;
  };
  // From this share of ink on the other colour of text has the better contrast.
  const inkOf = share => (share > (dark.matches ? 0.62 : 0.8) ? "var(--on-heat)" : "var(--ink)");

  // Ticks of a logarithmic axis of ratios that stand far enough apart.
  function ratioTicks(domain, pixels, apart) {
    const scale = d3.scaleLog(domain, [0, pixels]);
    const kept = [];
    for (const t of TICKS) {
      if (t > domain[0] && t < domain[1] && kept.every(other => Math.abs(scale(other) - scale(t)) > apart)) kept.push(t);
    }
    return kept;
  }

  // Stripes for bars whose plan is another one; an id must be the page's own.
  let stripes = 0;
  function stripe(svg, color) {
    const id = `stripes-${(stripes += 1)}`;
    const pattern = d3.select(svg).insert("defs", ":first-child").append("pattern").attr("id", id).attr("width", 5).attr("height", 5);
    pattern.attr("patternUnits", "userSpaceOnUse").attr("patternTransform", "rotate(45)");
    pattern.append("rect").attr("width", 2.6).attr("height", 5).attr("fill", color);
    return `url(#${id})`;
  }

  function panel(box, own, width, domain, sorted) {
    const bars = own.bars.map(([query, value, low, high, effect, changed, floor]) => ({ query, value, low, high, effect, changed, floor }));
    if (sorted) bars.sort((a, b) => d3.descending(a.value, b.value));
    const height = 196;
    const ticks = ratioTicks(domain, height - 46, 18);
    const known = bars.filter(d => d.low !== null && d.high !== null);
    const color = d => (d.value >= 1 ? "var(--c0)" : "var(--c1)");
    const place = { x: "query", y1: 1, y2: "value" };
    const top = d => Math.max(1, d.value, d.high ?? 0);
    // An axis of its own: that of a logarithmic scale leaves out labels between powers of ten.
    const marks = [
      Plot.axisY(ticks, { text: d => `${d}x`, label: null, tickSize: 0 }),
      Plot.gridY(ticks, { stroke: "var(--rule)", strokeOpacity: 1 }),
      Plot.barY(bars.filter(d => d.floor !== null), { x: "query", y1: d => 1 / d.floor, y2: "floor", fill: "var(--muted)", fillOpacity: 0.28 }),
      Plot.barY(bars, { ...place, fill: color, fillOpacity: d => (d.changed ? 0.12 : d.effect ? 0.9 : 0.38), insetLeft: 1.5, insetRight: 1.5, className: "plain" }),
      Plot.barY(bars.filter(d => d.changed), { ...place, fill: color, stroke: color, strokeWidth: 1, insetLeft: 1.5, insetRight: 1.5, className: "striped" }),
      Plot.ruleX(known, { x: "query", y1: "low", y2: "high", stroke: "var(--ink)", strokeWidth: 1.25 }),
      ...["low", "high"].map(y => Plot.dot(known, { x: "query", y, symbol: cap(1, 0), stroke: "var(--ink)", strokeWidth: 1.25, r: 2.4 })),
      Plot.ruleY([1], { stroke: "var(--ink)", strokeWidth: 1.25 }),
      Plot.text(bars.filter(d => d.changed), { x: "query", y: top, text: () => "P", dy: -7, fontSize: 11, fontWeight: 700, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3 }),
    ];
    if (own.mean) marks.splice(1, 0, Plot.ruleY([own.mean[0]], { stroke: "var(--muted)", strokeDasharray: "5 4" }));
    marks.push(tip(bars, { x: "query", y: "value" }, d =>
      `${queryName(d.query)}: ${ratio(d.value)}${range(d.low, d.high, two)}\n${d.effect ? (d.value >= 1 ? "faster" : "slower") : "no difference beyond the margin"}${d.changed ? "\nanother plan than the baseline's" : ""}`));
    const svg = Plot.plot({
      ...base(box, width, {}),
      ariaLabel: `${box.dataset.title}: ${own.name}`,
      height, marginLeft: 42, marginRight: 6, marginTop: 18, marginBottom: 28,
      x: { type: "band", domain: bars.map(d => d.query), label: null, tickSize: 0, padding: 0.12, tickFormat: d => (width / bars.length > 27 ? `Q${d}` : String(d)) },
      y: { type: "log", domain, axis: null },
      marks,
    });
    const fills = new Map();
    for (const rect of svg.querySelectorAll(".striped rect, rect.striped")) {
      const color = rect.getAttribute("fill") ?? rect.parentNode.getAttribute("fill");
      if (!fills.has(color)) fills.set(color, stripe(svg, color));
      rect.setAttribute("fill", fills.get(color));
    }
    const node = element("div", "panel");
    const mean = own.mean ? ` · geometric mean ${ratio(own.mean[0])}${range(own.mean[1], own.mean[2], two)}` : "";
    node.append(element("h4", "", own.name), element("p", "", own.about + mean), svg);
    return node;
  }

  function bars(box, index, width) {
    const { panels } = data.bars[index];
    const ends = data.bars.flatMap(c => c.panels.flatMap(p => p.bars.flatMap(b => [b[1], b[2], b[3], b[6]]))).filter(v => v > 0);
    const [least, most] = d3.extent([...ends, 1 / 1.1, 1.1]);
    const domain = [least / 1.04, most * 1.08];
    const columns = Math.max(1, Math.min(panels.length, Math.floor((width + 30) / 470)));
    const each = (width - 30 * (columns - 1)) / columns;
    const grid = element("div", "panels");
    const fill = () => grid.replaceChildren(...panels.map(own => panel(box, own, each, domain, box.dataset.order === "speed")));
    const choice = element("fieldset", "switch");
    choice.append(element("legend", "", "Order of queries"));
    for (const [value, text] of [["number", "by number"], ["speed", "by speed"]]) {
      const [label, input] = [element("label"), element("input")];
      Object.assign(input, { type: "radio", name: `order-${index}`, value, checked: (box.dataset.order ?? "number") === value });
      input.addEventListener("change", () => { box.dataset.order = value; fill(); });
      label.append(input, document.createTextNode(text));
      choice.append(label);
    }
    fill();
    return [choice, grid];
  }

  const LINE_SHAPES = ["circle", "triangle", "square", "diamond", "star", "wye", "cross"];

  function lines(box, index, width) {
    const { lines, unit, over, is_log: isLog, bound } = data.lines[index];
    const hourly = unit === "queries per hour" || unit.endsWith(" in ms");
    // A line a query: those with a mark have a colour and a name, the others are there to be pointed at.
    const many = lines.length > 8;
    const marked = lines.map(line => !many || / [▲◆]/.test(line.name));
    const place = lines.map((_, i) => marked.slice(0, i).filter(Boolean).length);
    const colors = lines.map((_, i) => marked[i] ? `var(--c${place[i] % 8})` : "var(--muted)");
    const words = hourly ? short : ratio;
    const points = lines.flatMap((line, i) => line.points.map(([dop, mean, low, high, treatment]) => ({ i, dop, mean, low, high, treatment, name: line.name })));
    const xs = [...new Set(points.map(p => p.dop))].sort(d3.ascending);
    const marks = [
      Plot.axisX(xs, { text: d => short(d), label: over, labelAnchor: "center", labelArrow: "none" }),
    ];
    if (!isLog) marks.push(Plot.ruleY([hourly ? 0 : 1], { stroke: "var(--muted)" }));
    if (bound !== null) marks.push(Plot.ruleY([bound], { stroke: "var(--ink)", strokeDasharray: "5 4" }));
    const shapes = place.map((at, i) => marked[i] ? LINE_SHAPES[(at + Math.floor(at / 8)) % LINE_SHAPES.length] : "circle");
    lines.forEach((_, i) => {
      const own = points.filter(p => p.i === i);
      const dx = many ? 0 : (i - (lines.length - 1) / 2) * 7;
      const color = colors[i];
      const known = own.filter(p => p.low !== null && p.high !== null);
      marks.push(
        Plot.line(own, { x: "dop", y: "mean", dx, stroke: color, strokeWidth: many && marked[i] ? 2 : 1.25, strokeDasharray: many ? null : "4 3", strokeOpacity: marked[i] ? 1 : 0.6 }),
        Plot.ruleX(known, { x: "dop", y1: "low", y2: "high", dx, stroke: color, strokeWidth: 2 }),
        ...["low", "high"].map(y => Plot.dot(known, { x: "dop", y, dx, symbol: cap(1, 0), stroke: color, strokeWidth: 2, r: 3.5 })),
        Plot.dot(own, { x: "dop", y: "mean", dx, fill: color, symbol: shapes[i], r: marked[i] ? 4 : 2 }),
      );
    });
    marks.push(tip(points, { x: "dop", y: "mean" }, p => `${p.treatment}\n${p.name}, ${over} ${short(p.dop)}\n${words(p.mean)}${range(p.low, p.high, hourly ? short : two)}`));
    const list = element("ul", "legend");
    lines.forEach((line, i) => {
      if (!marked[i]) return;
      const item = element("li");
      const svg = d3.create("svg").attr("width", 14).attr("height", 14).attr("viewBox", "-7 -7 14 14").attr("aria-hidden", "true");
      svg.append("path").attr("d", d3.symbol(d3[`symbol${shapes[i].replace(/^./, c => c.toUpperCase())}`], 50)()).attr("fill", colors[i]);
      item.append(svg.node(), document.createTextNode(" " + line.name));
      list.append(item);
    });
    return [list, Plot.plot(base(box, width, {
      height: Math.min(340, Math.max(250, width * 0.5)), marginLeft: 54, marginRight: 24, marginBottom: 40,
      x: { type: "log", base: 2, domain: [xs[0] / 1.15, xs.at(-1) * 1.15], axis: null },
      y: { ...(isLog ? { type: "log" } : { zero: true }), label: unit, grid: true, labelArrow: "none", ticks: 6, tickFormat: d => (hourly ? short(d) : `${d}x`) },
      marks,
    }))];
  }

  function steps(box, index, width) {
    const { rows, queries } = data.steps[index];
    const cells = data.steps[index].cells.map(([row, query, speed, low, high, mark, changed]) => {
      const gain = Math.log(speed) / Math.log(rows[row][1]);
      return { row, query, speed, low, high, mark, changed, gain, share: Math.min(1, Math.abs(gain) * (gain < 0 ? 1.6 : 0.72)) };
    });
    // On narrow paper queries go down.
    const down = width < 640;
    const sign = d => (d.mark === 1 ? "▲" : d.mark === 2 ? "◆" : "") + (d.changed ? "P" : "");
    const longest = d3.max(rows, row => row[0].length) ?? 0;
    const left = down ? 44 : Math.min(longest * 6.6 + 14, width * 0.3);
    const place = down ? { x: "row", y: "query" } : { x: "query", y: "row" };
    const right = down ? 58 : 8;
    const room = (width - left - right) / (down ? rows.length : queries.length);
    const text = { ...place, fontVariant: "tabular-nums", fill: d => inkOf(d.share) };
    const top = down ? Math.min(150, longest * 5 + 24) : 26;
    const rowAxis = { domain: rows.map((_, i) => i), label: null, tickSize: 0, tickFormat: i => cutTo(rows[i][0], down ? 26 : Math.floor((left - 12) / 6.4)) };
    const queryAxis = { domain: queries, label: null, tickSize: 0, tickFormat: queryName };
    const marks = [
      Plot.cell(cells, { ...place, fill: d => (d.gain < 0 ? "var(--c1)" : "var(--heat)"), fillOpacity: d => 0.04 + 0.9 * d.share, inset: 1, rx: 2 }),
      tip(cells, place, d => `${queryName(d.query)}: ${rows[d.row][0]}\n${ratio(d.speed)}${range(d.low, d.high, two)} of ${ratio(rows[d.row][1])}${d.mark === 1 ? "\nsuper-scaling" : d.mark === 2 ? "\npoor, then good" : ""}${d.changed ? "\nthe plan changed" : ""}`),
    ];
    const written = room >= 33;
    if (written) {
      for (const [own, dy] of [[cells.filter(d => sign(d)), -6], [cells.filter(d => !sign(d)), 0]]) {
        marks.splice(1, 0, Plot.text(own, { ...text, text: d => two(d.speed), fontSize: 11, dy }));
      }
    }
    const signed = cells.filter(d => sign(d));
    marks.splice(-1, 0, Plot.text(signed, { ...text, text: sign, fontSize: 11, fontWeight: 700, dy: written ? 8 : 0 }));
    return [Plot.plot(base(box, width, {
      height: (down ? queries.length : rows.length) * (written ? 36 : 26) + top + 8, marginLeft: left, marginRight: right, marginTop: top, marginBottom: 8,
      x: { ...(down ? rowAxis : queryAxis), axis: "top", tickRotate: down ? -50 : 0 },
      y: down ? queryAxis : rowAxis,
      marks,
    }))];
  }

  function heats(box, index, width) {
    const map = data.heats[index];
    const most = d3.max(map.cells, c => c[2]) || 1;
    const cells = map.cells.map(([dop, streams, value, low, high, treatment]) => ({ dop, streams, value, low, high, treatment, share: value / most }));
    const frames = map.plateaus.map(([streams, dop]) => ({ streams, dop }));
    const best = new Set(map.plateaus.map(([streams, , dop]) => `${streams} ${dop}`));
    const place = { x: "dop", y: "streams" };
    const axis = { label: null, tickSize: 0, labelArrow: "none" };
    return [Plot.plot(base(box, Math.min(width, map.dops.length * 110 + 80), {
      height: map.streams.length * 44 + 62, marginLeft: 62, marginRight: 8, marginTop: 44, marginBottom: 8,
      x: { ...axis, domain: map.dops, axis: "top", label: "DOP", labelAnchor: "left", labelOffset: 38, tickFormat: d => String(d) },
      y: { ...axis, domain: [...map.streams].reverse(), label: "streams", tickFormat: d => String(d) },
      marks: [
        Plot.cell(cells, { ...place, fill: "var(--heat)", fillOpacity: d => 0.04 + 0.92 * d.share, inset: 2, rx: 2 }),
        Plot.cell(frames, { ...place, fill: "none", stroke: "var(--ink)", strokeWidth: 2, inset: 1, rx: 3 }),
        Plot.text(cells, { ...place, text: d => (best.has(`${d.streams} ${d.dop}`) ? "★ " : "") + short(d.value), fontSize: 12, fontVariant: "tabular-nums", fill: d => inkOf(d.share) }),
        tip(cells, place, d => `${d.treatment}\nDOP ${d.dop}, ${d.streams} stream${d.streams === 1 ? "" : "s"}\n${short(d.value)} queries/h${range(d.low, d.high, short)}`),
      ],
    }))];
  }

  function coreSeconds(box, index, width) {
    const rows = data.cores[index];
    const longest = d3.max(rows, d => d.name.length) ?? 0;
    const marginLeft = Math.min(longest * 6.8 + 14, width * 0.4);
    // The engine's own, or else of whatever ran.
    const own = rows.every(d => d.engine !== null);
    const cpu = d => (own ? d.engine : d.logical);
    const name = own ? "engine's CPU seconds" : "busy seconds of logical CPUs";
    const top = d3.max(rows, d => Math.max(d.high, cpu(d))) ?? 1;
    const plot = Plot.plot(base(box, width, {
      height: rows.length * 28 + 54, marginLeft, marginRight: 16, marginTop: 8, marginBottom: 40,
      x: { domain: [0, top * 1.03], label: "seconds", labelAnchor: "center", labelArrow: "none", grid: true },
      y: { type: "band", domain: rows.map(d => d.name), label: null, tickSize: 0, padding: 0.24, tickFormat: d => cutTo(d, Math.floor((marginLeft - 12) / 6.6)) },
      marks: [
        Plot.barX(rows, { y: "name", x1: 0, x2: "low", fill: "var(--c0)" }),
        Plot.barX(rows, { y: "name", x1: "low", x2: "high", fill: "var(--c0)", fillOpacity: 0.36 }),
        Plot.tickX(rows, { y: "name", x: cpu, stroke: "var(--c1)", strokeWidth: 3, inset: -3 }),
        tip(rows, { y: "name", x: "high" }, d =>
          `${d.name}\n${short(d.low)} to ${short(d.high)} core-seconds on ${d.cores} core${d.cores === 1 ? "" : "s"}\n${short(cpu(d))} ${name} in ${short(d.elapsed)} s`),
      ],
    }));
    return [swatches([["var(--c0)", 1, "core-seconds at the least"], ["var(--c0)", 0.36, "at the most"], ["var(--c1)", 1, `${name} (line)`]]), plot];
  }

  // Paper has no clicks: what opens on demand is printed open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.fold:not([open])")];
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of opened) fold.open = false; });

  return { bars, lines, steps, heats, cores: coreSeconds };
};
