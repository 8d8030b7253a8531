#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at the page of glusterishd with a headless Chromium, over its debugging pipe, and says in TAP what it saw.

page.py CHROMIUM URL PROFILE-DIRECTORY VOLUME DOWN-BRICK [PICTURE [NARROW-PICTURE]]
"""
import base64
import json
import os
import select
import subprocess
import sys
import time

PATIENCE_S = 30


class Browser:
    """One page; every event is kept."""

    def __init__(self, program, profile):
        theirs_in, self.out = os.pipe()
        self.inp, theirs_out = os.pipe()

        def pipes():
            # The browser reads 3 and writes 4; ours may have these numbers.
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            a, b = os.dup2(a, 30), os.dup2(b, 31)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.log = open(os.path.join(os.path.dirname(profile), 'chromium.log'), 'wb')
        self.process = subprocess.Popen(
            [program, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--remote-debugging-pipe',
             '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions',
             '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1', '--window-size=1200,1400', '--hide-scrollbars',
             f'--user-data-dir={profile}', 'about:blank'],
            preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(theirs_in)
        os.close(theirs_out)
        self.rest, self.number, self.events, self.session = b'', 0, [], None
        targets = self.call('Target.getTargets')['targetInfos']
        target = next(t for t in targets if t['type'] == 'page')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')

    def read(self, end):
        while b'\0' not in self.rest:
            ready, _, _ = select.select([self.inp], [], [], max(0, end - time.monotonic()))
            data = os.read(self.inp, 1 << 20) if ready else b''
            if not data:
                raise RuntimeError('the browser does not answer' if not ready else 'the browser has ended')
            self.rest += data
        message, _, self.rest = self.rest.partition(b'\0')
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        number, message = self.number, {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.out, json.dumps(message).encode() + b'\0')
        end = time.monotonic() + PATIENCE_S
        while True:
            answer = self.read(end)
            if answer.get('id') == number:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]}')
                return answer['result']
            self.events.append(answer)

    def run(self, expression):
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(f'{expression}: {answer["exceptionDetails"]}')
        return answer['result'].get('value')

    def wait(self, expression):
        end = time.monotonic() + PATIENCE_S
        while not self.run(expression):
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        return True

    def key(self, name, code):
        text = {'text': '\r'} if name == 'Enter' else {}
        self.call('Input.dispatchKeyEvent', type='keyDown', key=name, code=name, windowsVirtualKeyCode=code, **text)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=name, code=name, windowsVirtualKeyCode=code)

    def picture(self, file):
        self.run("scrollTo(0, 0)")
        width, height = self.run("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {'x': 0, 'y': 0, 'width': width, 'height': height, 'scale': 1}
        with open(file, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot', format='png', captureBeyondViewport=True, clip=clip)['data']))

    def complaints(self):
        """What went wrong in the page: exceptions, errors and warnings of the console, refused loads."""
        bad = []
        for e in self.events:
            p = e.get('params', {})
            if e.get('method') == 'Runtime.exceptionThrown':
                bad.append(p['exceptionDetails'].get('exception', {}).get('description') or p['exceptionDetails']['text'])
            elif e.get('method') == 'Runtime.consoleAPICalled' and p['type'] in ('error', 'warning', 'assert'):
                bad.append(str([a.get('value', a.get('description')) for a in p['args']]))
            elif e.get('method') == 'Log.entryAdded' and p['entry']['level'] in ('error', 'warning'):
                bad.append(f'{p["entry"]["text"]} {p["entry"].get("url", "")}')
        return bad

    def requests(self):
        return [e['params']['request']['url'] for e in self.events if e.get('method') == 'Network.requestWillBeSent']

    def responses(self):
        return [e['params']['response'] for e in self.events if e.get('method') == 'Network.responseReceived']

    def end(self):
        try:
            self.session = None
            self.call('Browser.close')
            self.process.wait(10)
        except Exception:  # it is to end anyhow
            self.process.kill()
            self.process.wait()


def check(ok, name, *details):
    print(f'{"ok" if ok else "not ok"} {name}')
    if not ok:
        for d in details:
            for line in str(d).splitlines()[:30]:
                print(f'# {line}')
    sys.stdout.flush()


def has_brick(name, state):
    return (f"[...document.querySelectorAll('#volumes tbody tr')].some(r => r.textContent.includes({json.dumps(name)}) "
            f"&& r.querySelector('.state.{state}'))")


def text(b, selector):
    return b.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")


def look(b, url, volume, down):
    b.call('Page.navigate', url=url)
    check(b.wait("document.body?.dataset.rounds > 1"), 'the page asks again and again', text(b, 'body'), *b.complaints())
    check(b.wait(f"[...document.querySelectorAll('#volumes h3')].some(h => h.textContent === {json.dumps(volume)})"),
          'it shows the volume', text(b, '#volumes'))
    check(b.wait(has_brick(down, 'down')), 'and the brick that is down', text(b, '#volumes'))
    check(b.run("document.querySelectorAll('#volumes tbody .state.up').length") == 2, 'and those that are up', text(b, '#volumes'))
    check(down in text(b, '#health'), 'the first line tells of it', text(b, '#health'))
    check(b.wait("/[1-9]\\d* entr.* to heal/.test(document.querySelector('#volumes .heal').textContent)"),
          'and what is left to heal', text(b, '#volumes'))
    check(b.wait("document.querySelectorAll('#volumes progress[aria-label=\"disk used\"]').length === 3"), 'and disks',
          text(b, '#volumes'))
    check(b.wait("document.querySelectorAll('#processes tbody tr').length >= 4"), 'and processes', text(b, '#processes'))
    check(b.wait("/^\\d\\d:\\d\\d:\\d\\d/.test(document.querySelector('#errors tbody td')?.textContent)"), 'and errors with their times',
          text(b, '#errors'))
    check(b.wait("/[(]2[)]/.test(document.querySelector('#clients .count').textContent)"), 'and every client once', text(b, '#clients'))
    check(b.wait("[...document.querySelectorAll('#kinds tbody tr')].some(r => /WRITE/.test(r.textContent))"),
          'kinds of operations have numbers', text(b, '#load'))
    check(b.wait("document.querySelector('#latency-chart path.p99')?.getAttribute('d') && "
                 "document.querySelector('#rate-chart path.rate')?.getAttribute('d')"), 'and charts have lines', text(b, '#load'))


def walk(b):
    """By keyboard alone."""
    b.run("document.activeElement.blur()")
    b.key('Tab', 9)
    check(b.run("document.activeElement.className") == 'skip', 'the first tab stop leads to the content',
          b.run("document.activeElement.outerHTML"))
    b.run("document.querySelector('#latency-chart').focus()")
    b.key('ArrowLeft', 37)
    check(b.run("!!document.querySelector('#latency-chart .cursor')"), 'arrow keys move through a chart')
    client = "[...document.querySelectorAll('#slow tbody tr')].find(r => r.textContent.includes('client h') && r.querySelector('button'))"
    if not b.wait(f"!!{client}"):
        check(False, 'slow operations are listed', text(b, '#slow'))
        return
    check(True, 'slow operations are listed')
    b.run(f"{client}.querySelector('button').focus()")
    b.key('Enter', 13)
    check(b.wait("document.querySelectorAll('#trace tbody tr').length > 3 && document.querySelector('#trace rect') !== null"),
          'the steps of one are drawn', text(b, '#trace'), text(b, '#slow'))


def narrow(b):
    b.call('Emulation.setDeviceMetricsOverride', width=400, height=800, deviceScaleFactor=1, mobile=False)
    b.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
    wide = b.run("[...document.querySelectorAll('main *')].filter(e => e.checkVisibility() && !e.closest('thead') && !e.closest('svg') && "
                 "e.getBoundingClientRect().right > 401).slice(0, 5).map(e => e.outerHTML.slice(0, 200))")
    check(b.run("document.documentElement.scrollWidth") <= 400 and not wide, 'it fits into 400 pixels',
          b.run("document.documentElement.scrollWidth"), *wide)
    colours = b.run("getComputedStyle(document.documentElement).backgroundColor")
    check(sum(map(int, colours.strip('rgb()').split(','))) < 150, 'it is dark where that is wanted', colours)


def main():
    program, url, profile, volume, down = sys.argv[1:6]
    b = Browser(program, profile)
    try:
        look(b, url, volume, down)
        walk(b)
        if len(sys.argv) > 6:
            b.picture(sys.argv[6])
        narrow(b)
        if len(sys.argv) > 7:
            b.picture(sys.argv[7])
        foreign = [u for u in b.requests() if not u.startswith(url)]
        check(b.requests() and not foreign, 'nothing is asked of anybody else', *foreign)
        policy = [r['headers'].get('Content-Security-Policy', '') for r in b.responses() if r['url'] == url]
        check(policy and all("default-src 'none'" in p for p in policy), 'and the page is not allowed to', *policy)
        check(not b.complaints(), 'nothing went wrong in the page', *b.complaints())
    finally:
        b.end()


main()
