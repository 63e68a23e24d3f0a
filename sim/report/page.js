// SPDX-License-Identifier: Apache-2.0
"use strict";
// What the pages share: their data, elements, figures, numbers with units, and tables of many rows.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
for (const id of ["version", "command", "name", "verdict", "path", "extremes", "measured"])
  if (typeof data[id] === "string" && byId(id)) byId(id).textContent = data[id];
byId("repeat").hidden = !data.command;
function element(parent, name, text, kind) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (kind) node.className = kind;
  parent.append(node);
  return node;
}
function setAttributes(node, attributes) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}
// An element of a figure, in a figure or a part of one.
function draw(parent, name, attributes = {}, text) {
  const node = setAttributes(document.createElementNS(parent.namespaceURI, name), attributes);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
function figure(place, width, height, label) {
  place.innerHTML = "<svg></svg>";
  return setAttributes(place.firstChild, {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
}
// Three digits and the unit that fits them; `first` is the place of the unit of `value`.
function scaled(value, units, first) {
  if (value === null) return "n/a";
  let unit = first;
  while (Math.abs(value) >= 999.5 && unit + 1 < units.length) { value /= 1000; ++unit; }
  while (value !== 0 && Math.abs(value) < .9995 && unit > 0) { value *= 1000; --unit; }
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2) + " " + units[unit];
}
const time = us => scaled(us, ["ns", "us", "ms", "s"], 1);
// On an axis "10 us" instead of "10.0 us".
const onAxis = text => text.replace(/\.0+ /, " ");
const energy = uj => scaled(uj, ["nJ", "uJ", "mJ", "J", "kJ"], 1);

// Lines across a figure at each of `values`, with their texts on the left.
function drawLevels(svg, values, y, left, right, text) {
  for (const v of values) {
    draw(svg, "path", {class: "axis", d: `M${left} ${y(v)} H${right}`});
    draw(svg, "text", {x: left - 8, y: y(v) + 4, class: "end soft"}, text(v));
  }
}
// Bars of several parts, one below the other. A row has a `name`, its `values` by part and a `text` behind it; a part is [words,
// colour]; `mark`: where a line crosses all bars, and its words.
function drawStacks(place, label, parts, rows, format, mark) {
  const width = 1180, left = 180, right = 330, line = 30, sum = values => values.reduce((a, b) => a + b, 0);
  const used = parts.map((part, i) => i).filter(i => rows.some(r => r.values[i] > 0));
  const most = Math.max(...rows.map(r => sum(r.values)), mark ? mark[0] : 0) || 1, x = v => left + v / most * (width - left - right);
  const svg = figure(place, width, rows.length * line + 40, label), end = rows.length * line + 4;
  rows.forEach((row, r) => {
    let at = 0;
    draw(svg, "text", {x: left - 8, y: r * line + 20, class: "end"}, row.name);
    for (const i of used) {
      const value = row.values[i], wide = x(at + value) - x(at);
      if (value > 0) {
        const share = `${(100 * value / sum(row.values)).toFixed(0)} %`;
        const bar = draw(svg, "rect", {x: x(at), y: r * line + 4, width: Math.max(.5, wide - 1), height: line - 8, fill: parts[i][1]});
        draw(bar, "title", {}, `${parts[i][0]}: ${format(value)}, ${share}`);
        if (wide > 34 && used.length > 1) draw(svg, "text", {x: x(at) + wide / 2, y: r * line + 20, class: "mid", style: "fill: var(--page)"}, share);
      }
      at += value;
    }
    draw(svg, "text", {x: x(at) + 8, y: r * line + 20}, row.text);
  });
  if (mark) {
    draw(svg, "path", {d: `M${x(mark[0])} 0 V${end}`, style: "stroke: var(--bad); stroke-dasharray: 5 4"});
    draw(svg, "text", {x: x(mark[0]) + 6, y: end + 12, class: "soft"}, mark[1]);
  }
  let at = left;
  if (used.length > 1) for (const i of used) {
    draw(svg, "rect", {x: at, y: end + 20, width: 11, height: 11, rx: 2, fill: parts[i][1]});
    draw(svg, "text", {x: at + 16, y: end + 30}, parts[i][0]);
    at += 40 + 7 * parts[i][0].length;
  }
}
// What colours mean, in #keys: words, and a class that has the colour or the colour itself.
function showKeys(keys) {
  for (const [words, kind, colour] of keys) {
    const key = element(byId("keys"), "span", undefined, kind);
    if (colour) key.style.setProperty("--c", colour);
    element(key, "span", undefined, "key");
    key.append(` ${words}`);
  }
}
// About `count` round steps between `low` and `high`.
function roundSteps(low, high, count) {
  const raw = (high - low) / count || 1, base = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(f => f * base).find(s => s >= raw * (1 - 1e-9)), list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) list.push(i * step);
  return list;
}

// A table in #viewport, #head and #body. Only the rows in view exist. A column has a `name`, a `kind` (the class of its
// cells) and `falls`: whether the first click on its head sorts downwards. `sort()` sorts `rows` and shows them.
class LongTable {
  rows = [];
  sortBy = null;
  ascending = true;
  limit = 0;  // of the rows, on paper
  constructor(columns, rowElement, sort) {
    Object.assign(this, {columns, rowElement, sort});
    byId("viewport").addEventListener("scroll", () => requestAnimationFrame(() => this.showRows()));
  }
  showHead() {
    byId("head").replaceChildren();
    for (const column of this.columns) {
      const th = element(byId("head"), "th", column.name, column.kind);
      th.scope = "col"; th.tabIndex = 0;
      if (column === this.sortBy) th.setAttribute("aria-sort", this.ascending ? "ascending" : "descending");
      th.onclick = () => this.choose(column);
      th.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.choose(column); } };
    }
  }
  choose(column) {
    this.ascending = column === this.sortBy ? !this.ascending : !column.falls;
    this.sortBy = column;
    this.showHead();
    this.sortFromTop();
  }
  sortFromTop() {
    byId("viewport").scrollTop = 0;
    this.sort();
  }
  showRows() {
    const rowHeight = 24, count = this.limit || 44;
    const first = this.limit ? 0 : Math.max(0, Math.floor(byId("viewport").scrollTop / rowHeight) - 10);
    const last = Math.min(this.rows.length, first + count), body = byId("body");
    const space = rows => { element(element(body, "tr"), "td").style.cssText = `height:${rows * rowHeight}px;padding:0;border:0`; };
    body.replaceChildren();
    space(first);
    this.rows.slice(first, last).forEach(row => body.append(this.rowElement(row)));
    space(this.limit ? 0 : this.rows.length - last);
  }
  // Paper shows the first `limit` rows; 0 is the screen.
  print(limit) {
    this.limit = limit;
    this.showHead();
    this.showRows();
    const isCut = limit > 0 && this.rows.length > limit;
    byId("printed").textContent = isCut ? `The first ${limit} of ${this.rows.length} rows. ` : "";
  }
}

