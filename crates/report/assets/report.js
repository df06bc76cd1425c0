// Draws the report's charts with Observable Plot. All figures were aggregated by the program;
// nothing here computes a statistic. Texts only ever become text nodes and attributes.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const { labels, words } = data;
  const names = labels.map((_, i) => i);
  const colors = names.map(i => `var(--c${i % 8})`);
  const shapes = ["circle", "triangle", "square", "diamond", "star", "wye", "cross"];
  // A symbol of its own beside the colour: colour alone is not enough for everybody.
  const symbols = names.map(i => shapes[(i + Math.floor(i / 8)) % shapes.length]);
  // Prefixes for thousands and more; a thousandth of a query is no unit that people know.
  const rate = value => d3.format(value >= 1 ? ".4s" : ".3~r")(value);
  const rateTick = value => d3.format(value >= 1 || value === 0 ? "~s" : "~r")(value);
  const percent = value => (value > 0 && value < 0.0005 ? "<0.1%" : value > 0 ? d3.format(".1%")(value) : "0");
  // Ends of intervals, which a dot would hide where they are short.
  const cap = (dx, dy) => ({ draw(context, size) { const r = Math.sqrt(size); context.moveTo(-r * dx, -r * dy); context.lineTo(r * dx, r * dy); } });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const band = i => [`logical CPU ${data.usage.cpus[i]}`];

  const base = (box, width, options) => ({
    width,
    style: { fontFamily: "inherit", fontSize: "12px", background: "transparent", overflow: "visible" },
    ariaLabel: box.dataset.title,
    ariaDescription: box.dataset.description,
    ...options,
  });
  const color = { domain: names, range: colors };
  const symbol = { domain: names, range: symbols };

  // Colours and symbols by name, for the charts that have both.
  function legend(used) {
    const list = document.createElement("ul");
    list.className = "legend";
    for (const i of names.filter(i => used.has(i))) {
      const item = document.createElement("li");
      const svg = d3.create("svg").attr("width", 14).attr("height", 14).attr("viewBox", "-7 -7 14 14").attr("aria-hidden", "true");
      svg.append("path").attr("d", d3.symbol(d3[`symbol${symbols[i].replace(/^./, c => c.toUpperCase())}`], 50)()).attr("fill", colors[i]);
      item.append(svg.node(), document.createTextNode(" " + labels[i]));
      list.append(item);
    }
    return list;
  }

  const tip = (rows, options, title) =>
    Plot.tip(rows, Plot.pointer({ ...options, title, fontSize: 12, lineHeight: 1.35, textPadding: 8 }));

  function throughput(box, index, width) {
    const chart = data.throughput[index];
    const points = chart.points;
    const offset = shift(points);
    const xs = [...new Set(points.map(p => p.sessions))].sort(d3.ascending);
    const marks = [Plot.ruleY([0], { stroke: "var(--muted)" })];
    for (const line of chart.lines) {
      marks.push(Plot.line(line.map(i => points[i]), { x: "sessions", y: "mean", stroke: "var(--muted)", strokeWidth: 1.25, strokeDasharray: "4 3" }));
    }
    points.forEach((p, i) => {
      const place = { x: "sessions", dx: offset[i] };
      const known = p.high === null ? [] : [p]; // one block has no interval
      marks.push(Plot.ruleX(known, { ...place, y1: "low", y2: "high", stroke: colors[p.label], strokeWidth: 2 }));
      for (const y of ["low", "high"]) marks.push(Plot.dot(known, { ...place, y, symbol: cap(1, 0), stroke: colors[p.label], strokeWidth: 2, r: 3.5 }));
      marks.push(Plot.dot([p], { ...place, y: "mean", fill: "label", symbol: "label", r: 4 }));
    });
    marks.push(tip(points, { x: "sessions", y: "mean" }, p =>
      `${labels[p.label]} (${p.placement})\n${p.sessions} ${p.sessions === 1 ? words.sessions.slice(0, -1) : words.sessions}\n${rate(p.mean)} ${words.rate}${p.high === null ? "" : ` [${rate(p.low)}, ${rate(p.high)}]`}`));
    const plot = Plot.plot(base(box, width, {
      height: Math.min(360, Math.max(260, width * 0.6)),
      marginLeft: 52, marginRight: 24, marginBottom: 40, color, symbol,
      x: { label: words.sessions, ticks: xs.length <= 10 ? xs : 10, tickFormat: "d", inset: 18, labelAnchor: "center", labelArrow: "none", type: "linear" },
      y: { label: words.rate, grid: true, tickFormat: rateTick, zero: true, labelArrow: "none", ticks: 6 },
      marks,
    }));
    return [legend(new Set(points.map(p => p.label))), plot];
  }

  // Points with the same number of sessions stand side by side, in pixels.
  function shift(points) {
    const bySessions = d3.group(points.map((p, i) => [p, i]), ([p]) => p.sessions);
    const offset = [];
    for (const members of bySessions.values()) {
      members.forEach(([, i], at) => { offset[i] = (at - (members.length - 1) / 2) * 9; });
    }
    return offset;
  }

  // The first that fit are taken: 1 always, then round numbers, then those between.
  const TICKS = [1, 2, 0.5, 4, 0.25, 8, 16, 32, 64, 128, 256, 512, 0.1, 0.01, 1.5, 3, 0.75, 6, 12, 24, 48, 96, 1.2, 0.8, 1.1, 0.9, 2.5, 5, 1.05, 0.95, 1.02, 0.98];

  // What stands left of rows (names) and right of them (figures), above them where it is narrow.
  function beside(list, width, room) {
    const narrow = width < 460;
    // Names of comparisons may be long: they get up to two fifths, the rest stands in the tip.
    const longest = d3.max(list, r => Math.max(r.label.length * 6.8, r.against.length * 5.9)) ?? 0;
    const marginLeft = narrow ? 8 : Math.min(Math.max(150, longest + 18), width * 0.4);
    const cut = (text, size) => { const room = Math.floor((marginLeft - 16) / size); return text.length > room ? text.slice(0, room - 1) + "…" : text; };
    const rows = list.map((row, i) => ({ ...row, i }));
    const text = { y: "i", fontSize: 12, fill: "var(--ink)" };
    const marks = narrow ? [
      Plot.text(rows, { ...text, text: d => `${d.label} ${d.against}`, frameAnchor: "left", textAnchor: "start", dy: -15, stroke: "var(--paper)", strokeWidth: 4 }),
    ] : [
      // A name with nothing below it stands in the middle of its row.
      ...[true, false].map(two => Plot.text(rows.filter(d => two === (d.against !== "")), { ...text, text: d => cut(d.label, 6.8), frameAnchor: "left", textAnchor: "end", dx: -12, dy: two ? -7 : 0 })),
      Plot.text(rows, { ...text, text: d => cut(d.against, 5.9), frameAnchor: "left", textAnchor: "end", dx: -12, dy: 8, fontSize: 10.5, fill: "var(--muted)" }),
      Plot.text(rows, { ...text, text: "figures", frameAnchor: "right", textAnchor: "start", dx: 10, fontVariant: "tabular-nums" }),
    ];
    return { narrow, marginLeft, marginRight: narrow ? 16 : room, texts: { rows, marks } };
  }

  // Values of one quantity with their intervals, from 0 on.
  function values(box, index, width) {
    const { rows: list, what } = data.values[index];
    const room = 20 + 6.6 * (d3.max(list, r => r.figures.length) ?? 0);
    // Figures that would take the plot's room stand in the tip and the table.
    const wide = width - room > 380;
    const { narrow, marginLeft, marginRight, texts } = beside(wide ? list : list.map(r => ({ ...r, figures: "" })), width, wide ? room : 16);
    const rows = texts.rows.map((row, i) => ({ ...row, figures: list[i].figures }));
    const known = rows.filter(r => r.low !== null && r.high !== null);
    const ends = rows.flatMap(r => [r.mean, r.low, r.high]).filter(v => v !== null);
    const [least, most] = d3.extent([...ends, 0]);
    const domain = [least, most > least ? most + (most - least) * 0.04 : least + 1];
    return [Plot.plot(base(box, width, {
      height: rows.length * (narrow ? 52 : 42) + 56, marginLeft, marginRight, marginTop: 10, marginBottom: 38,
      x: { domain, label: what, labelAnchor: "center", labelArrow: "none", tickFormat: rateTick, ticks: Math.max(2, Math.floor((width - marginLeft - marginRight) / 60)), grid: true },
      y: { type: "band", domain: rows.map(r => r.i), axis: null, padding: 0 },
      marks: [
        Plot.ruleX([0], { stroke: "var(--muted)" }),
        Plot.ruleY(known, { y: "i", x1: "low", x2: "high", stroke: "var(--c0)", strokeWidth: 2 }),
        ...["low", "high"].map(x => Plot.dot(known, { y: "i", x, symbol: cap(0, 1), stroke: "var(--c0)", strokeWidth: 2, r: 4 })),
        Plot.dot(rows, { y: "i", x: "mean", fill: "var(--c0)", r: 4 }),
        ...texts.marks,
        tip(rows, { x: "mean", y: "i" }, d => `${d.label} ${d.against}\n${d.figures}`),
      ],
    }))];
  }

  function ratios(box, index, width) {
    const chart = data.ratios[index];
    // Charts of one page may be of different things; those of the same have the same axis.
    const alike = data.ratios.filter(c => c.what === chart.what);
    const all = alike.flatMap(c => [c.margin_low, c.margin_high, ...c.rows.flatMap(r => [r.value, r.low, r.high])]).filter(v => v > 0);
    const [least, most] = d3.extent([...all, 1]);
    const domain = [least / 1.04, most * 1.04];
    const { narrow, marginLeft, marginRight, texts } = beside(chart.rows, width, 128);
    const scale = d3.scaleLog(domain, [marginLeft, width - marginRight]);
    const ticks = [];
    for (const t of TICKS) {
      if (t > domain[0] && t < domain[1] && ticks.every(other => Math.abs(scale(other) - scale(t)) > 38)) ticks.push(t);
    }
    const rows = texts.rows;
    const marks = [
      Plot.rect([chart], { x1: "margin_low", x2: "margin_high", fill: "var(--muted)", fillOpacity: 0.3 }),
      // An axis of its own: that of a logarithmic scale leaves out labels between powers of ten.
      Plot.axisX(ticks, { text: d => `${d}x`, label: chart.what ?? words.ratio, labelAnchor: "center", labelArrow: "none", tickSize: 0 }),
      Plot.gridX(ticks, { stroke: "var(--rule)", strokeOpacity: 1 }),
      Plot.ruleX([1], { stroke: "var(--ink)", strokeWidth: 1.25 }),
      Plot.ruleY(rows, { y: "i", x1: "low", x2: "high", stroke: "var(--c0)", strokeWidth: 2 }),
      ...["low", "high"].map(x => Plot.dot(rows, { y: "i", x, symbol: cap(0, 1), stroke: "var(--c0)", strokeWidth: 2, r: 4 })),
      Plot.dot(rows, { y: "i", x: "value", stroke: "var(--c0)", strokeWidth: 2, fill: d => (d.is_different ? "var(--c0)" : "var(--paper)"), r: 4 }),
    ];
    marks.push(...texts.marks);
    marks.push(tip(rows, { x: "value", y: "i" }, d => `${d.label} ${d.against}\n${d.figures}\n${d.mark}`));
    return [Plot.plot(base(box, width, {
      height: rows.length * (narrow ? 52 : 42) + 56, marginLeft, marginRight, marginTop: 10, marginBottom: 38,
      x: { type: "log", domain, axis: null },
      y: { type: "band", domain: rows.map(r => r.i), axis: null, padding: 0 },
      marks,
    }))];
  }

  function roles(box, _index, width) {
    const ROLES = width < 560 ? ["used", "siblings", "others"] : [`used by ${words.sessions}`, "idle siblings", "all others"];
    const cells = data.usage.rows.flatMap(row => row.roles.map((role, i) => role && { name: row.name, role: ROLES[i], busy: role[0], steal: role[1] }).filter(Boolean));
    return [heat(box, width, cells, "role", ROLES.filter(r => cells.some(c => c.role === r)), d => d.busy, d =>
      `${d.name}\n${d.role}: ${percent(d.busy)} busy, ${percent(d.steal)} stolen`, true, null)];
  }

  function byCpu(part) {
    return (box, _index, width) => {
      const cells = data.usage.rows.flatMap(row => row.cells.map((cell, i) => ({ name: row.name, cpu: i, busy: cell[0], steal: cell[1], used: cell[2] })));
      const top = part === "steal" ? Math.max(0.01, d3.max(cells, d => d.steal)) : 1;
      return [heat(box, width, cells, "cpu", data.usage.cpus.map((_, i) => i), d => d[part] / top, d =>
        `${d.name}\n${band(d.cpu)}\n${percent(d.busy)} busy, ${percent(d.steal)} stolen\n${d.used > 0 ? `used by ${words.sessions} in ${percent(d.used)} of the slices` : `not used by ${words.sessions}`}`,
        width / data.usage.cpus.length > 60, i => data.usage.cpus[i], d => percent(d[part]))];
    };
  }

  // Rows are treatments; a cell's ink is its share.
  function heat(box, width, cells, column, columns, share, title, written, tickFormat, figure = d => percent(share(d))) {
    const treatments = data.usage.rows.map(row => row.name);
    // From this share on the other ink has the better contrast (WCAG 2, relative luminance).
    const turn = dark.matches ? 0.62 : 0.85;
    const narrow = width < 560;
    const longest = column === "cpu" ? d3.max(data.usage.cpus, name => name.length) : 0;
    const every = Math.ceil(columns.length * (longest * 7 + 12) / (width - 180));
    const marks = [
      Plot.cell(cells, { x: column, y: "name", fill: "var(--heat)", fillOpacity: d => Math.min(1, 0.04 + 0.96 * share(d)), inset: columns.length > 64 ? 0 : 1, rx: 2 }),
    ];
    if (written) {
      marks.push(Plot.text(cells, { x: column, y: "name", text: figure, fontSize: 11, fontVariant: "tabular-nums", fill: d => (share(d) > turn ? "var(--on-heat)" : "var(--ink)") }));
    }
    marks.push(tip(cells, { x: column, y: "name" }, title));
    return Plot.plot(base(box, width, {
      height: treatments.length * 24 + 50, marginLeft: narrow ? 134 : 170, marginRight: 8, marginTop: 28, marginBottom: 8,
      x: { domain: columns, axis: "top", label: column === "cpu" ? "logical CPU" : null, labelArrow: "none", tickSize: 0, ticks: columns.filter((_, i) => i % every === 0), tickFormat: tickFormat ?? undefined, labelAnchor: "left" },
      y: { domain: treatments, label: null, tickSize: 0, tickFormat: d => (narrow && d.length > 17 ? d.slice(0, 16) + "…" : d) },
      opacity: { type: "identity" },
      marks,
    }));
  }

  function slices(box, index, width) {
    const { points, queries } = data.slices[index];
    const single = queries.length > 0;
    const at = new Map(points.map((p, i) => [p, i]));
    const last = d3.max(points, p => p[0]) ?? 0;
    const [unit, per] = timeUnit(last);
    const starts = [...d3.rollup(points, group => d3.min(group, p => p[0]), p => p[3]).values()];
    const few = points.length < 4000;
    const x = p => p[0] / per;
    const style = { x, y: p => p[1], r: few ? 2.2 : 1.4, fillOpacity: few ? 0.75 : 0.5 };
    const plot = Plot.plot(base(box, width, {
      height: Math.min(420, Math.max(280, width * 0.36)), marginLeft: 52, marginRight: 12, marginBottom: 40, color, symbol,
      x: { label: `time since the start (${unit})`, labelAnchor: "center", labelArrow: "none" },
      y: single ? { label: words.slice, grid: true, type: "log", tickFormat: "~r", labelArrow: "none" } : { label: words.slice, grid: true, tickFormat: rateTick, zero: true, labelArrow: "none" },
      marks: [
        Plot.ruleX(starts.map(s => s / per), { stroke: "var(--rule)" }),
        Plot.ruleY([single ? 1 : 0], { stroke: "var(--muted)" }),
        Plot.dot(points, { ...style, fill: p => p[2], symbol: p => p[2] }),
        tip(points, { x, y: p => p[1] }, p => `${labels[p[2]]}\n${single ? `Q${queries[at.get(p)]}: ${d3.format(".2f")(p[1])}x its usual speed` : `${rate(p[1])} ${words.rate}`}\nblock ${p[3]}, round ${p[4]}, ${d3.format(".3f")(x(p))} ${unit}`),
      ],
    }));
    return [legend(new Set(points.map(p => p[2]))), plot];
  }

  // The baseline's rate by block, and its levels as steps.
  function levels(box, index, width) {
    const { points, levels, unit: what } = data.levels[index];
    const [unit, per] = timeUnit(d3.max(points, p => p[0]) ?? 0);
    const steps = levels.flatMap(([start, end, mean]) => [{ x: start / per, y: mean }, { x: end / per, y: mean }]);
    const bands = levels.filter(l => l[3] !== null).map(([start, end, , low, high]) => ({ x1: start / per, x2: end / per, y1: low, y2: high }));
    const ends = [...points.map(p => p[1]), ...bands.flatMap(b => [b.y1, b.y2])];
    return [Plot.plot(base(box, width, {
      height: Math.min(320, Math.max(220, width * 0.28)), marginLeft: 52, marginRight: 12, marginBottom: 40,
      x: { label: `time since the start (${unit})`, labelAnchor: "center", labelArrow: "none" },
      y: { label: what, grid: true, tickFormat: rateTick, domain: d3.extent(ends), nice: true, labelArrow: "none", ticks: 6 },
      marks: [
        Plot.rect(bands, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--c0)", fillOpacity: 0.15 }),
        Plot.line(steps, { x: "x", y: "y", stroke: "var(--c0)", strokeWidth: 2 }),
        Plot.dot(points, { x: p => p[0] / per, y: p => p[1], fill: "var(--ink)", r: 2.5 }),
        tip(points, { x: p => p[0] / per, y: p => p[1] }, p => `block ${p[2]}, ${d3.format(".3f")(p[0] / per)} ${unit}\n${rate(p[1])} ${what}`),
      ],
    }))];
  }

  // A fitted curve in its interval, and the points that it was fitted to.
  function curve(box, index, width) {
    const { unit, sessions, points, curve, marks } = data.curve[index];
    const xs = [...curve, ...points.map(p => p.slice(1))].map(p => p[0]);
    const many = d3.max(xs) > 64;
    return [Plot.plot(base(box, width, {
      height: Math.min(360, Math.max(260, width * 0.45)), marginLeft: 52, marginRight: 24, marginTop: 30, marginBottom: 40,
      x: { label: sessions, type: many ? "log" : "linear", base: 2, tickFormat: "d", ticks: many ? 8 : Math.min(10, d3.max(xs)), inset: 12, labelAnchor: "center", labelArrow: "none" },
      y: { label: unit, grid: true, tickFormat: rateTick, zero: true, labelArrow: "none", ticks: 6 },
      marks: [
        Plot.ruleY([0], { stroke: "var(--muted)" }),
        Plot.areaY(curve, { x: p => p[0], y1: p => p[2], y2: p => p[3], fill: "var(--c0)", fillOpacity: 0.18 }),
        Plot.line(curve, { x: p => p[0], y: p => p[1], stroke: "var(--c0)", strokeWidth: 2 }),
        Plot.ruleX(marks, { x: m => m[0], stroke: "var(--muted)", strokeDasharray: "3 3" }),
        // Names of neighbours stand above each other.
        ...[0, 1].map(row => Plot.text(marks.filter((_, i) => i % 2 === row), { x: m => m[0], text: m => m[1], frameAnchor: "top", dy: -8 - 12 * row, fontSize: 11, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3 })),
        Plot.dot(points, { x: p => p[1], y: p => p[2], fill: "var(--ink)", r: 3.5 }),
        tip(points, { x: p => p[1], y: p => p[2] }, p => `${p[0]}\n${p[1]} ${p[1] === 1 ? sessions.slice(0, -1) : sessions}\n${rate(p[2])} ${unit}, the law ${rate(p[3])}`),
      ],
    }))];
  }

  // Settings to choose from: which is to be used, and which are as good.
  function choice(box, index, width) {
    const { axis, speed, candidates, margin } = data.choice[index];
    const rows = candidates.map((c, i) => ({ ...c, i }));
    const room = (width - 76) / rows.length;
    const cut = name => { const most = Math.max(3, Math.floor(room / 7)); return name.length > most ? name.slice(0, most - 1) + "…" : name; };
    const known = rows.filter(r => r.low !== null && r.high !== null);
    const best = d3.max(rows, r => r.speed);
    const used = r => (r.chosen === null ? "var(--paper)" : r.chosen ? "var(--c0)" : "var(--c4)");
    const marked = rows.filter(r => r.chosen !== null);
    return [Plot.plot(base(box, width, {
      height: Math.min(300, Math.max(200, width * 0.5)), marginLeft: 52, marginRight: 24, marginTop: 24, marginBottom: 40,
      x: { type: "point", domain: rows.map(r => r.i), tickFormat: i => cut(rows[i].name), label: axis, labelAnchor: "center", labelArrow: "none", tickSize: 0, padding: 0.5 },
      y: { label: speed, grid: true, zero: true, tickFormat: d => `${d3.format("~r")(d)}x`, labelArrow: "none", ticks: 5 },
      marks: [
        Plot.ruleY([0], { stroke: "var(--muted)" }),
        Plot.rect([best], { y1: best / (1 + margin), y2: best, fill: "var(--muted)", fillOpacity: 0.3 }),
        Plot.ruleX(known, { x: "i", y1: "low", y2: "high", stroke: "var(--c0)", strokeWidth: 2 }),
        ...["low", "high"].map(y => Plot.dot(known, { x: "i", y, symbol: cap(1, 0), stroke: "var(--c0)", strokeWidth: 2, r: 4 })),
        Plot.dot(rows, { x: "i", y: "speed", stroke: "var(--c0)", strokeWidth: 2, fill: used, r: r => (r.chosen === null ? 4.5 : 7) }),
        Plot.text(marked, { x: "i", y: r => r.high ?? r.speed, text: r => (r.chosen ? "use" : "best guess"), dy: -14, fontSize: 12.5, fontWeight: 650, fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3 }),
        tip(rows, { x: "i", y: "speed" }, r => `${r.name}\n${d3.format(".3~r")(r.speed)}x${r.low === null ? "" : ` [${d3.format(".3~r")(r.low)}, ${d3.format(".3~r")(r.high)}]`}\n${r.within_margin ? "shown to be" : "not shown to be"} within ${percent(margin)} of the best`),
      ],
    }))];
  }

  const timeUnit = last => (last > 7200 ? ["h", 3600] : last > 180 ? ["min", 60] : ["s", 1]);
  const pairFigures = figures => (figures ? `${nanoseconds(figures[0])} ns (median ${nanoseconds(figures[1])}, spread ${nanoseconds(figures[2])})` : "not measured");
  const nanoseconds = value => (value >= 99.95 ? d3.format(".0f")(value) : d3.format(".3~r")(value));
  // Rows and columns are logical CPUs; `cells` have x, y and title.
  function square(box, width, cells, marks, side) {
    const { cpus, grouped } = data.pairs;
    const n = cpus.length;
    const every = Math.ceil((n * 26) / side);
    const ticks = d3.range(0, n, every).map(i => i + 0.5);
    const axis = { domain: [0, n], ticks, tickFormat: d => String(cpus[Math.floor(d)]), tickSize: 0, labelArrow: "none" };
    return Plot.plot(base(box, side + 56, {
      height: side + 52, marginLeft: 44, marginRight: 12, marginTop: 44, marginBottom: 8,
      x: { ...axis, axis: "top", label: grouped ? "logical CPU, by measured groups" : "logical CPU", labelAnchor: "left", labelOffset: 38 },
      y: { ...axis, reverse: true, label: null },
      marks: [...marks, Plot.frame({ stroke: "var(--rule)" }), Plot.tip(cells, Plot.pointer({ x: d => d.x + 0.5, y: d => d.y + 0.5, title: "title", maxRadius: Math.max(30, side / n), fontSize: 12, lineHeight: 1.35, textPadding: 8 }))],
    }));
  }
  const sideOf = width => Math.max(120, Math.min(width - 56, data.pairs.cpus.length * 72, 720));
  const both = rows => rows.flatMap(d => [{ ...d, x: d.j, y: d.i }, { ...d, x: d.i, y: d.j }]);
  const boxed = { x1: d => d.x, x2: d => d.x + 1, y1: d => d.y, y2: d => d.y + 1 };

  function swatches(entries) {
    const list = document.createElement("ul");
    list.className = "legend";
    list.hidden = entries.length === 0;
    for (const [fill, opacity, text] of entries) {
      const item = document.createElement("li");
      const svg = d3.create("svg").attr("width", 18).attr("height", 14).attr("aria-hidden", "true");
      svg.append("rect").attr("width", 18).attr("height", 14).attr("rx", 2).attr("fill", fill).attr("fill-opacity", opacity);
      item.append(svg.node(), document.createTextNode(" " + text));
      list.append(item);
    }
    return list;
  }

  // Least latency by one of the methods: blue where it was measured, grey where groups imply it.
  function latency(box, index, width) {
    const { cpus, pairs, levels, squares, answers, grouped } = data.pairs;
    const side = sideOf(width);
    const middle = new Map(squares.map(s => [s[0], s[3]]));
    const all = pairs.map(([i, j, cas, two, level, answer]) => {
      const own = data.latency[index] === 0 ? cas : two;
      const lines = [`logical CPUs ${cpus[i]} and ${cpus[j]}`];
      if (answer !== null) lines.push(answers[answer][1]);
      if (level !== null) lines.push(cas || two ? levels[level] : `${levels[level]}, inferred from groups`);
      lines.push(`compare-and-swap: ${pairFigures(cas)}`, `two lines: ${pairFigures(two)}`);
      return { i, j, inferred: !own, ns: own ? own[0] : level === null ? null : middle.get(level), title: lines.join("\n") };
    }).filter(d => d.ns > 0);
    const [least, most] = d3.extent([...all.map(d => d.ns), ...(grouped ? squares.map(s => s[3]) : [])].filter(v => v > 0));
    const ink = ns => (most > least ? 0.1 + 0.85 * (Math.log(ns / least) / Math.log(most / least)) : 0.4);
    const cells = both(all);
    const marks = [];
    if (grouped) {
      // Far levels lie below near ones, on paper, so that their inks do not add up.
      const place = { x1: s => s[1], x2: s => s[2] + 1, y1: s => s[1], y2: s => s[2] + 1 };
      for (const level of d3.group(squares.filter(s => s[3] > 0), s => s[0]).values()) {
        marks.push(Plot.rect(level, { ...place, fill: "var(--paper)" }), Plot.rect(level, { ...place, fill: "var(--muted)", fillOpacity: s => 0.75 * ink(s[3]) }));
      }
    }
    const least_side = grouped ? Math.max(0, (2.2 * cpus.length) / side - 1) / 2 : 0;
    const grown = { x1: d => d.x - least_side, x2: d => d.x + 1 + least_side, y1: d => d.y - least_side, y2: d => d.y + 1 + least_side };
    if (grouped) marks.push(Plot.rect(cells, { ...grown, fill: "var(--paper)" }));
    marks.push(Plot.rect(cells, { ...(grouped ? grown : boxed), fill: d => (d.inferred ? "var(--muted)" : "var(--heat)"), fillOpacity: d => ink(d.ns), inset: cpus.length > 32 ? 0 : 1 }));
    if (side / cpus.length >= 30) {
      const turn = dark.matches ? 0.62 : 0.75;
      marks.push(Plot.text(cells, { x: d => d.x + 0.5, y: d => d.y + 0.5, text: d => nanoseconds(d.ns), fontSize: 11, fontVariant: "tabular-nums", fill: d => (ink(d.ns) > turn ? "var(--on-heat)" : "var(--ink)") }));
    }
    const ends = most > least ? [["var(--heat)", ink(least), `${nanoseconds(least)} ns`], ["var(--heat)", ink(most), `${nanoseconds(most)} ns`]] : [];
    const inferred = grouped || all.some(d => d.inferred) ? [["var(--muted)", 0.5, "inferred from groups"]] : [];
    return [swatches([...ends, ...inferred]), square(box, width, cells, marks, side)];
  }

  const ANSWER_FILLS = ["var(--rule)", "var(--heat)", "var(--c1)", "var(--c4)", "var(--c3)", "var(--c6)"];

  function sharing(box, _index, width) {
    const { cpus, pairs, answers } = data.pairs;
    const side = sideOf(width);
    const cells = both(pairs.filter(p => p[5] !== null).map(([i, j, , , , answer, differs]) => ({
      i, j, answer, differs, title: `logical CPUs ${cpus[i]} and ${cpus[j]}\n${answers[answer][1]}${differs ? "\ndeclared otherwise" : ""}`,
    })));
    const marks = [Plot.rect(cells, { ...boxed, fill: d => ANSWER_FILLS[d.answer], fillOpacity: 0.5, inset: cpus.length > 32 ? 0 : 1, stroke: d => (d.differs ? "var(--warn)" : "none"), strokeWidth: 2 })];
    if (side / cpus.length >= 16) {
      marks.push(Plot.text(cells, { x: d => d.x + 0.5, y: d => d.y + 0.5, text: d => answers[d.answer][0] + (d.differs ? "!" : ""), fontSize: 14, fontWeight: d => (d.differs ? 700 : 400), fill: "var(--ink)" }));
    }
    const used = answers.map((answer, i) => [ANSWER_FILLS[i], 0.5, `${answer[0]} ${answer[1]}`]).filter((_, i) => cells.some(d => d.answer === i));
    return [swatches(used), square(box, width, cells, marks, side)];
  }

  // Waits have colours of their own; what runs and what is left are no waits.
  const WAIT_FILLS = ["var(--c1)", "var(--c0)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c7)", "var(--c6)"];

  function waits(box, index, width) {
    const { names, rows } = data.waits[index];
    let at = 0;
    const fills = names.map(([, kind]) => (kind === "running" ? "var(--c2)" : kind === "other" ? "var(--rule)" : WAIT_FILLS[at++ % WAIT_FILLS.length]));
    const cells = rows.flatMap(row => {
      let left = 0;
      return row.shares.map((share, i) => ({ name: row.name, samples: row.samples, i, share, x1: left, x2: (left += share) })).filter(d => d.share > 0);
    });
    const narrow = width < 560;
    const marginLeft = narrow ? 134 : 170;
    const room = width - marginLeft - 8;
    const place = { y: "name", x1: "x1", x2: "x2" };
    const plot = Plot.plot(base(box, width, {
      height: rows.length * 28 + 50, marginLeft, marginRight: 12, marginTop: 8, marginBottom: 38,
      x: { domain: [0, 1], label: "share of samples", labelAnchor: "center", labelArrow: "none", tickFormat: ".0%", ticks: narrow ? 4 : 10 },
      y: { type: "band", domain: rows.map(row => row.name), label: null, tickSize: 0, padding: 0.2, tickFormat: d => (narrow && d.length > 17 ? d.slice(0, 16) + "…" : d) },
      marks: [
        Plot.barX(cells, { ...place, fill: d => fills[d.i], stroke: "var(--paper)", strokeWidth: 1 }),
        // An outline of paper keeps figures readable on every colour.
        Plot.text(cells.filter(d => d.share * room >= 34), { y: "name", x: d => (d.x1 + d.x2) / 2, text: d => d3.format(".0%")(d.share), fontSize: 11, fontVariant: "tabular-nums", fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3 }),
        tip(cells, { y: "name", x: d => (d.x1 + d.x2) / 2 }, d => `${d.name}\n${names[d.i][0]}: ${percent(d.share)} of ${d3.format(",")(d.samples)} samples`),
      ],
    }));
    return [swatches(names.map(([name], i) => [fills[i], 1, name]).filter((_, i) => cells.some(d => d.i === i))), plot];
  }

  const draw = {
    throughput, ratios, values, roles, busy: byCpu("busy"), steal: byCpu("steal"), slices, levels, curve, choice, latency, sharing, waits,
    // Drawn by bars.js, which a page without such charts does not have.
    ...globalThis.queryCharts?.({ data, base, tip, cap, swatches, dark, ticks: TICKS }),
    // Drawn by timelines.js, likewise.
    ...globalThis.worklistCharts?.({ data, base, tip, cap, swatches }),
    // Drawn by strip.js, likewise.
    ...globalThis.stripCharts?.({ data, base, percent }),
  };

  // A chart is an image with a name. Plot names its marks too, which no element without a role may be (WAI-ARIA
  // 1.2, "Roles which cannot be named"): what it calls them becomes data. It makes new ones for tips.
  function name(node) {
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    for (const own of [node, ...node.querySelectorAll("[aria-label]")].filter(own => own.matches("svg[aria-label], svg [aria-label]"))) {
      if (own.localName === "svg") { own.setAttribute("role", "img"); continue; }
      own.dataset.mark = own.getAttribute("aria-label");
      own.removeAttribute("aria-label");
    }
  }
  const tips = new MutationObserver(changes => changes.forEach(change => change.addedNodes.forEach(name)));

  function drawAll() {
    let drawn = 0;
    for (const box of document.querySelectorAll(".chart")) {
      const width = Math.max(280, Math.floor(box.clientWidth));
      if (box.dataset.width === String(width)) { drawn += 1; continue; }
      try {
        box.replaceChildren(...draw[box.dataset.chart](box, Number(box.dataset.index), width));
        name(box);
        tips.observe(box, { childList: true, subtree: true });
        box.dataset.width = String(width);
        drawn += 1;
      } catch (fault) {
        box.textContent = "This chart could not be drawn; the table below has its figures.";
        console.error(`${box.dataset.chart}: ${fault}`);
      }
    }
    document.documentElement.dataset.charts = String(drawn);
  }

  let timer = 0;
  addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(drawAll, 120); });
  dark.addEventListener("change", () => {
    for (const box of document.querySelectorAll(".chart")) delete box.dataset.width;
    drawAll();
  });
  drawAll();
})();
