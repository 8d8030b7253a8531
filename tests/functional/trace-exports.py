#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at what `glusterish trace` exports, and says in TAP what it saw.

  trace-exports.py events FILE     trace events, as Perfetto and Chrome read them
  trace-exports.py receive FILE    waits for one OTLP/HTTP request; its port is in FILE; ends after it

Of spans the protobuf definitions of OpenTelemetry judge if they are installed (opentelemetry-proto of PyPI), and the rules below in any
case. What holds of trace events: every one has ph, name, pid and tid; an X has ts and dur in microseconds, and those of one track nest;
an s and an f of one id go together, the s first; every pid has a process_name.
"""
import base64
import http.server
import json
import os
import sys

count = 0


def ok(name, what):
    global count
    count += 1
    print(f'{"ok" if what else "not ok"} {count} - {name}', flush=True)


def nests(spans):
    stack = []
    for begin, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        while stack and stack[-1] <= begin:
            stack.pop()
        if stack and end > stack[-1]:
            return False
        stack.append(end)
    return True


def events(path):
    with open(path) as f:
        doc = json.load(f)
    every = doc['traceEvents']
    ok('there are events of the known phases', every and {e['ph'] for e in every} <= set('XMsfbei'))
    ok('each has a name, a process and a track', all(isinstance(e['name'], str) and isinstance(e['pid'], int) and isinstance(e['tid'], int)
                                                     for e in every))
    spans = [e for e in every if e['ph'] == 'X']
    ok('steps have a time and a length', spans and all(e['ts'] >= 0 and e['dur'] >= 0 for e in spans))
    # to the nanosecond: below it numbers are rounded
    ns = {}
    for e in spans:
        ns.setdefault((e['pid'], e['tid']), []).append((round(e['ts'] * 1000), round((e['ts'] + e['dur']) * 1000)))
    ok('those of one track nest', all(nests(s) for s in ns.values()))
    begun = {e['id']: e['ts'] for e in every if e['ph'] == 's'}
    ended = {e['id']: e['ts'] for e in every if e['ph'] == 'f'}
    ok('arrows have two ends, the first one first', begun.keys() == ended.keys() and all(begun[i] <= ended[i] for i in begun))
    ok('copies are other processes', len({e['pid'] for e in spans}) > 1)
    named = {e['pid'] for e in every if e['ph'] == 'M' and e['name'] == 'process_name' and e['args']['name']}
    ok('processes have names', {e['pid'] for e in spans} <= named)


def spans_of(doc):
    return [s for r in doc['resourceSpans'] for scope in r['scopeSpans'] for s in scope['spans']]


def judge(doc):
    """With the definitions of OpenTelemetry: unknown members and wrong types are errors. Ids are hex there, and base64 for protobuf."""
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
    except ImportError:
        print('# opentelemetry-proto is not installed')
        return True
    copy = json.loads(json.dumps(doc))
    for s in spans_of(copy):
        for name in 'traceId', 'spanId', 'parentSpanId':
            if name in s:
                s[name] = base64.b64encode(bytes.fromhex(s[name])).decode()
    request = json_format.ParseDict(copy, trace_service_pb2.ExportTraceServiceRequest())
    return sum(len(scope.spans) for r in request.resource_spans for scope in r.scope_spans) == len(spans_of(doc))


def one_tree(spans):
    by_id = {s['spanId']: s for s in spans}
    roots = [s for s in spans if not s.get('parentSpanId')]
    inside = all(int(by_id[s['parentSpanId']]['startTimeUnixNano']) <= int(s['startTimeUnixNano']) <= int(s['endTimeUnixNano'])
                 for s in spans if s.get('parentSpanId') in by_id)
    return len(by_id) == len(spans) and len(roots) == 1 and all(s in roots or s['parentSpanId'] in by_id for s in spans) and inside


def spans(headers, path, doc):
    ok('it is JSON for the usual path', headers['Content-Type'] == 'application/json' and path == '/v1/traces')
    ok('OpenTelemetry takes it', judge(doc))
    every = spans_of(doc)
    ok('ids have their length', every and all(len(bytes.fromhex(s['traceId'])) == 16 and len(bytes.fromhex(s['spanId'])) == 8 for s in every))
    ids = {s['traceId'] for s in every}
    ok('the spans of an operation are a tree', all(one_tree([s for s in every if s['traceId'] == i]) for i in ids))
    names = [{a['key']: a['value'] for a in r['resource']['attributes']} for r in doc['resourceSpans']]
    ok('each process is a resource with a service name', len(names) > 1 and all(n['service.name']['stringValue'] for n in names))


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.end_headers()
        self.wfile.write(b'{}')
        spans(self.headers, self.path, json.loads(body))

    def log_message(self, *args):
        pass


def receive(path):
    server = http.server.HTTPServer(('127.0.0.1', 0), Receiver)
    server.timeout = 60
    with open(path + '.new', 'w') as f:
        f.write(str(server.server_port))
    os.rename(path + '.new', path)
    server.handle_request()


if __name__ == '__main__':
    {'events': events, 'receive': receive}[sys.argv[1]](sys.argv[2])
