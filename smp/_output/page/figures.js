// Draws the figures of the page as SVG from their descriptions, which are the JSON in each <figure>.
//
//   description -> panels -> axes with ticks -> marks, cells, series -> points that the pointer and the keys find
//
// Colours are CSS variables, so a change of the theme needs no drawing.  Fields that a description leaves out have the
// defaults of `smp._output.figure`.
const {abs, floor, log, log10, max, min} = Math;
const SVG = "http://www.w3.org/2000/svg";
const LINE = 17, NEAR = 30, NARROW = 250, MOST_NUMBERS = 500, MANY_POINTS = 60;
const DASHES = {dashed: "7 4", dashdot: "7 3 2 3", dotted: "2 3"};
const KEPT = "fill stroke stroke-width opacity font text-anchor vector-effect".split(" ");
// Outlines around the origin, as large as a circle with radius 1
const MARKERS = [
  "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z", "M-.9-.9H.9V.9H-.9z", "M0-1.1L1 .8H-1z", "M0-1.2L1.1 0L0 1.2L-1.1 0z",
  "M0 1.1L1-.8H-1z", "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4z",
  "M-1-.5L-.5-1L0-.5L.5-1L1-.5L.5 0L1 .5L.5 1L0 .5L-.5 1L-1 .5L-.5 0z",
];
// Functions from a value to a length, and back
const SCALES = {
  linear: [v => v, v => v],
  log: [log10, v => 10 ** v],
  symlog: [v => v <= 1 ? v : 1 + log10(v), v => v <= 1 ? v : 10 ** (v - 1)],
};
const UNITS = {
  bytes: [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024], ["B", 1]],
  s: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]],
};

// --- elements and texts

function set(one, attributes) {
  for (const [key, value] of Object.entries(attributes)) if (value != null) one.setAttribute(key, value);
}

function add(parent, name, attributes = {}, text) {
  const made = document.createElementNS(name === "svg" ? SVG : parent.namespaceURI, name);
  set(made, attributes);
  made.textContent = text ?? "";
  return parent.appendChild(made);
}

const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui";
const wide = text => pen.measureText(text).width;
const flat = text => (text ?? "").replace(/\s+/g, " ").trim();

function broken(text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = flat(`${lines.at(-1)} ${word}`);
    if (wide(longer) > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.filter(Boolean);
}

const number = v => v.toLocaleString("en-US", abs(v) >= 1000 ? {maximumFractionDigits: 0}
  : {minimumSignificantDigits: v ? 3 : 1, maximumSignificantDigits: 3});

function shown(axis, v) {
  if (axis.names) return flat(axis.names[Math.round(v)]);
  if (!UNITS[axis.unit]) return flat(`${Number.isInteger(v) ? v.toLocaleString("en-US") : number(v)} ${axis.unit || ""}`);
  const [unit, scale] = UNITS[axis.unit].find(([, scale]) => abs(v) >= 0.9995 * scale) || UNITS[axis.unit].at(-1);
  return `${+(v / scale).toPrecision(3)} ${unit}`;
}

function power(v) {
  const [times, exponent] = v.toExponential(2).split("e").map(Number);
  return `${times === 1 ? "" : `${times}×`}10${`${exponent}`.replace(/./g, c => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)])}`;
}

const named = about => flat(about.label) + (about.unit && about.unit !== "s" ? ` (${about.unit})` : "");
const coloured = index => `var(--c${index % 16})`;
const mixed = (name, share) => `color-mix(in oklch increasing hue, var(--${name}1) ${100 * share}%, var(--${name}0))`;
const colourOf = one => one.shade == null ? coloured(one.colour ?? 0) : mixed("shade", one.shade);
const lineOf = one => ({class: "line", stroke: colourOf(one), "stroke-dasharray": DASHES[one.dash]});

// --- axes

function scaleOf(axis, [low, high], from, to) {
  const [forth, back] = SCALES[axis.scale || "linear"], a = forth(low), b = forth(high);
  const place = v => from + (to - from) * (forth(v) - a) / (b - a);
  place.back = pixel => back(a + (b - a) * (pixel - from) / (to - from));
  return place;
}

function evenTicks(low, high, room, whole) {
  const rough = (high - low) / max(room, 2), unit = 10 ** floor(log10(rough)), found = [];
  const step = max([1, 2, 5, 10].find(m => m * unit >= rough) * unit, whole ? 1 : 0);
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(+(k * step).toPrecision(9));
  return found;
}

function powerTicks(low, high, room, base) {
  const e = v => log(v) / log(base) + 1e-9, powers = e(high / low), found = [];
  const every = [1, 2, 3, 6, 12].find(every => powers / every <= room), steps = base === 2 ? [1]
    : [[1, 2, 3, 5], [1, 2, 5], [1, 3]].find(steps => steps.length * powers <= room) || [1];
  for (let k = floor(e(low) / every) * every; k <= e(high); k += every) found.push(...steps.map(m => m * base ** k));
  return found;
}

function ticksOf(axis, [low, high], room, whole) {
  const even = !axis.scale || axis.scale === "log" && high / low < 3;
  const found = axis.names?.map((_, k) => k) || axis.ticks || (even ? evenTicks(low, high, room, whole)
    : axis.scale === "symlog" ? [0, ...powerTicks(1, high, room, 10)]
      : powerTicks(low, high, room, axis.unit === "bytes" ? 2 : 10));
  return found.filter(v => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9));
}

