#!/usr/bin/env python3
"""Measures the MCP front ends, beside a bare `rmcp` server in the same run, and prints tables.

usage: bench/run.py [--tollgate FILE] [--programs FOLDER] [--peers FOLDER] [--rounds N] [--seconds S] [--only PART,...]

Parts: calls, sessions, crowd, start, lists, upstream, many.
`--peers` holds three programs of a common bench for gateways: `upstream` (a bare echo server),
`nullproxy` (parses, forwards, writes a line) and `load`. Without it, upstream and many are left out.
Build first:
  cargo build --release -p tollgate
  cargo build --release --manifest-path bench/Cargo.toml
"""

import argparse
import http.client
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "0.1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
CONFIG = """
[serve]
requests_per_second = 1000000
burst = 1000000
concurrent_calls = 4096

[providers.stub]
tools = ["bench.slow"]
delay_ms = 50
"""
LISTS = {"default": {}} | {name: {"toolsets": [name]} for name in ("gate", "discovery", "results", "research", "all")}
LISTS["research, brief"] = {"toolsets": ["research"], "schemas": "brief"}
SERVER = """
[[mcp.servers]]
name = "{name}"
{way}
trust_annotations = true

[mcp.servers.tools.blob]
capability = "L0"
"""
MEGABYTE = json.dumps({"n": 1_000_000})


class Tollgate:
    """The program in a home of its own."""

    def __init__(self, program, home, config=CONFIG):
        self.program, self.home = program, pathlib.Path(home)
        self.home.mkdir(parents=True)
        self.config = self.home / "bench.toml"
        self.config.write_text(config)

    def command(self, *words):
        return [str(self.program), "--config", str(self.config), *words]

    def environment(self):
        return {"HOME": str(self.home)}

    def serve(self):
        return Server(self.command("serve", "--port", "0"), self.environment(), self.home)


