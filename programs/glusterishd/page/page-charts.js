// SPDX-License-Identifier: Apache-2.0
// Elements, numbers as people read them, and charts. Text from outside (paths, names) only ever becomes text nodes and attributes that
// are no markup; the Content-Security-Policy refuses the rest.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';

// make('td', {class: 'num', text: '5'}, child...): an element; attributes that are null or undefined are left out.
function make(tag, attributes = {}, ...children) {
  const el = document.createElement(tag);
  return dress(el, attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

function dress(el, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') el.textContent = value;
    else el.setAttribute(name, value === true ? '' : value);
  }
  el.append(...children.filter(c => c !== null && c !== undefined));
  return el;
}

// Changes the text only if it is another one: a selection, and what a reader is at, stay.
function say(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

// A file name may have any bytes: those that would be invisible or move the text around are shown as a mark.
function clean(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '\ufffd');
}

// ---- numbers ----

function number(n) {
  if (n === null || n === undefined || !isFinite(n)) return '–';
  return n >= 100 ? Math.round(n).toLocaleString('en') : n >= 10 ? n.toFixed(0) : n === Math.round(n) ? String(n) : n.toFixed(1);
}

function duration(ns) {
  if (ns === null || ns === undefined) return '–';
  const units = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];
  let [name, size] = units[0];
  for (const u of units) if (ns >= u[1]) [name, size] = u;
  const n = ns / size;
  return `${n >= 100 || name === 'ns' ? Math.round(n) : n >= 10 ? n.toFixed(1) : n.toFixed(2)} ${name}`;
}

function span(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
}

function bytes(n) {
  if (n === null || n === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString('en-GB');
}

// ---- charts ----

// The least of 1, 2, 5, 10, 20 … that is not below `value`.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 5, 10]) if (step * power >= value * 0.999) return step * power;
  return 10 * power;
}

// Points of a line; it is broken where nothing is known.
function path(values, x, y) {
  let text = '', open = false;
  values.forEach((v, i) => {
    if (v === null || v === undefined) open = false;
    else {
      text += `${open ? 'L' : 'M'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
      open = true;
    }
  });
  return text;
}

// Vertical scale: from zero, or by powers of ten, since latencies differ by those.
function scale(values, log, top, bottom) {
  const known = values.filter(v => v > 0);
  let max = known.length ? Math.max(...known) : 1;
  if (!log) {
    max = roundUp(max);
    return {ticks: [0, max / 2, max], y: v => bottom - (bottom - top) * v / max};
  }
  let min = known.length ? Math.min(...known) : 1;
  const low = Math.floor(Math.log10(min)), high = Math.max(Math.ceil(Math.log10(max)), low + 1);
  const ticks = [];
  for (let p = low; p <= high; p += Math.max(1, Math.ceil((high - low) / 4))) ticks.push(10 ** p);
  return {ticks, y: v => bottom - (bottom - top) * (Math.log10(Math.max(v, 10 ** low)) - low) / (high - low)};
}

// A chart of lines over time. The arrow keys move the cursor as the pointer does; `tell(index or null)` says what it is at.
class Chart {
  constructor(box, {log, format, label, tell}) {
    Object.assign(this, {box, log, format, label, tell, lines: [], at: null});
    box.tabIndex = 0;
    box.setAttribute('role', 'img');
    box.addEventListener('pointermove', e => this.move(this.indexAt(e)));
    box.addEventListener('pointerleave', () => this.move(null));
    box.addEventListener('blur', () => this.move(null));
    box.addEventListener('keydown', e => this.key(e));
    window.addEventListener('resize', () => this.show(this.lines, this.ages));
  }

  count() { return this.lines.length ? this.lines[0].values.length : 0; }

  indexAt(event) {
    const r = this.box.getBoundingClientRect(), n = this.count();
    const i = Math.round((event.clientX - r.left - this.left) / Math.max(1, this.right - this.left) * (n - 1));
    return n ? Math.min(n - 1, Math.max(0, i)) : null;
  }

  key(e) {
    const n = this.count(), step = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (e.key === 'Escape') this.move(null);
    if (!step || !n) return;
    e.preventDefault();
    this.move(Math.min(n - 1, Math.max(0, (this.at === null ? n : this.at) + step)));
  }

  move(at) {
    if (at === this.at) return;
    this.at = at;
    this.show(this.lines, this.ages);
  }

  // lines: [{name, values, area}], the same number of values each; ages: seconds before now of the first and the last
  show(lines, ages) {
    this.lines = lines;
    this.ages = ages;
    const width = Math.max(240, this.box.clientWidth || 600), height = 190, top = 8, bottom = height - 20;
    const n = this.count();
    this.left = 52;
    this.right = width - 8;
    const s = scale(lines.flatMap(l => l.values), this.log, top, bottom);
    const x = i => n > 1 ? this.left + (this.right - this.left) * i / (n - 1) : this.right;
    const svg = draw('svg', {viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true'});
    for (const t of s.ticks) {
      svg.append(draw('line', {class: 'grid', x1: this.left, x2: this.right, y1: s.y(t), y2: s.y(t)}),
        draw('text', {class: 'axis', x: this.left - 6, y: s.y(t) + 4, 'text-anchor': 'end', text: this.format(t)}));
    }
    if (ages) {
      svg.append(draw('text', {class: 'axis', x: this.left, y: height - 4, text: `${span(ages[0])} ago`}),
        draw('text', {class: 'axis', x: this.right, y: height - 4, 'text-anchor': 'end', text: ages[1] > 5 ? `${span(ages[1])} ago` : 'now'}));
    }
    for (const l of lines) {
      const d = path(l.values, x, s.y);
      if (l.area && d && !l.values.includes(null)) svg.append(draw('path', {class: 'area', d: `${d}L${x(n - 1)} ${bottom}L${x(0)} ${bottom}Z`}));
      svg.append(draw('path', {class: `line ${l.name}`, d}));
    }
    const at = this.at !== null && this.at < n ? this.at : null;
    if (at !== null) svg.append(draw('line', {class: 'cursor', x1: x(at), x2: x(at), y1: top, y2: bottom}));
    for (const l of lines) {
      const i = at === null ? n - 1 : at;
      if (n && typeof l.values[i] === 'number') svg.append(draw('circle', {class: `dot ${l.name}`, cx: x(i), cy: s.y(l.values[i]), r: 3}));
    }
    this.box.replaceChildren(svg);
    const said = this.tell(at);
    this.box.setAttribute('aria-label', `${this.label}: ${said}. The arrow keys move through time.`);
  }
}

// A small line for a table.
function spark(values, name) {
  const s = scale(values, true, 2, 22), n = values.length;
  const x = i => n > 1 ? 200 * i / (n - 1) : 200;
  return draw('svg', {class: 'spark', viewBox: '0 0 200 24', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    draw('path', {class: `line ${name}`, d: path(values, x, s.y)}));
}