function tickText(axis, [low, high]) {
  if (axis.names || UNITS[axis.unit]) return v => shown(axis, v);
  const powers = axis.scale === "log" && (high >= 1e6 || low <= 1e-4);
  return v => powers ? power(v) : v.toLocaleString("en-US", {maximumSignificantDigits: 6});
}

// --- a figure

function draw(box, figure) {
  const marked = mark => ({colour: 6, name: mark.text, of: flat(mark.text), ...mark});
  const panels = figure.panels.map(panel => ({...panel, marks: (panel.marks || []).map(marked)}));
  for (const s of panels.flatMap(panel => panel.series)) s.of ??= flat(s.name);
  const across = figure.columns || panels.length;
  const plot = box.querySelector(".plot"), tools = box.querySelector(".tools");
  const legend = add(plot, "div", {class: "legend", role: "group", "aria-label": flat(figure.legend) || "Series"});
  const canvas = add(plot, "div", {class: "canvas"});
  const svg = add(canvas, "svg", {role: "img", tabindex: 0, "aria-label": `${figure.title}. ${figure.reading}`});
  const tip = add(canvas, "div", {class: "tip", hidden: ""});
  const said = add(plot, "p", {class: "unseen", "aria-live": "polite"});
  // views: the ends of axes while the figure is zoomed
  const hidden = new Set(), views = new Map();
  let points = [], rooms = [], at = -1, ring, drag;

  // Panels with the same key share an axis
  function keyOf(k, which) {
    const how = figure[`share_${which}`] || "none";
    return which + {all: "", row: floor(k / across), col: k % across, none: ` of ${k}`}[how];
  }

  const write = (into, text, x, y, kind, more) => add(into, "text", {x, y, class: kind, ...more}, text);

  function redraw() {
    const width = max(canvas.clientWidth, NARROW), columns = min(across, floor(width / NARROW));
    const height = panels.length > columns ? 190 : min(330, width / columns / 2);
    let top = 0, bottom = 0;
    svg.replaceChildren();
    points = [], rooms = [], at = -1;
    panels.forEach((panel, k) => {
      if (k % columns === 0) top = bottom;
      const tall = panel.y.names && !panel.cells ? 24 * panel.y.names.length : 0, each = width / columns;
      bottom = max(bottom, drawPanel(panel, k, (k % columns) * each, top, each - 10, max(height, tall)));
    });
    set(svg, {viewBox: `0 0 ${width} ${bottom}`});
    ring = add(svg, "circle", {r: 8, class: "found", opacity: 0});
    show();
  }

  // Returns where the next panel may begin
  function drawPanel(panel, k, left, top, width, height) {
    const [X, Y] = ["x", "y"].map(which => views.get(keyOf(k, which)) || panel[which].ends);
    const textX = tickText(panel.x, X), textY = tickText(panel.y, Y);
    const ticksY = ticksOf(panel.y, [min(...Y), max(...Y)], height / 42);
    const widest = min(max(...ticksY.map(v => wide(textY(v)))), 0.42 * width);
    const label = broken(named(panel.y), height), beside = left + widest + 12 + (label.length && 6 + 15 * label.length);
    const room = {k, panel, X, left: beside, right: left + width, top: top + 10};
    for (const line of broken(panel.title || "", 0.9 * width))
      write(svg, line, left + 4, (room.top += LINE) - 5, "heading");
    const x = scaleOf(panel.x, X, room.left, room.right), id = `${figure.id}-${k}`;
    drawGroups(room, x);
    room.bottom = room.top + height;
    const y = scaleOf(panel.y, Y, room.bottom, room.top), inside = add(svg, "g", {"clip-path": `url(#${id})`});
    const size = {x: room.left - 1, y: room.top - 1, width: room.right - room.left + 2, height: height + 2};
    add(add(svg, "clipPath", {id}), "rect", size);
    for (const v of ticksY) {
      const lines = broken(textY(v), widest + 1), first = y(v) + 4 - 7 * (lines.length - 1);
      if (!panel.cells && !panel.y.names) add(inside, "path", {class: "grid", d: `M${room.left} ${y(v)}H${room.right}`});
      lines.forEach((line, n) => write(svg, line, room.left - 7, first + 14 * n, "tick end"));
    }
    const whole = panel.series.every(s => s.x?.every(Number.isInteger));
    const ticksX = ticksOf(panel.x, X, (room.right - room.left) / 55, whole);
    // A number is left out if it has no room
    let free = -Infinity;
    for (const v of ticksX) {
      const text = textX(v), half = wide(text) / 2;
      if (!panel.cells) add(inside, "path", {class: "grid", d: `M${x(v)} ${room.top}V${room.bottom}`});
      if (x(v) - half < free) continue;
      write(svg, text, x(v), room.bottom + LINE, "tick middle");
      free = x(v) + half + 6;
    }
    add(svg, "path", {class: "frame", d: `M${room.left} ${room.top}V${room.bottom}H${room.right}`});
    write(svg, named(panel.x), (room.left + room.right) / 2, room.bottom + 36, "label middle");
    label.forEach((line, n) => write(svg, line, 0, 0, "label middle", {
      transform: `translate(${left + 13 + 15 * n} ${room.top + height / 2})rotate(-90)`}));
    rooms.push(Object.assign(room, {x, y, inside}));
    drawMarks(room);
    if (panel.cells) drawCells(room);
    const count = panel.series.flatMap(s => s.x ?? []).length;
    for (const s of panel.series.filter(s => s.x && !hidden.has(s.of)))
      (s.kind === "bar" ? drawBars : drawSeries)(room, s, count > MANY_POINTS ? 2.6 : 3.6);
    return room.bottom + 52;
  }

  // Texts of marks above the panel; those that have no room next to each other get a line
  function drawGroups(room, x) {
    const marks = room.panel.marks, end = room.X[1];
    for (const group of new Set(marks.map(m => m.group).filter(Boolean))) {
      const mine = marks.filter(m => m.group === group), look = {style: `fill:${colourOf(mine[0])}`};
      let free = room.left + wide(group) + 6;
      write(svg, group, room.left, (room.top += LINE) - 6, "tick", look);
      for (const m of mine) {
        const text = m.value <= end ? m.text : `${m.text} >`, half = wide(text) / 2;
        const middle = max(min(x(min(m.value, end)), room.right - half), room.left + half);
        if (middle - half < free) room.top += LINE;
        write(svg, text, middle, room.top - 6, "tick middle", look);
        free = middle + half + 6;
      }
    }
  }

  function drawMarks({panel, x, y, left, right, top, bottom, inside}) {
    for (const m of panel.marks.filter(m => !hidden.has(m.of))) {
      const place = m.axis === "y" ? y : x, a = place(m.value), b = place(m.to ?? m.value);
      const d = m.axis === "y" ? `M${left} ${a}H${right}` : `M${a} ${top}V${bottom}`;
      const back = m.axis === "y" ? `V${b}H${left}` : `H${b}V${top}`, area = {d: d + back, fill: colourOf(m), opacity: 0.25};
      add(inside, "path", m.to == null ? {d, ...lineOf(m)} : area);
    }
  }

  function drawCells({k, panel, x, y, inside}) {
    const {cells} = panel, xs = cells.edges[0].map(x), ys = cells.edges[1].map(y);
    const all = cells.values.flat().filter(v => v > 0), low = min(...all), high = max(...all);
    cells.values.forEach((line, i) => line.forEach((v, j) => {
      if (v === null || !(cells.named || v > 0)) return;
      const share = log(v / low) / log(high / low) || 0, width = xs[j + 1] - xs[j];
      const style = `fill:${cells.named ? coloured(v) : mixed("heat", share)}`, text = v.toFixed(v < 99.95 ? 1 : 0);
      const px = xs[j] + width / 2, py = (ys[i] + ys[i + 1]) / 2, why = cells.why[`${i},${j}`];
      add(inside, "rect", {x: xs[j], y: ys[i + 1], width: width + 0.4, height: ys[i] - ys[i + 1] + 0.4, style});
      if (!cells.named && all.length <= MOST_NUMBERS && wide(text) < width)
        write(inside, text, px, py + 4, "middle", {style: `fill:${share > 0.5 ? "#fff" : "#000"}`});
      if (why) add(inside, "circle", {cx: px + 0.36 * width, cy: py + 0.32 * (ys[i + 1] - ys[i]), r: 5, class: "bad cell"});
      const of = panel.series.find(s => s.colour === v)?.of, value = shown(cells, v);
      points.push({k, px, py, why, lines: [cells.named ? of : value, ...where(panel, cells.x[j], cells.y[i])]});
    }));
  }

  const where = ({x, y}, a, b) => [[x, a], [y, b]].map(
    ([axis, v]) => [flat(axis.label), shown(axis, v)].filter(Boolean).join(": "));

  function drawSeries(room, s, size) {
    const {panel, x, y, inside, left, right, top, bottom} = room, stroke = colourOf(s), dots = s.kind === "points";
    // A logarithmic axis has no zero
    const up = v => panel.y.scale === "log" && v <= 0 ? bottom + 99 : y(v);
    const line = list => list.reduce(([d, next], [a, b]) =>
      a === null || b === null ? [d, "M"] : [`${d}${next}${x(a)} ${up(b)}`, "L"], ["", "M"])[0];
    const known = (s.low || []).map((low, n) => [s.x[n], low, s.high[n]]).filter(point => !point.includes(null));
    const bar = ([v, a, b]) => line([[v, a], [v, b]]) + (up(b) < top ? `M${x(v) - 4} ${top + 6}l4-6l4 6` : "")
      + (up(a) > bottom ? `M${x(v) - 4} ${bottom - 6}l4 6l4-6` : "");
    if (s.spread === "bars") add(inside, "path", {d: known.map(bar).join(""), stroke, class: "line"});
    else if (known.length) {
      const around = [...known, ...known.reverse().map(([v, , b]) => [v, b])];
      add(inside, "path", {d: `${line(around)}Z`, fill: stroke, opacity: s.kind === "band" ? 0.25 : 0.16});
    }
    if (s.kind === "band") return;
    const d = line(s.x.map((v, n) => [v, s.y[n]])), style = s.bold ? "stroke-width:3" : "";
    if (!dots) add(inside, "path", {...lineOf(s), d, style});
    const radius = dots && s.bold ? 6 : dots && s.low ? 2.6 : size, fill = s.hollow ? "var(--bg)" : stroke;
    s.x.forEach((v, n) => {
      if (v === null || s.y[n] === null) return;
      const px = x(v), py = up(s.y[n]), before = px > (left + right) / 2;
      const d = MARKERS[s.marker ?? 0], transform = `translate(${px} ${py})scale(${radius})`;
      if (dots || s.marker != null) add(inside, "path", {d, transform, class: "dot", stroke, fill});
      remember(room, s, n, px, py, where(panel, v, s.y[n]), radius + 4, px + (before ? -8 : 8), py - 6, before);
    });
  }

  function drawBars(room, s) {
    const {panel, x, y, X, inside, left, right} = room, height = 0.7 * abs(y(1) - y(0)), stroke = colourOf(s);
    const across = v => panel.x.scale === "log" && v <= 0 ? left : x(v);
    s.x.forEach((length, n) => {
      if (length === null) return;
      const start = s.start?.[n] ?? 0, ends = [across(start), across(start + length)], py = y(s.y[n]);
      const place = {x: min(...ends), y: py - height / 2, width: abs(ends[1] - ends[0]), height};
      add(inside, "rect", {...place, stroke, fill: s.invalid?.[n] ? "none" : stroke});
      // An end beyond the axis is an arrowhead
      if (s.low && s.low[n] !== null) {
        const a = s.low[n] < X[0] ? `M${left + 6} ${py - 5}l-6 5l6 5m-6-5` : `M${across(s.low[n])} ${py - 5}v10m0-5`;
        const b = s.high[n] > X[1] ? `H${right}m-6-5l6 5l-6 5` : `H${x(s.high[n])}m0-5v10`;
        add(inside, "path", {d: a + b, class: "whisker"});
      }
      remember(room, s, n, ends[1], py, where(panel, length, s.y[n]), 7, max(...ends) + 12, py + 4);
    });
  }

  function remember({k, panel, inside, right}, s, n, px, py, lines, radius, x, y, before) {
    const why = s.invalid?.[n], note = flat(s.notes?.[n]), axis = s.kind === "bar" ? panel.x : panel.y;
    // Such a note ends at the right side of the panel
    const over = !before && x + wide(note) > right;
    if (why) add(inside, "circle", {cx: px, cy: py, r: radius, class: "bad"});
    if (note) write(inside, note, over ? right : x, y, over || before ? "note end" : "note");
    const spread = s.low && s.low[n] !== null ? `spread: ${shown(axis, s.low[n])} to ${shown(axis, s.high[n])}` : "";
    points.push({k, px, py, why, lines: [s.of, ...lines, spread, note]});
  }

  // --- the pointer and the keys

  function show(point) {
    tip.hidden = !point;
    set(ring, {opacity: point ? 1 : 0});
    if (!point) return;
    const title = flat(panels[point.k].title), why = point.why && `not valid: ${point.why}`;
    const lines = [...point.lines, title, why].filter(Boolean);
    tip.replaceChildren();
    for (const line of lines) add(tip, "div", {class: line === why ? "why" : ""}, line);
    set(ring, {transform: `translate(${point.px} ${point.py})`});
    tip.style.left = `${max(0, min(point.px + 14, canvas.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = `${point.py + 14}px`;
    return lines.join(", ");
  }

  function placeOf({clientX, clientY}) {
    const {left, top} = svg.getBoundingClientRect();
    return [clientX - left, clientY - top];
  }

  function dragged(event) {
    const [a, b] = drag.from, [c, d] = placeOf(event);
    return {x: min(a, c), y: min(b, d), width: abs(a - c), height: abs(b - d)};
  }

  function whole() {
    views.clear();
    redraw();
  }

  svg.onpointerdown = event => {
    const [a, b] = placeOf(event), room = rooms.find(r => a >= r.left && a <= r.right && b >= r.top && b <= r.bottom);
    if (!room || event.button) return;
    drag = {room, from: [a, b], area: add(svg, "rect", {class: "area"})};
    svg.setPointerCapture(event.pointerId);
  };
  svg.onpointermove = event => {
    if (drag) return set(drag.area, dragged(event));
    const [a, b] = placeOf(event), far = point => Math.hypot(point.px - a, point.py - b);
    show(points.filter(point => far(point) < NEAR).sort((one, other) => far(one) - far(other))[0]);
  };
  svg.onpointerup = event => {
    if (!drag) return;
    const {x, y, width, height} = dragged(event), {room} = drag;
    drag = drag.area.remove();
    if (min(width, height) < 8) return;
    views.set(keyOf(room.k, "x"), [x, x + width].map(room.x.back));
    views.set(keyOf(room.k, "y"), [y + height, y].map(room.y.back));
    redraw();
  };
  svg.onpointerleave = () => show();
  svg.ondblclick = whole;
  svg.onkeydown = event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (event.key === "Escape") whole();
    if (!step || !points.length) return;
    event.preventDefault();
    at = at < 0 && step < 0 ? points.length - 1 : (at + step + points.length) % points.length;
    said.textContent = show(points[at]);
  };

  // --- the legend, and the buttons that save

  const entries = new Map();
  for (const {series, marks} of panels)
    for (const one of [...series, ...marks.filter(m => !m.group)])
      if (one.name && !entries.has(one.of)) entries.set(one.of, one);
  legend.append(flat(figure.legend));
  for (const [name, one] of entries) {
    const button = add(legend, "button", {type: "button", "aria-pressed": true}), stroke = colourOf(one);
    const drawn = add(button, "svg", {width: 30, height: 12, "aria-hidden": true});
    const area = one.kind === "band" || one.kind === "bar" || one.to != null, dots = one.kind === "points";
    if (area) add(drawn, "rect", {width: 30, height: 12, fill: stroke, opacity: one.kind === "bar" ? 1 : 0.3});
    else if (!dots) add(drawn, "path", {...lineOf(one), d: "M0 6H30"});
    const outline = {d: MARKERS[one.marker ?? 0], transform: "translate(15 6)scale(3.8)", class: "dot", stroke};
    if (dots || one.marker != null) add(drawn, "path", {...outline, fill: one.hollow ? "var(--bg)" : stroke});
    button.append(name);
    button.onclick = () => {
      if (!hidden.delete(name)) hidden.add(name);
      set(button, {"aria-pressed": !hidden.has(name)});
      redraw();
    };
  }

  function button(kind, type, content) {
    add(tools, "button", {type: "button"}, kind).onclick = () => {
      const href = URL.createObjectURL(new Blob([content()], {type})), download = `${figure.id}.${kind.toLowerCase()}`;
      Object.assign(document.createElement("a"), {href, download}).click();
    };
  }
  button("CSV", "text/csv", () => {
    const rows = [["panel", "series", "x", "y", "low", "high", "note", "not valid", "value"]];
    for (const {title, x, y, series, cells} of panels) {
      const put = (name, a, b, ...more) => rows.push([title, name, x.names?.[a] ?? a, y.names?.[b] ?? b, ...more]);
      for (const s of series)
        s.x?.forEach((v, n) => put(s.of, v, ...["y", "low", "high", "notes", "invalid"].map(field => s[field]?.[n])));
      cells?.values.forEach((line, i) => line.forEach((v, j) =>
        put(cells.label, cells.x[j], cells.y[i], "", "", "", cells.why[`${i},${j}`], v)));
    }
    const quoted = v => typeof v === "string" ? `"${v.replaceAll('"', '""')}"` : v ?? "";
    return rows.map(row => row.map(quoted).join()).join("\n");
  });
  // The file has no style sheet, so each element takes its looks along.  The legend comes below the panels.
  button("SVG", "image/svg+xml", () => {
    let {width, height: y} = svg.viewBox.baseVal, x = 0;
    for (const {firstChild: drawn, textContent: name} of legend.children) {
      if (hidden.has(name)) continue;
      if (x + wide(name) + 40 > width) x = 0, y += LINE;
      set(svg.appendChild(drawn.cloneNode(true)), {x, y});
      write(svg, name, x + 36, y + 10, "tick");
      x += wide(name) + 50;
    }
    set(svg, {viewBox: `0 0 ${width} ${y + LINE}`});
    const copy = svg.cloneNode(true), all = svg.querySelectorAll("*");
    copy.querySelectorAll("*").forEach((one, n) => {
      const look = getComputedStyle(all[n]), value = key => `${key}:${look.getPropertyValue(key)}`;
      set(one, {style: KEPT.map(value).join(";")});
    });
    copy.style.background = getComputedStyle(document.body).backgroundColor;
    redraw();
    return new XMLSerializer().serializeToString(copy);
  });
  new ResizeObserver(redraw).observe(canvas);
}

for (const box of document.querySelectorAll("figure")) draw(box, JSON.parse(box.querySelector("script").textContent));
