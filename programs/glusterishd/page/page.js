// SPDX-License-Identifier: Apache-2.0
// Asks glusterishd every two seconds and shows the answers. What is chosen (volume, kind, operation) is in the address, so that a view can
// be sent to somebody.
'use strict';

const PERIOD_MS = 2000, TIMEOUT_MS = 8000;
const $ = selector => document.querySelector(selector);
const chosen = {volume: null, role: null, kind: 'ALL', op: null};
let past = {interval_s: 2, from: 0, next: 0, series: []}, operations = {inflight: [], slow: []}, paused = false, failures = 0, timer = null;

async function ask(what) {
  const answer = await fetch(`/page/${what}`, {cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS)});
  if (!answer.ok) throw new Error(`/page/${what}: ${answer.status}`);
  return answer.json();
}

// ---- tables ----

// Makes the rows of a table those of `list`; a row whose key was there before stays the same element, so focus and selection stay.
function rows(section, list, key, cells) {
  const body = section.querySelector('tbody'), table = section.querySelector('table'), count = section.querySelector('.count');
  const labels = [...table.querySelectorAll('thead th')].map(th => th.textContent);
  const old = new Map([...body.children].map(tr => [tr.dataset.key, tr]));
  let at = null;
  for (const item of list) {
    const k = key(item);
    let tr = old.get(k);
    old.delete(k);
    if (!tr) {
      tr = make('tr', {'data-key': k}, ...cells(item).map((c, i) => make(i === 0 && c.head ? 'th' : 'td',
        {class: c.class, scope: i === 0 && c.head ? 'row' : null, 'data-label': labels[i]})));
    }
    cells(item).forEach((c, i) => fill(tr.children[i], c));
    const next = at ? at.nextSibling : body.firstChild;
    if (next !== tr) body.insertBefore(tr, next);
    at = tr;
  }
  for (const tr of old.values()) tr.remove();
  const empty = section.querySelector('.empty');
  if (empty) empty.hidden = list.length > 0;
  table.hidden = list.length === 0;
  if (count) say(count, list.length ? `(${list.length})` : '');
}

// {text}, {state, text} or {node: element, keep: string}; a node is replaced only if `keep` is another.
function fill(td, c) {
  if (c.class !== undefined) td.className = c.class;
  if (c.node) {
    if (td.dataset.keep !== c.keep || c.keep === undefined) {
      td.dataset.keep = c.keep;
      td.replaceChildren(c.node());
    }
  } else if (c.state) {
    if (!td.firstElementChild) td.append(make('span'));
    td.firstElementChild.className = `state ${c.state}`;
    say(td.firstElementChild, c.text);
  } else {
    delete td.dataset.keep;
    say(td, c.text ?? '');
  }
}

const text = (t, cls = 'text') => ({text: t === null || t === undefined ? '' : clean(t), class: cls});
const num = t => ({text: t, class: 'num'});

// ---- volumes ----

const STATES = {up: ['up', 'up'], down: ['down', 'down'], starting: ['busy', 'starting'], stopping: ['busy', 'stopping']};

function diskCell(b) {
  if (!b.disk) return text(b.local ? '–' : 'another node');
  const used = b.disk.total - b.disk.free, part = b.disk.total ? used / b.disk.total : 0;
  const label = `${bytes(used)} of ${bytes(b.disk.total)} (${Math.round(part * 100)} %)`;
  return {class: 'text', keep: label, node: () => make('span', {}, make('progress', {max: 1, value: part, 'aria-label': 'disk used'}),
    make('span', {text: ` ${label}`}))};
}

function brickCells(b) {
  const [state, word] = !b.local ? ['unknown', 'elsewhere'] : STATES[b.state] || ['unknown', b.state];
  return [{state, text: word}, text(b.name + (b.arbiter ? ' (arbiter)' : ''), 'mono'), num(b.port ? String(b.port) : '–'),
    num(b.pid ? String(b.pid) : '–'), diskCell(b), num(b.pending === null || b.pending === undefined ? '–' : number(b.pending))];
}

