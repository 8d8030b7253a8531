// SPDX-License-Identifier: Apache-2.0
// One operation as a waterfall: a row for each step, a bar from its start to its end, dark where the step itself had the time.
'use strict';

const WIDTH = 1000; // of the bars, in their own units

// The steps of a tree in the order they are shown, each with its depth.
function flatten(step, depth = 0, list = []) {
  if (!step || list.length >= 500) return list;
  list.push({step, depth});
  for (const s of step.steps || []) flatten(s, depth + 1, list);
  return list;
}

// The parts of a step's time that no step below it has, as [from, to].
function gaps(step, end) {
  const from = step.start_ns, to = endOf(step, end), list = [];
  const below = (step.steps || []).map(s => [s.start_ns, endOf(s, end)]).sort((a, b) => a[0] - b[0]);
  let at = from;
  for (const [a, b] of below) {
    if (a > at) list.push([at, Math.min(a, to)]);
    at = Math.max(at, b);
  }
  if (at < to) list.push([at, to]);
  return list.filter(([a, b]) => b > a);
}

function endOf(step, end) {
  return step.open || step.took_ns === null || step.took_ns === undefined ? end : step.start_ns + step.took_ns;
}

// The whole time of the operation, so far.
function extent(op) {
  let end = op.took_ns ?? op.age_ns ?? 0;
  for (const {step} of flatten(op.tree)) if (!step.open) end = Math.max(end, step.start_ns + (step.took_ns || 0));
  return Math.max(end, 1);
}

function bars(step, end) {
  const svg = draw('svg', {viewBox: `0 0 ${WIDTH} 16`, preserveAspectRatio: 'none', 'aria-hidden': 'true'});
  const x = ns => Math.min(WIDTH, Math.max(0, ns / end * WIDTH));
  const bar = (name, from, to, y = 3, height = 10) =>
    svg.append(draw('rect', {class: name, x: x(from), y, width: Math.max(2, x(to) - x(from)), height}));
  const remote = (step.steps || []).some(s => s.remote) || step.wire_ns > 0;
  bar('bar-below', step.start_ns, endOf(step, end));
  if (!step.open || !(step.steps || []).length)
    for (const [from, to] of gaps(step, end)) bar(remote ? 'bar-wire' : 'bar-own', from, to);
  if (step.open) bar('bar-open', step.start_ns, end, 2, 12);
  return svg;
}

function waits(w) {
  if (!w) return '';
  return `waits for ${w.for}${w.what ? `: ${w.what}` : ''}${w.who ? ` (${w.who})` : ''}${w.since_ns ? `, for ${duration(w.since_ns)}` : ''}`;
}

function noteOf(step) {
  const notes = [];
  if (step.remote) notes.push(`${step.remote.role || 'brick'} ${step.remote.brick || step.remote.host || ''}`.trim());
  if (step.waits) notes.push(waits(step.waits));
  if (step.wire_ns) notes.push(`${duration(step.wire_ns)} on the wire`);
  if (step.waited_for === false) notes.push('not waited for');
  if (step.open) notes.push('not answered yet');
  return notes.join(', ');
}

function opTitle(op) {
  const name = op.path || (op.name ? `…/${op.name}` : op.gfid ? `<${op.gfid}>` : '?');
  return `${op.kind} ${clean(name)}`;
}

function showTrace(section, op) {
  const end = extent(op), body = section.querySelector('tbody');
  say(section.querySelector('.what'), `${opTitle(op)}, ${op.took_ns === null || op.took_ns === undefined ?
    `${duration(op.age_ns)} so far` : duration(op.took_ns)}, process ${op.pid ?? '?'}${op.error ? `, error ${op.error}` : ''}`);
  const rows = flatten(op.tree).map(({step, depth}) => {
    const name = make('th', {scope: 'row', class: 'mono'}, make('span', {text: clean(step.layer)}));
    name.firstChild.style.paddingLeft = `${Math.min(depth, 24) * 0.6}rem`;
    return make('tr', {class: step.waited_for === false ? 'aside' : null}, name,
      make('td', {class: 'bars'}, bars(step, end)),
      make('td', {class: 'num', 'data-label': 'took', text: step.open ? '…' : duration(step.took_ns)}),
      make('td', {class: 'num', 'data-label': 'own', text: duration(step.own_ns)}),
      make('td', {class: step.open ? 'text bad' : 'text', 'data-label': 'note', text: clean(noteOf(step))}));
  });
  if (!rows.length) rows.push(make('tr', {}, make('td', {colspan: 5, text: 'No steps were recorded for this operation.'})));
  body.replaceChildren(...rows);
  section.hidden = false;
}
