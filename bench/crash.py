#!/usr/bin/env python3
"""Crashes a gateway again and again under load, and checks what it acknowledged.

usage: bench/crash.py --tollgate FILE [--rounds N] [--seed N] [--only SCENARIO,...] [--json]

Scenarios:
  kill    SIGKILL at a random moment
  power   the same, and of the writes that were not synced a random part is lost or torn
  full    the disk is full for a while (ENOSPC on every write of the state)
  eio     writes of the state fail with EIO for a while
  fsync   syncs of the state fail with EIO for a while

Each round serves four clients that mix reads, paid reads and effects of an MCP server that keeps a
journal of its own. What was not acknowledged is sent again with its idempotency key. Checked after
every round: the audit log verifies, every acknowledged call has exactly one ending in it, no effect
happened twice, every acknowledged effect happened, and no session spent more than its limit. After
a power failure a read that was acknowledged less than `GRACE` seconds before may be missing.

Bounded: rounds * about two seconds a scenario. Exits with 1 if anything was violated.
"""

import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
MODERN = "2026-07-28"
CLIENTS = 4
LIMIT = 1_000_000
GRACE = 1.0
FAULTS = {"full": b"n", "eio": b"w", "fsync": b"s"}
CONFIG = """
[serve]
anonymous = true
requests_per_second = 1000000
burst = 1000000

[limits]
session_tokens = {limit}

[providers.stub]
tools = ["shop.price"]
units = 3

[[mcp.servers]]
name = "journal"
command = "{python}"
args = ["{script}", "--journal", "{journal}"]
"""
POLICY = """@id("bench.journal")
@lifts("human")
permit (principal, action == Action::"call", resource == Tool::"mcp.journal.append");
@id("bench.price")
permit (principal, action == Action::"call", resource == Tool::"shop.price");
"""


def journal_server(path):
    """An MCP server over stdio whose one tool appends a line and syncs it."""
    schema = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        method, params = request["method"], request.get("params", {})
        if method == "initialize":
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "journal", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": [{"name": "append", "description": "Append a key.", "inputSchema": schema}]}
        elif method == "tools/call":
            with open(path, "a", encoding="utf-8") as file:
                file.write(params["arguments"]["key"] + "\n")
                file.flush()
                os.fsync(file.fileno())
            result = {"content": [{"type": "text", "text": "appended"}]}
        else:
            answer = {"jsonrpc": "2.0", "id": request["id"],
                      "error": {"code": -32601, "message": "method not found"}}
            print(json.dumps(answer), flush=True)
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