function healText(h) {
  if (!h.enabled) return ['unknown', 'self-heal is switched off'];
  if (!h.running) return ['down', 'the self-heal daemon does not run'];
  if (!h.answered) return ['busy', 'the self-heal daemon has not answered yet'];
  const left = Math.max(h.remaining, h.pending);
  const parts = [left ? `${number(left)} ${left === 1 ? 'entry' : 'entries'} to heal` : 'nothing to heal'];
  if (h.files_per_s || h.bytes_per_s) parts.push(`${number(h.files_per_s)} files/s`, `${bytes(h.bytes_per_s)}/s`);
  if (h.eta_s) parts.push(`about ${span(h.eta_s)} left`);
  else if (left) parts.push(h.crawling ? 'healing' : 'waits for a brick or the next crawl');
  if (h.split_brain) parts.push(`${number(h.split_brain)} in split brain`);
  if (h.failed) parts.push(`${number(h.failed)} attempts failed`);
  return [h.split_brain ? 'down' : left ? 'busy' : 'up', parts.join(', ')];
}

function makeVolume(v) {
  const head = ['State', 'Brick', 'Port', 'PID', 'Disk', 'To heal'];
  return make('div', {class: 'volume', 'data-key': v.name},
    make('div', {class: 'volume-head'}, make('h3'), make('span', {class: 'state'}), make('span', {class: 'muted shape'})),
    make('table', {}, make('thead', {}, make('tr', {}, ...head.map((h, i) => make('th', {scope: 'col', text: h,
      class: [2, 3, 5].includes(i) ? 'num' : null})))), make('tbody')),
    make('p', {class: 'heal', hidden: true}, make('span', {class: 'state'}), make('progress', {hidden: true, 'aria-label': 'healed'})));
}

const most = new Map(); // entries a volume had to heal at most, since there was something

function showVolume(box, v) {
  const down = v.bricks.filter(b => b.local && b.state !== 'up').length, started = v.status === 'Started';
  say(box.querySelector('h3'), v.name);
  const state = box.querySelector('.volume-head .state');
  state.className = `state ${!started ? 'unknown' : down ? 'down' : 'up'}`;
  say(state, !started ? v.status.toLowerCase() : down ? `${down} of ${v.bricks.length} bricks down` : 'started');
  say(box.querySelector('.shape'), `${v.type}, ${v.bricks.length} bricks${v.replica > 1 ? `, replica ${v.replica}` : ''}`);
  rows(box, v.bricks, b => b.name, brickCells);
  const heal = box.querySelector('.heal'), bar = heal.querySelector('progress');
  heal.hidden = !v.heal;
  if (!v.heal) return;
  const [cls, words] = healText(v.heal), left = v.heal.answered ? Math.max(v.heal.remaining, v.heal.pending) : 0;
  heal.firstElementChild.className = `state ${cls}`;
  say(heal.firstElementChild, words);
  most.set(v.name, left ? Math.max(left, most.get(v.name) || 0) : 0);
  bar.hidden = !left;
  bar.max = most.get(v.name) || 1;
  bar.value = bar.max - left;
}

function showVolumes(doc) {
  const list = $('#volumes .list'), old = new Map([...list.children].map(e => [e.dataset.key, e]));
  for (const v of doc.volumes) {
    const box = old.get(v.name) || list.appendChild(makeVolume(v));
    old.delete(v.name);
    showVolume(box, v);
  }
  for (const e of old.values()) e.remove();
  $('#volumes .empty').hidden = doc.volumes.length > 0;
  say($('#node'), `on ${doc.node.host}, version ${doc.node.version}`);
  return doc.volumes.flatMap(v => v.status !== 'Started' ? [] : v.bricks.filter(b => b.local && b.state === 'down').map(b => b.name));
}

// ---- load ----