class Server:
    """A process that prints its address on the first line."""

    def __init__(self, command, environment, folder):
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        line = self.process.stdout.readline()
        self.url = next(word for word in line.split() if word.startswith("http://"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()

    def cpu_seconds(self):
        """CPU time of the process so far."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident(self, field="VmRSS"):
        """Resident memory in MB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
        return float("nan")


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.homes = options, pathlib.Path(folder), 0

    def program(self, name):
        return str(self.options.programs / name)

    def tollgate(self, config=CONFIG):
        self.homes += 1
        return Tollgate(self.options.tollgate, self.folder / f"home{self.homes}", config)

    def echo(self):
        return Server([self.program("rmcp-echo")], {}, self.folder)

    def load(self, server, *words):
        """Runs the load generator and adds what it cost the server."""
        before = server.cpu_seconds()
        command = [self.program("mcp-load"), "--url", server.url, *map(str, words)]
        seen = json.loads(subprocess.check_output(command, text=True))
        spent = server.cpu_seconds() - before
        seen["cpu_us"] = spent * 1e6 / max(seen["calls_in_all"], 1)
        seen["resident"] = server.resident()
        return seen

    def calls(self):
        """Calls of a trivial tool through the whole path, and a bare echo beside them."""
        rows = []
        with self.echo() as echo, self.tollgate().serve() as gate:
            targets = [
                ("rmcp echo", echo, ["--tool", "echo"]),
                ("text.stats", gate, ["--tool", "text_stats"]),
                ("text.stats, cache hit", gate, ["--tool", "text_stats", "--same-text", "hello"]),
            ]
            for connections in (1, 32):
                seen = {name: [] for name, _, _ in targets}
                for _ in range(self.options.rounds):
                    for name, server, words in targets:
                        timing = ["--connections", connections, "--seconds", self.options.seconds]
                        seen[name].append(self.load(server, *timing, *words))
                base = seen["rmcp echo"]
                rows += [call_row(name, connections, seen[name], base) for name in seen]
        header = ["call", "connections", "a second", "of rmcp", "p50 µs", "p50 beyond rmcp", "p99 µs",
                  "CPU µs a call", "resident MB", "errors"]
        table("Calls (targets: >= 0.5x; p50 within 200 µs at 1 connection)", header, rows)

    def sessions(self):
        """Sessions of older clients that nobody uses."""
        rows = []
        with self.tollgate().serve() as gate:
            self.load(gate, "--sessions", 16)
            time.sleep(1)
            start = gate.resident(), gate.resident("RssAnon")
            seen = self.load(gate, "--sessions", 10_000)
            time.sleep(1)
            rows.append([
                seen["calls"], f"{start[0]:.1f}", f"{gate.resident():.1f}",
                f"{gate.resident() - start[0]:.1f}", f"{gate.resident('RssAnon') - start[1]:.1f}",
                errors([seen]),
            ])
        header = ["idle sessions", "MB before", "MB after", "more", "of it its own", "errors"]
        table("Sessions (target: <= 100 MB)", header, rows)

    def crowd(self):
        """A thousand calls at the same moment."""
        rows = []
        stub = CONFIG[CONFIG.index("[providers.stub]"):]
        for limits, config in (("raised", CONFIG), ("default", stub)):
            with self.tollgate(config).serve() as gate:
                for tool in ("text_stats", "bench_slow"):
                    for _ in range(self.options.rounds):
                        seen = self.load(gate, "--once", "--connections", 1000, "--tool", tool)
                        rows.append([
                            tool, limits, seen["calls"], micros(seen["p50_us"]),
                            micros(seen["longest_us"]), errors([seen]),
                        ])
                        time.sleep(2.5)
        header = ["1,000 at once", "limits", "answered", "p50 µs", "longest µs", "errors"]
        table("A crowd (target: no error but `overloaded`)", header, rows)

    def start(self):
        """From the start of the process to the first list."""
        gate = self.tollgate()
        first = listed(gate)[0]
        taken, versions = [], []
        for _ in range(30):
            taken.append(listed(gate)[0])
            began = time.perf_counter()
            subprocess.run(gate.command("--version"), env=gate.environment(), check=True,
                           stdout=subprocess.DEVNULL)
            versions.append((time.perf_counter() - began) * 1e3)
        rows = [
            ["the first start ever", f"{first:.1f}", "", ""],
            ["start to `tools/list`", *spread(taken)],
            ["`--version`, for comparison", *spread(versions)],
        ]
        table("stdio (target: <= 20 ms)", ["what", "median ms", "least", "most"], rows)

    def lists(self):
        """What the lists cost a model."""
        gate, rows = self.tollgate(""), []
        for name, wanted in LISTS.items():
            tools, cursor = [], None
            while True:
                params = dict(wanted)
                result = listed(gate, params | ({"cursor": cursor} if cursor else {}))[1]
                tools += result["tools"]
                cursor = result.get("nextCursor")
                if not cursor:
                    break
            counted = subprocess.check_output(
                [self.program("tokens")], input=json.dumps({"tools": tools}) + "\n", text=True)
            cost = json.loads(counted)
            rows.append([name, cost["tools"], cost["whole"]["bytes"], cost["whole"]["tokens"],
                         cost["shown"]["bytes"], cost["shown"]["tokens"]])
        header = ["toolset", "tools", "bytes", "tokens", "bytes shown", "tokens shown"]
        table("Lists (targets: the default <= 2,000 tokens, research <= 9,000, brief <= 6,000)", header, rows)

    def upstream(self):
        """Calls of another server's `echo`: straight, through a proxy that does nothing, through the gate."""
        if not self.options.peers:
            return print("\nupstream: left out, `--peers` names no programs")
        address, passed = free_address(), free_address()
        log = self.folder / "nullproxy.jsonl"
        config = CONFIG + SERVER.format(name="web", way=f'url = "http://{address}/mcp"')
        config += SERVER.format(name="pipe", way=f'command = "{self.peer("upstream")}"\nargs = ["stdio"]')
        with Plain([self.peer("upstream"), "http", address, "json"], address) as server, \
                Plain([self.peer("nullproxy"), passed, address, str(log)], passed) as proxy, \
                self.tollgate(config).serve() as gate:
            targets = [("direct", server, "{}"), ("null proxy", proxy, "{}"),
                       ("tollgate, http", gate, "mcp_web_{}"), ("tollgate, stdio", gate, "mcp_pipe_{}")]
            for tool, words, levels in (("echo", [], (1, 32)), ("blob", ["--args", MEGABYTE], (4,))):
                rows = []
                for connections in levels:
                    seen = {name: [] for name, _, _ in targets}
                    for _ in range(self.options.rounds):
                        for name, one, spelled in targets:
                            seen[name].append(self.peer_load(one, connections, spelled.format(tool), words))
                    rows += [upstream_row(name, connections, seen) for name in seen]
                header = ["way", "connections", "a second", "of the null proxy", "p50 µs", "of direct",
                          "p99 µs", "CPU µs a call", "resident MB", "errors"]
                table(f"Upstream, `{tool}` (targets at 32: http >= 0.55x, stdio >= 0.45x, CPU <= 100 µs; "
                      "at 1: p50 <= 3x direct; 1 MB >= 0.4x)", header, rows)

    def many(self):
        """Many servers at once: what they cost, and how long the list of all their tools takes."""
        if not self.options.peers:
            return print("\nmany: left out, `--peers` names no programs")
        rows = []
        for servers, more in ((50, 0), (50, 47), (100, 47)):
            address = free_address()
            config = CONFIG + "".join(
                SERVER.format(name=f"s{number}", way=f'url = "http://{address}/mcp"') for number in range(servers))
            with Plain([self.peer("upstream"), "http", address, "json", str(more)], address):
                gate = self.tollgate(config)
                with gate.serve() as running:
                    tools = wait_for_tools(running.url, servers * (more + 3))
                    taken = [whole_list(running.url)[0] for _ in range(10)]
                    rows.append([servers, more + 3, tools, *spread(taken), f"{running.resident():.1f}"])
        header = ["servers", "tools each", "tools listed", "whole list, median ms", "least", "most", "resident MB"]
        table("Many servers (targets: 100 listed in <= 50 ms once known; 50 within 40 MB)", header, rows)

    def peer(self, name):
        return str(self.options.peers / name)

    def peer_load(self, server, connections, tool, words):
        """Runs the common load generator and adds what it cost the server."""
        before = server.cpu_seconds()
        command = [self.peer("load"), "--url", server.url, "--c", str(connections), "--mode", "modern",
                   "--secs", str(self.options.seconds), "--warm", "3", "--tool", tool, *words]
        seen = json.loads(subprocess.check_output(command, text=True))
        spent = server.cpu_seconds() - before
        calls = max(seen["ok"] + 3 * connections, 1)
        failed = {seen["first_err"][:40]: seen["err"]} if seen["err"] else {}
        return {"per_second": seen["rps"], "p50_us": seen["p50_us"], "p99_us": seen["p99_us"],
                "cpu_us": spent * 1e6 / calls, "resident": server.resident(), "errors": failed}


class Plain(Server):
    """A process that listens where it is told."""

    def __init__(self, command, address):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.url = f"http://{address}/mcp"
        host, port = address.split(":")
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    return
            time.sleep(0.01)
        raise RuntimeError(f"nobody listens at {address}")


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def asked(connection, path, method, params):
    """The result of one request over a connection that stays open."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream",
               "mcp-protocol-version": MODERN, "mcp-method": method}
    connection.request("POST", path, json.dumps(body), headers)
    told = json.load(connection.getresponse())
    if "result" not in told:
        raise RuntimeError(told["error"])
    return told["result"]


def whole_list(url):
    """How long every page of `tools/list` takes, in ms, and how many tools there are."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)
    began, tools, cursor = time.perf_counter(), 0, None
    while True:
        page = asked(connection, "/mcp?toolsets=all", "tools/list", {"cursor": cursor} if cursor else {})
        tools, cursor = tools + len(page["tools"]), page.get("nextCursor")
        if not cursor:
            connection.close()
            return (time.perf_counter() - began) * 1e3, tools


def wait_for_tools(url, wanted):
    until = time.monotonic() + 60
    while True:
        try:
            tools = whole_list(url)[1]
        except RuntimeError:
            # The list has changed between two of its pages.
            tools = 0
        if tools >= wanted or time.monotonic() > until:
            return tools
        time.sleep(0.2)


def upstream_row(name, connections, seen):
    own = seen[name]
    middle = lambda key: statistics.median(one[key] for one in own)
    ratio = lambda other, key: statistics.median(one[key] / base[key] for one, base in zip(own, seen[other]))
    return [
        name, connections, f"{middle('per_second'):,.0f}", f"{ratio('null proxy', 'per_second'):.2f}x",
        micros(middle("p50_us")), f"{ratio('direct', 'p50_us'):.1f}x", micros(middle("p99_us")),
        f"{middle('cpu_us'):.0f}", f"{own[-1]['resident']:.1f}", errors(own),
    ]


def listed(gate, params=None):
    """How long a new process takes to answer `tools/list`, in ms, and its answer."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {**(params or {}), "_meta": META}}
    line = (json.dumps(request) + "\n").encode()
    began = time.perf_counter()
    process = subprocess.Popen(
        gate.command("mcp"), env=gate.environment(), cwd=gate.home,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )
    process.stdin.write(line)
    process.stdin.flush()
    answer = process.stdout.readline()
    took = (time.perf_counter() - began) * 1e3
    process.stdin.close()
    process.wait(30)
    process.stdout.close()
    return took, json.loads(answer)["result"]


def call_row(name, connections, seen, base):
    middle = lambda key: statistics.median(one[key] for one in seen)
    ratios = [one["per_second"] / other["per_second"] for one, other in zip(seen, base)]
    beyond = [one["p50_us"] - other["p50_us"] for one, other in zip(seen, base)]
    rates = [one["per_second"] for one in seen]
    return [
        name, connections, f"{middle('per_second'):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})",
        f"{statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})",
        micros(middle("p50_us")), micros(statistics.median(beyond)), micros(middle("p99_us")),
        f"{middle('cpu_us'):.0f}", f"{seen[-1]['resident']:.1f}", errors(seen),
    ]


def spread(values):
    return [f"{statistics.median(values):.1f}", f"{min(values):.1f}", f"{max(values):.1f}"]


def micros(value):
    return "" if value is None else f"{value:,.0f}"


def errors(seen):
    """Every kind of error with its number."""
    total = {}
    for one in seen:
        for kind, count in one["errors"].items():
            total[kind] = total.get(kind, 0) + count
    return ", ".join(f"{count} {kind}" for kind, count in total.items()) or "none"


def table(title, header, rows):
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"\n{title}; load {load}\n")
    for row in [header, ["---"] * len(header), *rows]:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tollgate", type=pathlib.Path, default=HERE.parent / "target/release/tollgate")
    parser.add_argument("--programs", type=pathlib.Path, default=HERE / "target/release")
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", default="calls,sessions,crowd,start,lists,upstream,many")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tollgate-bench-") as folder:
        bench = Bench(options, folder)
        for part in options.only.split(","):
            getattr(bench, part)()


if __name__ == "__main__":
    main()
