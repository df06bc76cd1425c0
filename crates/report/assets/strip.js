// Draws states over time with the speed of slices above them; report.js calls it with its tools. As there, all
// figures were aggregated by the program, and texts only ever become text nodes and attributes.
globalThis.stripCharts = tools => {
  "use strict";
  const { data, base, percent } = tools;
  // A colour, a texture and a shape for each state: colour alone is not enough for everybody. The states are alone,
  // one core, neighbour, away, not known.
  const INKS = ["var(--rule)", "var(--c0)", "var(--c1)", "var(--ink)", "var(--muted)"];
  const SHAPES = ["circle", "square", "triangle", "times", "diamond"];
  const clip = (text, room) => (text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text);
  const seconds = s => `${d3.format(s < 1000 ? ".3~r" : ".0f")(s)} s`;

  // Textures by state; an id must be the page's own. What is alone or on one core is plain.
  let patterns = 0;
  function fills(svg) {
    const defs = d3.select(svg).insert("defs", ":first-child");
    return INKS.map((ink, state) => {
      if (state < 2) return ink;
      const id = `state-${(patterns += 1)}`;
      const pattern = defs.append("pattern").attr("id", id).attr("width", 5).attr("height", 5).attr("patternUnits", "userSpaceOnUse");
      pattern.append("rect").attr("width", 5).attr("height", 5).attr("fill", state === 2 ? ink : "var(--paper)");
      if (state === 2) pattern.append("rect").attr("width", 1.8).attr("height", 5).attr("fill", "var(--paper)").attr("fill-opacity", 0.65);
      if (state === 3) pattern.append("rect").attr("width", 5).attr("height", 3).attr("fill", ink);
      if (state === 4) pattern.append("circle").attr("cx", 2.5).attr("cy", 2.5).attr("r", 1.3).attr("fill", ink);
      if (state === 2) pattern.attr("patternTransform", "rotate(45)");
      return `url(#${id})`;
    });
  }

  // The shape of a mark above, as attributes: hollow where nothing is known, grey where all was as it should be.
  const dot = state => ({
    symbol: SHAPES[state], r: state === 0 ? 1.8 : 3,
    ...(state === 3 ? { stroke: INKS[3], strokeWidth: 1.5 } : state === 4 ? { stroke: INKS[4], strokeWidth: 1.2 } : { fill: state === 0 ? "var(--muted)" : INKS[state] }),
    fillOpacity: state === 0 ? 0.7 : 1,
  });

  function legend(states, used) {
    const list = document.createElement("ul");
    list.className = "legend";
    states.forEach(([, name], state) => {
      if (!used.has(state)) return;
      const item = document.createElement("li");
      const svg = d3.create("svg").attr("width", 38).attr("height", 14).attr("viewBox", "0 -7 38 14").attr("aria-hidden", "true");
      svg.append("rect").attr("y", -7).attr("width", 20).attr("height", 14).attr("rx", 2).attr("stroke", "var(--muted)").attr("stroke-width", 0.5).attr("fill", fills(svg.node())[state]);
      const shape = svg.append("path").attr("transform", "translate(30,0)").attr("d", d3.symbol(d3[`symbol${SHAPES[state].replace(/^./, c => c.toUpperCase())}`], state === 0 ? 24 : 36)());
      const { fill = "none", stroke = "none", strokeWidth = 1 } = dot(state);
      shape.attr("fill", fill).attr("stroke", stroke).attr("stroke-width", strokeWidth);
      item.append(svg.node(), document.createTextNode(" " + name));
      list.append(item);
    });
    return list;
  }

  // Rows from above, in pixels: treatments, then logical CPUs. Each has a name and where it begins and ends.
  function rows(chart, width) {
    const narrow = width < 560;
    const tall = Math.max(34, Math.min(64, 420 / chart.treatments.length));
    const low = Math.max(5, Math.min(22, 340 / chart.cpus.length));
    // On narrow paper names stand above their rows.
    const above = narrow ? 15 : 0;
    let y = 6;
    const all = [];
    const add = (name, height, gap, room) => { all.push({ name, top: y + room, end: y + room + height }); y += room + height + gap; };
    for (const name of chart.treatments) add(name, tall, 9, above);
    y += 8;
    const named = low >= 11;
    chart.cpus.forEach(cpu => add(named ? `CPU ${cpu}` : "", low, named ? 4 : 1, 0));
    return { all, narrow, height: y };
  }

  // Cells as rectangles: a column with several states is divided by their shares.
  function rectangles(chart, all) {
    const first = chart.treatments.length;
    return chart.cells.flatMap(([row, x, columns, shares]) => {
      const { top, end } = all[first + row];
      let from = end;
      return shares.map(([state, share]) => ({ x1: x, x2: x + columns, y2: from, y1: (from -= share * (end - top)), state }));
    });
  }

  // One tip for all: marks above, and each column of each row below.
  function tips(chart, all, speeds) {
    const { pieces, states, cpus, treatments } = chart;
    const when = (column, piece) => {
      const [block, x, columns, start, end] = piece;
      return `block ${block}, ${seconds(start + ((end - start) * (column - x)) / columns)} after the start`;
    };
    const at = column => pieces.find(([, x, columns]) => column >= x && column <= x + columns);
    const marks = speeds.map(d => ({ x: d.x, y: d.y, text: () =>
      `${treatments[d.row]}\n${d3.format(".2f")(d.speed)}x its usual speed\nbefore: ${states[d.state][1]}\n${d.slices === 1 ? `round ${d.round}, ` : `${d.slices} together, `}${when(d.x, at(d.x))}` }));
    const cells = chart.cells.flatMap(([row, x, columns, shares]) => {
      const { top, end } = all[treatments.length + row];
      const words = shares.length === 1 ? states[shares[0][0]][1] : shares.map(([state, share]) => `${states[state][1]} ${percent(share)}`).join(", ");
      return d3.range(columns).map(i => ({ x: x + i + 0.5, y: (top + end) / 2, text: () => `logical CPU ${cpus[row]}\n${words}\n${when(x + i + 0.5, at(x))}` }));
    });
    return [...marks, ...cells];
  }

  function strip(box, index, width) {
    const chart = data.strip[index];
    const { all, narrow, height } = rows(chart, width);
    const longest = d3.max(all, row => row.name.length) ?? 0;
    const marginLeft = narrow ? 50 : Math.min(longest * 6.8 + 14, width * 0.22);
    const top = d => Math.min(2, d);
    const most = top(Math.max(1.25, d3.max(chart.points, p => p[2]) ?? 1));
    const speeds = chart.points.map(([row, x, speed, state, slices, block, round]) => {
      const { top: above, end } = all[row];
      return { row, x, speed, state, slices, block, round, y: end - (top(speed) / most) * (end - above) };
    });
    const cells = rectangles(chart, all);
    const used = new Set([...cells, ...speeds].map(d => d.state));
    const bands = all.slice(0, chart.treatments.length);
    const names = narrow ? bands : all;
    const room = (width - marginLeft - 10) / chart.columns;
    const labels = blocks(chart.pieces, room);
    const frames = all.flatMap(row => chart.pieces.map(([, x, columns]) => ({ x1: x, x2: x + columns, y1: row.top, y2: row.end })));
    const text = { fontSize: 12, fill: "var(--ink)" };
    const holder = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const paints = fills(holder);
    const marks = [
      Plot.rect(frames, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--panel)" }),
      ...paints.map((fill, state) => Plot.rect(cells.filter(d => d.state === state), { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill })),
      // A line at 1, the usual speed, and one at 0.
      Plot.ruleY(bands.flatMap(row => chart.pieces.map(([, x, columns]) => ({ x1: x, x2: x + columns, y: row.end - (row.end - row.top) / most }))), { x1: "x1", x2: "x2", y: "y", stroke: "var(--muted)", strokeOpacity: 0.6, strokeWidth: 0.75 }),
      ...SHAPES.map((_, state) => Plot.dot(speeds.filter(d => d.state === state), { x: "x", y: "y", ...dot(state) })),
      Plot.text(names, { ...text, x: narrow ? 0 : undefined, frameAnchor: "left", textAnchor: narrow ? "start" : "end", dx: narrow ? 0 : -8, dy: narrow ? -8 : 0, y: d => (narrow ? d.top : (d.top + d.end) / 2), text: d => clip(d.name, narrow ? 48 : Math.floor((marginLeft - 12) / 6.4)) }),
      Plot.text(narrow ? all.slice(chart.treatments.length).filter(row => row.name) : [], { ...text, frameAnchor: "left", textAnchor: "end", dx: -6, y: d => (d.top + d.end) / 2, text: "name" }),
      Plot.text(bands, { fontSize: 10, fill: "var(--muted)", frameAnchor: "right", textAnchor: "end", dx: 14, y: d => d.end - (d.end - d.top) / most, text: () => "1" }),
      Plot.text(labels, { fontSize: 11, fill: "var(--muted)", x: "x", y: height + 4, text: "text" }),
      Plot.tip(tips(chart, all, speeds), Plot.pointer({ x: "x", y: "y", title: d => d.text(), maxRadius: 24, fontSize: 12, lineHeight: 1.35, textPadding: 8 })),
    ];
    const svg = Plot.plot(base(box, width, {
      height: height + 38, marginLeft, marginRight: 16, marginTop: 0, marginBottom: 0,
      x: { domain: [0, chart.columns], axis: null }, y: { type: "identity", axis: null },
      marks: [...marks, Plot.text(["time, block by block"], { fontSize: 12, fill: "var(--ink)", frameAnchor: "bottom", dy: -4, text: d => d })],
    }));
    svg.prepend(...holder.childNodes);
    return [legend(chart.states, used), svg];
  }

  // Names of blocks below their first piece, as many as have room.
  function blocks(pieces, room) {
    const ends = d3.rollup(pieces, all => [d3.min(all, p => p[1]), d3.max(all, p => p[1] + p[2])], p => p[0]);
    const kept = [];
    for (const [block, [from, to]] of ends) {
      const wide = (to - from) * room > 56;
      const label = { x: (from + to) / 2, text: wide || kept.length === 0 && (to - from) * room > 44 ? `block ${block}` : String(block) };
      const last = kept.at(-1);
      if (!last || (label.x - last.x) * room > 8 + 3.2 * (label.text.length + last.text.length)) kept.push(label);
    }
    return kept;
  }

  return { strip };
};