class Gateway:
    """The program with a state of its own, below a shim that records and fails its writes."""

    def __init__(self, program, folder, shim):
        self.program, self.folder, self.shim = program, folder, shim
        self.home = folder / "home"
        self.state = folder / "state"
        self.journal = folder / "journal.txt"
        self.writes = folder / "writes.bin"
        self.fault = folder / "fault"
        policies = self.home / ".config/tollgate/policies"
        policies.mkdir(parents=True)
        (policies / "bench.cedar").write_text(POLICY)
        (self.home / ".config/tollgate/tollgate.toml").write_text(CONFIG.format(
            limit=LIMIT, python=sys.executable, script=pathlib.Path(__file__).resolve(), journal=self.journal))
        self.state.mkdir(mode=0o700)
        self.journal.touch()
        self.inject(b"0")

    def inject(self, fault):
        with open(self.fault, "r+b" if self.fault.exists() else "w+b") as file:
            file.write(fault)

    def environment(self, shimmed):
        own = {"HOME": str(self.home), "PATH": os.environ["PATH"],
               "TOLLGATE_STATE_DIR": str(self.state / "data"),
               "TOLLGATE_STATE_ANCHOR_DIR": str(self.state / "anchor")}
        if shimmed:
            own |= {"LD_PRELOAD": str(self.shim), "CRASH_FOLDER": str(self.state),
                    "CRASH_JOURNAL": str(self.writes), "CRASH_FAULT": str(self.fault)}
        return own

    def serve(self):
        self.writes.unlink(missing_ok=True)
        command = [str(self.program), "serve", "--port", "0"]
        self.process = subprocess.Popen(
            command, env=self.environment(True), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=open(self.folder / "stderr.txt", "a"), text=True)
        for line in self.process.stdout:
            found = [word for word in line.split() if word.startswith("http://")]
            if found:
                self.address = urllib.parse.urlsplit(found[0]).netloc
                return
        raise RuntimeError((self.folder / "stderr.txt").read_text()[-2000:])

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait(60)
        self.process.stdout.close()

    def run(self, *words):
        done = subprocess.run([str(self.program), *words], env=self.environment(False), cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    def ready(self):
        try:
            connection = http.client.HTTPConnection(self.address, timeout=5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False


class Client(threading.Thread):
    """Sends calls one after the other until told to stop or the connection is gone."""

    def __init__(self, gateway, number, generator, pending, counter, until_empty=False):
        super().__init__()
        self.gateway, self.number, self.random = gateway, number, generator
        self.pending, self.counter, self.until_empty = pending, counter, until_empty
        self.stop, self.acknowledged, self.refused = threading.Event(), [], collections.Counter()
        self.spent = 0

    def run(self):
        connection = http.client.HTTPConnection(self.gateway.address, timeout=30)
        while not self.stop.is_set():
            call = self.next_call()
            if call is None:
                break
            kind, key = call
            try:
                answer = self.send(connection, kind, key)
            except (OSError, http.client.HTTPException, ValueError):
                if kind == "effect":
                    self.pending.append(key)
                if self.until_empty or self.gateway.process.poll() is not None:
                    break
                connection = http.client.HTTPConnection(self.gateway.address, timeout=30)
                time.sleep(0.01)
                continue
            self.take(kind, key, answer)
        connection.close()

    def next_call(self):
        if self.pending and (self.until_empty or self.random.random() < 0.5):
            return "effect", self.pending.pop()
        if self.until_empty:
            return None
        self.counter[0] += 1
        key = f"c{self.number}-{self.counter[0]}"
        return self.random.choice(["read", "paid", "effect"]), key

    def send(self, connection, kind, key):
        tool, arguments = {
            "read": ("text_stats", {"text": key}),
            "paid": ("shop_price", {"item": key}),
            "effect": ("mcp_journal_append", {"key": key}),
        }[kind]
        about = {"yes": True} | ({"idempotency_key": key} if kind == "effect" else {})
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": {"name": "crash", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
                "tollgate/session": f"crash{self.number}", "tollgate/call": about}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments, "_meta": meta}}
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream",
                   "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": tool}
        connection.request("POST", "/mcp", json.dumps(body), headers)
        text = connection.getresponse().read().decode()
        if text.startswith("{"):
            return json.loads(text)
        data = [line[5:] for line in text.splitlines() if line.startswith("data:")]
        return json.loads(data[-1])

    def take(self, kind, key, answer):
        result = answer.get("result", {})
        rest = result.get("_meta", {}).get("tollgate/result", {})
        if rest.get("ok"):
            self.acknowledged.append((kind, key, rest["meta"]["call_id"], time.monotonic()))
            self.spent = max(self.spent, rest["budget_ledger"]["session_consumed"])
            return
        error = rest.get("error") or answer.get("error") or {}
        reason = error.get("kind") or str(error.get("message", answer))[:80]
        self.refused[reason] += 1
        # An effect whose outcome nobody knows is over; what was refused before it ran is tried again.
        if kind == "effect" and reason not in ("interrupted", "cancelled"):
            self.pending.append(key)
        if self.until_empty:
            time.sleep(0.02)


