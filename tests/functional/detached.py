# SPDX-License-Identifier: Apache-2.0
"""A node that was detached and kept what it knew tries every door of one that stayed.

  detached.py HOST OWN-UUID OTHER-UUID SECRET GENERATION

Prints what came of each, one line each; OTHER-UUID is a node that stayed.
"""
import hashlib, hmac, json, socket, struct, sys

host, own, other, secret, generation = sys.argv[1], sys.argv[2], sys.argv[3], bytes.fromhex(sys.argv[4]), int(sys.argv[5])
GREET, PROVE, CALL, INVITE, JOIN, ENCRYPTION, SECRET = range(1, 8)


def mac(*parts):
    return hmac.new(secret, "".join(f"{len(p)}:{p}," for p in parts).encode(), hashlib.sha256).hexdigest()


class Peer:
    def __init__(self):
        self.s = socket.create_connection((host, 24007), 10)
        self.hello = self.call(GREET, {})

    def more(self, n):
        b = b""
        while len(b) < n:
            got = self.s.recv(n - len(b))
            if not got:
                raise EOFError
            b += got
        return b

    def call(self, proc, doc):
        text = json.dumps(doc).encode()
        head = struct.pack(">IIIIIIIIII", 7, 0, 2, 0x676C6E64, 1, proc, 0, 0, 0, 0)
        m = head + struct.pack(">I", len(text)) + text + b"\0" * (-len(text) % 4)
        try:
            self.s.sendall(struct.pack(">I", len(m) | 0x80000000) + m)
            r = self.more(struct.unpack(">I", self.more(4))[0] & 0x7FFFFFFF)
        except (EOFError, OSError):
            return "closed"
        if struct.unpack(">I", r[20:24])[0]:
            return "unavailable"
        return json.loads(r[28 : 28 + struct.unpack(">I", r[24:28])[0]])

    def prove(self, uuid):
        m = mac("client", self.hello["nonce"], "n", uuid, self.hello["uuid"])
        return self.call(PROVE, {"uuid": uuid, "nonce": "n", "mac": m, "epoch": 0})

    def ask(self, uuid):
        m = mac("what is the secret?", self.hello["nonce"], "n", uuid, "")
        return self.call(SECRET, {"uuid": uuid, "nonce": "n", "mac": m, "generation": generation})


def said(answer):
    return answer if isinstance(answer, str) else answer.get("error", "answered")


print("prove", said(Peer().prove(own)))
print("prove as another", said(Peer().prove(other)))
p = Peer()
p.prove(own)
print("store", said(p.call(CALL, {"call": "store", "path": "/v3/kv/range", "body": "{}"})))
print("order", said(p.call(CALL, {"call": "run", "request": {"command": "node leave"}, "proc": 0})))
print("settle", said(p.call(CALL, {"call": "settle", "volume": "", "force": True})))
print("credentials", said(p.call(ENCRYPTION, {})))
print("invite", said(p.call(INVITE, {"pool": own})))
print("join", said(p.call(JOIN, {"uuid": own, "nonce": "n", "mac": mac("join", p.hello["nonce"], "n", own)})))
for name, uuid in ("own", own), ("other", other):
    told = Peer().ask(uuid)
    doc = json.loads(told["secret"])
    print("secret", name, "has entry" if own in doc["nodes"] else "no entry for it", "of", doc["generation"])
    print("document", json.dumps(doc))