// Answers bring what is new since the last one: it is added at the end.
function addHistory(doc) {
  if (doc.from > past.from && doc.from === past.next) {
    const n = past.next - past.from, key = s => `${s.volume}\n${s.role}\n${s.kind}`, add = doc.next - doc.from;
    const drop = Math.max(0, n + add - doc.room), all = new Map(past.series.map(s => [key(s), s]));
    for (const s of doc.series) {
      if (!all.has(key(s))) all.set(key(s), {...s, count: Array(n).fill(0), errors: Array(n).fill(0), p50: Array(n).fill(null), p99: Array(n).fill(null)});
      for (const f of ['count', 'errors', 'p50', 'p99']) all.get(key(s))[f] = all.get(key(s))[f].concat(s[f]);
    }
    for (const s of all.values())
      for (const f of ['count', 'errors', 'p50', 'p99']) {
        while (s[f].length < n + add) s[f].push(f[0] === 'p' ? null : 0);
        s[f] = s[f].slice(drop);
      }
    past = {...doc, from: past.from + drop, series: [...all.values()]};
  } else past = doc;
}

function options(select, list, want) {
  const now = [...select.options].map(o => o.value).join('\n');
  if (now !== list.map(o => o[0]).join('\n')) select.replaceChildren(...list.map(([value, label]) => make('option', {value, text: label})));
  select.value = list.some(o => o[0] === want) ? want : list.length ? list[0][0] : '';
  return select.value;
}

const series = kind => past.series.find(s => s.volume === chosen.volume && s.role === chosen.role && s.kind === kind);

// Of the last ten seconds.
function recent(s) {
  const n = Math.max(1, Math.round(10 / past.interval_s)), last = a => a.slice(-n), sum = a => a.reduce((x, y) => x + (y || 0), 0);
  const weigh = a => {
    let total = 0, value = 0;
    last(a).forEach((v, i) => {
      const w = last(s.count)[i] || 0;
      if (v !== null) { total += w; value += w * v; }
    });
    return total ? value / total : null;
  };
  const known = last(s.count).length;
  return {rate: known ? sum(last(s.count)) / (known * past.interval_s) : 0, errors: sum(last(s.errors)), p50: weigh(s.p50), p99: weigh(s.p99)};
}

const valueAt = (list, at) => list && list.length ? list[at === null ? list.length - 1 : at] : null;
const when = at => at === null ? '' : `, ${span((past.next - 1 - past.from - at) * past.interval_s)} ago`;

const rateChart = new Chart($('#rate-chart'), {log: false, format: number, label: 'Operations per second', tell: at => {
  const s = series(chosen.kind), said = s ? `${number((valueAt(s.count, at) || 0) / past.interval_s)} per second${when(at)}` : 'nothing yet';
  say($('#rate-now'), said);
  return said;
}});

const latencyChart = new Chart($('#latency-chart'), {log: true, format: duration, label: 'Latency', tell: at => {
  const s = series(chosen.kind), said = s ? `p50 ${duration(valueAt(s.p50, at))}, p99 ${duration(valueAt(s.p99, at))}${when(at)}` : 'nothing yet';
  say($('#latency-now'), said);
  return said;
}});

function kindCells(s) {
  const r = recent(s);
  return [{head: true, keep: s.kind, node: () => {
    const b = make('button', {type: 'button', text: s.kind, 'aria-label': `Show ${s.kind} in the charts`});
    b.addEventListener('click', () => choose({kind: chosen.kind === s.kind ? 'ALL' : s.kind}));
    return b;
  }}, num(number(r.rate)), num(duration(r.p50)), num(duration(r.p99)), num(r.errors ? number(r.errors) : '–'),
  {keep: `${past.next} ${s.volume} ${s.role}`, node: () => spark(s.p99, 'p99')}];
}