def power_failure(gateway, generator):
    """Rebuilds the state as a disk may hold it: what was synced, and a random part of the rest."""
    if not gateway.writes.exists():
        return
    data, at = gateway.writes.read_bytes(), 0
    durable, pending = {}, collections.defaultdict(list)

    def base(path):
        if path not in durable:
            before = gateway.before.get(path)
            durable[path] = bytearray(before if before is not None else b"")
        return durable[path]

    def apply(path, operation):
        kind, offset, content = operation
        file = base(path)
        if kind == "T":
            if len(file) > offset:
                del file[offset:]
            else:
                file.extend(bytes(offset - len(file)))
            return
        if len(file) < offset:
            file.extend(bytes(offset - len(file)))
        file[offset:offset + len(content)] = content

    while at + 32 <= len(data):
        kind, path_length, length, offset = struct.unpack_from("<QQQQ", data, at)
        kind, at = chr(kind), at + 32
        path = data[at:at + path_length].decode()
        content = data[at + path_length:at + path_length + length]
        at += path_length + length
        if path.endswith("-shm") or os.path.isdir(path):
            continue
        if kind in "WT":
            pending[path].append((kind, offset, content))
        elif kind == "S":
            for operation in pending.pop(path, []):
                apply(path, operation)
            base(path)
        elif kind == "R":
            to = content.decode()
            durable[to] = base(path)
            del durable[path]
            gateway.before.pop(path, None)
            pending[to] = pending.pop(path, [])
        elif kind == "U":
            durable.pop(path, None)
            pending.pop(path, None)
            gateway.before.pop(path, None)
    for path, operations in pending.items():
        for kind, offset, content in operations:
            if kind == "T":
                apply(path, (kind, offset, content))
                continue
            for start in range(0, len(content), 4096):
                piece = content[start:start + 4096]
                fate = generator.random()
                if fate < 0.4:
                    continue
                if fate < 0.5:
                    piece = piece[:generator.randrange(len(piece) // 512 + 1) * 512]
                apply(path, ("W", offset + start, piece))
    for path, content in durable.items():
        pathlib.Path(path).write_bytes(content)
    for path in gateway.state.rglob("*-shm"):
        path.unlink()


def contents(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and not path.name.endswith("-shm")}


class Campaign:
    """All rounds of one scenario over one state."""

    def __init__(self, scenario, gateway, rounds, seed):
        self.scenario, self.gateway, self.rounds = scenario, gateway, rounds
        self.random = random.Random(seed)
        self.pending = [[] for _ in range(CLIENTS)]
        self.counters = [[0] for _ in range(CLIENTS)]
        self.effects, self.calls, self.refused = set(), {}, collections.Counter()
        self.spent = [0] * CLIENTS
        self.figures = collections.Counter()
        self.not_ready = 0
        self.violations = []

    def run(self):
        # The server's tools are pinned before anything fails: what cannot be pinned is set aside.
        self.gateway.run("mcp", "status")
        for number in range(self.rounds):
            self.round(number)
            self.check(number)
        self.settle()
        return self

    def clients(self, until_empty=False):
        return [Client(self.gateway, number, random.Random(self.random.random()), self.pending[number],
                       self.counters[number], until_empty) for number in range(CLIENTS)]

    def round(self, number):
        gateway = self.gateway
        gateway.before = contents(gateway.state)
        gateway.serve()
        clients = self.clients()
        for client in clients:
            client.start()
        time.sleep(self.random.uniform(0.05, 0.9))
        if self.scenario in FAULTS:
            gateway.inject(FAULTS[self.scenario])
            time.sleep(self.random.uniform(0.2, 0.6))
            self.not_ready += not gateway.ready()
            gateway.inject(b"0")
            time.sleep(self.random.uniform(0.5, 1.5))
            for client in clients:
                client.stop.set()
            for client in clients:
                client.join(60)
            gateway.end(signal.SIGTERM)
        else:
            crashed = time.monotonic()
            gateway.end(signal.SIGKILL)
            for client in clients:
                client.stop.set()
                client.join(60)
        for client in clients:
            self.collect(client)
        if self.scenario == "power":
            power_failure(gateway, self.random)
            self.forgive(crashed)

    def collect(self, client):
        self.refused += client.refused
        self.spent[client.number] = max(self.spent[client.number], client.spent)
        for kind, key, call, when in client.acknowledged:
            self.figures[kind] += 1
            self.calls[call] = (kind, when)
            if kind == "effect":
                self.effects.add(key)

    def forgive(self, crashed):
        """Reads that were acknowledged just before a power failure may be lost."""
        for call in [call for call, (kind, when) in self.calls.items()
                     if kind != "effect" and when > crashed - GRACE]:
            del self.calls[call]

    def check(self, number):
        code, out, errors = self.gateway.run("audit", "verify", "--json")
        if code != 0:
            self.violations.append(f"round {number}: verify exits with {code}: {out[-300:]}{errors[-300:]}")
        code, out, errors = self.gateway.run("audit", "export")
        endings = collections.Counter()
        for line in out.splitlines():
            entry = json.loads(line)
            body = entry.get("body", entry)
            body = json.loads(body) if isinstance(body, str) else body
            if body.get("kind") == "ending":
                endings[body["call_id"]] += 1
        for call, (kind, _) in self.calls.items():
            if endings[call] != 1:
                self.violations.append(f"round {number}: acknowledged {kind} {call} has {endings[call]} endings")
        doubled = [call for call, count in endings.items() if count > 1]
        if doubled:
            self.violations.append(f"round {number}: calls with several endings: {doubled[:3]}")
        happened = collections.Counter(self.gateway.journal.read_text().split())
        for key, times in happened.items():
            if times > 1:
                self.violations.append(f"round {number}: effect {key} happened {times} times")
        for key in self.effects - set(happened):
            self.violations.append(f"round {number}: acknowledged effect {key} did not happen")
        if max(self.spent) > LIMIT:
            self.violations.append(f"round {number}: overspent: {self.spent}")
        self.figures["endings"] = sum(endings.values())
        self.figures["effects in the journal"] = sum(happened.values())

    def settle(self):
        """Without faults everything that is pending comes to an end."""
        self.gateway.serve()
        clients = self.clients(until_empty=True)
        for client in clients:
            client.start()
        for client in clients:
            client.join(60)
            client.stop.set()
        for client in clients:
            client.join(60)
            self.collect(client)
        if not self.gateway.ready():
            self.violations.append("not ready after the last fault")
        self.gateway.end(signal.SIGTERM)
        left = sum(map(len, self.pending))
        if left:
            self.violations.append(f"{left} effects never came to an end: {dict(self.refused)}")
        self.check("end")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tollgate", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="kill,power,full,eio,fsync")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--journal", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.journal:
        return journal_server(options.journal)
    if not options.tollgate:
        parser.error("--tollgate is needed")
    rows = []
    for scenario in options.only.split(","):
        with tempfile.TemporaryDirectory(prefix="tollgate-crash-") as folder:
            folder = pathlib.Path(folder).resolve()
            shim = folder / "shim.so"
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, HERE / "crash_shim.c", "-ldl", "-lpthread"],
                           check=True)
            gateway = Gateway(options.tollgate.resolve(), folder, shim)
            done = Campaign(scenario, gateway, min(options.rounds, 500), options.seed).run()
        rows.append({"scenario": scenario, "rounds": done.rounds, **done.figures, "refused": dict(done.refused),
                     "not ready while failing": done.not_ready, "violations": done.violations[:20]})
        if not options.json:
            row = rows[-1]
            print(f"{scenario:6} {done.rounds} rounds, acknowledged: {row.get('read', 0)} reads, {row.get('paid', 0)} "
                  f"paid reads, {row.get('effect', 0)} effects ({row.get('effects in the journal', 0)} happened); "
                  f"refused: {row['refused']}; not ready while failing: {done.not_ready}; "
                  f"violations: {len(done.violations)}", flush=True)
            for violation in row["violations"]:
                print(f"       {violation}", flush=True)
    if options.json:
        print(json.dumps(rows, indent=1))
    return 1 if any(row["violations"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
