# SPDX-License-Identifier: Apache-2.0
# relay.py HOST BASE SHIFT COUNT FILE: connections to HOST:BASE+SHIFT+i go to HOST:BASE+i, for i of 1..COUNT; all that passes is appended to FILE.
import select
import socket
import sys

host, base, shift, count, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
listeners = {}
for i in range(1, count + 1):
    s = socket.create_server((host, base + shift + i), backlog=64)
    listeners[s] = base + i
other = {}
with open(path, "ab", buffering=0) as seen:
    while True:
        for s in select.select(list(listeners) + list(other), [], [])[0]:
            if s in listeners:
                a = s.accept()[0]
                try:
                    b = socket.create_connection((host, listeners[s]))
                except OSError:
                    a.close()
                    continue
                other[a], other[b] = b, a
                continue
            if s not in other:
                continue
            try:
                data = s.recv(1 << 18)
                seen.write(data)
                if data:
                    other[s].sendall(data)
                    continue
            except OSError:
                pass
            o = other.pop(s)
            other.pop(o)
            s.close()
            o.close()