function showLoad() {
  const volumes = [...new Set(past.series.map(s => s.volume))].sort(), section = $('#load');
  chosen.volume = options($('#pick-volume'), volumes.map(v => [v, v]), chosen.volume);
  const roles = new Set(past.series.filter(s => s.volume === chosen.volume).map(s => s.role));
  if (!roles.has(chosen.role)) chosen.role = roles.has('brick') && !roles.has('client') ? 'brick' : 'client';
  $('#pick-role').value = chosen.role;
  const mine = past.series.filter(s => s.volume === chosen.volume && s.role === chosen.role && s.kind !== 'ALL')
    .map(s => [s, s.count.reduce((a, b) => a + (b || 0), 0)]).sort((a, b) => b[1] - a[1] || (a[0].kind < b[0].kind ? -1 : 1)).map(e => e[0]);
  chosen.kind = options($('#pick-kind'), [['ALL', 'all kinds'], ...mine.map(s => [s.kind, s.kind])], chosen.kind);
  rows(section, mine, s => s.kind, kindCells);
  for (const b of section.querySelectorAll('tbody button')) b.setAttribute('aria-pressed', String(b.textContent === chosen.kind));
  section.querySelector('.charts').hidden = past.series.length === 0;
  section.querySelector('.controls').hidden = past.series.length === 0;
  section.querySelector('.empty').hidden = past.series.length > 0;
  const s = series(chosen.kind), n = past.next - past.from;
  const ages = n > 0 ? [(n - 1) * past.interval_s, 0] : null;
  rateChart.show(s ? [{name: 'rate', area: true, values: s.count.map(c => c === null ? null : c / past.interval_s)}] : [], ages);
  latencyChart.show(s ? [{name: 'p50', values: s.p50}, {name: 'p99', values: s.p99}] : [], ages);
}

// ---- operations ----

const place = p => !p ? '' : `${p.role}${p.brick ? ` ${p.brick}` : p.volume ? ` ${p.volume}` : ''} (${p.pid})`;
const fileOf = op => op.path || (op.name ? `…/${op.name}` : op.gfid ? `<${op.gfid}>` : '');

function stepsButton(op) {
  return {keep: op.id, node: () => {
    const b = make('button', {type: 'button', text: 'Steps', 'aria-label': `Show the steps of ${opTitle(op)}`});
    b.addEventListener('click', () => {
      choose({op: op.id});
      $('#h-trace').focus();
      $('#trace').scrollIntoView();
    });
    return b;
  }};
}

function inflightCells(op) {
  return [num(duration(op.age_ns)), text(op.kind, 'kind'), text(fileOf(op), 'mono'), text(op.at, 'mono'), text(waits(op.waits)),
    text(place(op.process)), op.has_tree ? stepsButton(op) : text('')];
}

function slowCells(op) {
  return [num(duration(op.took_ns)), text(op.kind, 'kind'), text(fileOf(op), 'mono'), text(clock(op.start / 1e9)),
    text(op.error ? `error ${op.error}` : 'ok', op.error ? 'text bad' : 'text'), text(place(op.process)), op.has_tree ? stepsButton(op) : text('')];
}

function showOperations() {
  rows($('#inflight'), operations.inflight, op => op.id, inflightCells);
  rows($('#slow'), operations.slow, op => op.id, slowCells);
  const op = {slowest: operations.slow[0], oldest: operations.inflight[0]}[chosen.op];
  showChosen(op ? op.id : chosen.op);
}

// The operation whose steps are shown; one that is over does not change any more.
let shown = null;

async function showChosen(id) {
  if (!id) shown = null;
  if (!id) $('#trace').hidden = true;
  if (!id || (shown && shown.id === id && shown.took_ns !== null && shown.took_ns !== undefined)) return;
  try {
    shown = (await ask(`trace?id=${encodeURIComponent(id)}`)).operation;
    if (chosen.op) showTrace($('#trace'), shown);
  } catch (e) {
    if (shown && shown.id === id) say($('#trace .what'), `${opTitle(shown)}: answered meanwhile, or not known any more`);
  }
}

// ---- the rest ----