// A table of `all` rows with a filter: places in rows.html. A cell has the text() of its column, `fill` of a column and `finish`
// of a row do the rest. #filter looks for `words` of a row; `noun`: what rows are called; `limit`: how many paper shows. `i` of a
// row is its place before it was sorted, and `key` of a column is what it is sorted by.
class FilteredTable extends LongTable {
  constructor(all, columns, {noun, filter, words, finish = () => {}, columnsOf = () => columns, limit = 400, keys = {}}) {
    super(columns, row => this.elementOf(row), () => this.showMatching());
    Object.assign(this, {all, noun, words, finish, columnsOf});
    for (const c of columns) c.falls ??= c.kind !== "word";
    setAttributes(byId("filter"), {placeholder: `filter: ${filter}`, "aria-label": `filter by ${filter}`});
    byId("filter").oninput = () => this.sortFromTop();
    this.listen(keys);
    window.addEventListener("beforeprint", () => this.print(limit));
    window.addEventListener("afterprint", () => this.print(0));
  }
  elementOf(row) {
    const tr = document.createElement("tr");
    for (const c of this.columnsOf(row)) {
      const td = element(tr, "td", c.text && c.text(row), c.kind);
      td.title = td.textContent;
      if (c.fill) c.fill(td, row);
    }
    this.finish(tr, row);
    return tr;
  }
  showMatching() {
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(w => w);
    this.rows = this.all.filter(row => { const text = this.words(row).toLowerCase(); return words.every(w => text.includes(w)); });
    if (this.sortBy) {
      const key = this.sortBy.key, sign = this.ascending ? 1 : -1;
      const order = (a, b) => typeof a === "string" ? a.localeCompare(b, "en", {numeric: true}) : a - b;
      this.rows.sort((a, b) => sign * order(key(a), key(b)) || a.i - b.i);
    }
    this.showRows();
    byId("count").textContent = `${this.rows.length} of ${this.all.length} ${this.noun}`;
  }
  // Keys of the page: those of the table and `more`.
  listen(more) {
    const next = () => this.columns[(this.columns.indexOf(this.sortBy) + 1) % this.columns.length];
    const actions = {"/": () => byId("filter").focus(), s: () => this.choose(next()), r: () => this.choose(this.sortBy || this.columns[0]),
      j: () => byId("viewport").scrollBy(0, 240), k: () => byId("viewport").scrollBy(0, -240), ...more};
    window.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^(INPUT|SELECT)$/.test(event.target.tagName)) { if (event.key === "Escape") event.target.blur(); return; }
      if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
    });
  }
}