function showProcesses(doc) {
  rows($('#processes'), doc.processes, p => p.socket, p => [
    p.answers ? {state: 'up', text: 'answers'} : {state: 'down', text: `no answer${p.silent_s ? ` for ${span(p.silent_s)}` : ''}`},
    text(p.role), text(p.volume), text(p.brick || p.mountpoint || '', 'mono'), num(String(p.pid)), num(span(p.uptime_s)), text(p.version)]);
  rows($('#clients'), doc.clients, c => `${c.volume} ${c.uid}`, c => [text(c.address, 'mono'), text(c.volume), text(c.version),
    num(String(c.bricks)), num(bytes(c.bytes_out)), num(bytes(c.bytes_in)), text(c.uid, 'mono')]);
  return doc.processes.filter(p => !p.answers).length;
}

function showErrors(doc) {
  rows($('#errors'), doc.errors, e => `${e.process} ${e.time} ${e.id} ${e.text}`, e => [text(clock(Date.parse(e.time) / 1000), 'kind'),
    text(e.level, /ERROR|CRITICAL/.test(e.level) ? 'kind bad' : 'kind'), text(e.process), text(`${e.domain}: ${e.text}`), num(number(e.seen ?? 1))]);
}

function showHealth(down, silent) {
  const el = $('#health'), parts = [];
  if (down.length) parts.push(`${down.length === 1 ? 'brick' : `${down.length} bricks`} down: ${down.join(', ')}`);
  if (silent) parts.push(`${silent} ${silent === 1 ? 'process does' : 'processes do'} not answer`);
  el.className = `health state ${parts.length ? 'down' : 'up'}`;
  say(el, parts.length ? parts.join('; ') : 'everything that runs here answers');
}

async function round() {
  timer = null;
  try {
    const since = past.next ? `?since=${past.next}` : '';
    const [volumes, news, ops, processes, errors] = await Promise.all(
      [ask('volumes'), ask(`history${since}`), ask('operations'), ask('processes'), ask('errors')]);
    if (paused) return;
    addHistory(news);
    operations = ops;
    const down = showVolumes(volumes);
    showLoad();
    showOperations();
    const silent = showProcesses(processes);
    showErrors(errors);
    showHealth(down, silent);
    failures = 0;
    document.body.dataset.rounds = String(Number(document.body.dataset.rounds || 0) + 1);
  } catch (e) {
    failures++;
    $('#health').className = 'health state down';
    say($('#health'), `glusterishd does not answer (${e.name === 'TimeoutError' ? 'no answer in time' : e.message}); asked again`);
  }
  if (!paused) timer = setTimeout(round, Math.min(PERIOD_MS * (1 + failures), 15000));
}

// ---- choices ----

function choose(what) {
  Object.assign(chosen, what);
  const words = new URLSearchParams();
  for (const [k, v] of Object.entries(chosen)) if (v && !(k === 'kind' && v === 'ALL')) words.set(k, v);
  window.history.replaceState(null, '', `#${words}`);
  showLoad();
  showOperations();
}

function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  for (const k of Object.keys(chosen)) if (words.get(k)) chosen[k] = words.get(k);
}

function begin() {
  readAddress();
  $('#pick-volume').addEventListener('change', e => choose({volume: e.target.value, kind: 'ALL'}));
  $('#pick-role').addEventListener('change', e => choose({role: e.target.value, kind: 'ALL'}));
  $('#pick-kind').addEventListener('change', e => choose({kind: e.target.value}));
  $('#trace .close').addEventListener('click', () => choose({op: null}));
  $('#pause').addEventListener('click', () => {
    paused = !paused;
    $('#pause').setAttribute('aria-pressed', String(paused));
    say($('#pause'), paused ? 'Go on' : 'Pause');
    clearTimeout(timer);
    if (!paused) round();
  });
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) clearTimeout(timer);
    else if (!paused && !document.hidden) { clearTimeout(timer); round(); }
  });
  round();
}

begin();
