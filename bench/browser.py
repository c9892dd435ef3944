#!/usr/bin/env python3
"""Measures the browser beside Playwright on the same Chromium, and prints a table.

usage: bench/browser.py --tollgate FILE [--chromium FILE] [--tokens FILE] [--rounds N] [--pages N] [--batch N]

Needs the Python package `playwright` (its own browsers are not used) on the interpreter that runs
this. Pages come from a server of our own on loopback, which is a process of its own.
"""

import argparse
import asyncio
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")
TABS = 10
WORDS = "The ferry leaves the old pier at noon and comes back before the sun is down. "
CONFIG = """
[browser]
allow_hosts = ["{host}"]
[web]
allow_hosts = ["{host}"]
host_pause_ms = 0
host_requests = 8
"""


def article(number, paragraphs):
    body = "".join(f"<h2>Part {it}</h2><p>{WORDS * 5}<a href=/page/{it}>part {it}</a></p>" for it in range(paragraphs))
    return f"<!doctype html><title>Page {number}</title><main><h1>Page {number}</h1>{body}</main>"


async def site():
    """A server that prints its address and answers until it is killed."""
    small, large = article(0, 12), article(0, 1500)

    async def serve(reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                if path == "/robots.txt":
                    body, status = b"", "404 Not Found"
                else:
                    text = large if path == "/large" else small
                    body, status = text.replace("Page 0", "Page " + path.rsplit("/", 1)[-1]).encode(), "200 OK"
                top = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(top.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def processes(root):
    """A process and all below it, with the CPU time each has used and that of its dead children."""
    parents = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / TICKS)
    found, left = {}, [root]
    while left:
        pid = left.pop()
        if pid in parents and pid not in found:
            found[pid] = parents[pid][1]
            left += [child for child, (parent, _) in parents.items() if parent == pid]
    return found


def cpu(root):
    return sum(processes(root).values())


def memory(pid, field):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return float("nan")


class Gate:
    """`tollgate mcp`, spoken to as a client does, with any number of calls at once."""

    def __init__(self, program, home, host, chromium, *words):
        home = pathlib.Path(home)
        home.mkdir(parents=True)
        config = home / "bench.toml"
        config.write_text(CONFIG.format(host=host))
        self.command = [str(program), "--config", str(config), "mcp", *words]
        self.environment = {"HOME": str(home), "PATH": os.environ["PATH"], "CHROME_PATH": chromium}
        self.home, self.next, self.waiting = home, 0, {}

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(
            *self.command, env=self.environment, cwd=self.home, limit=1 << 26,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.reading = asyncio.create_task(self.read())
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        await self.ask("initialize", about)
        self.send({"method": "notifications/initialized"})
        return self

    async def __aexit__(self, *_):
        self.process.stdin.close()
        await self.process.wait()
        self.reading.cancel()

    async def read(self):
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            if (waiting := self.waiting.pop(message.get("id"), None)) is not None:
                waiting.set_result(message)

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    async def ask(self, method, params):
        self.next += 1
        self.waiting[self.next] = answer = asyncio.get_running_loop().create_future()
        self.send({"id": self.next, "method": method, "params": params})
        message = await answer
        if "error" in message:
            raise RuntimeError(message["error"])
        return message["result"]

    async def call(self, tool, **arguments):
        result = await self.ask("tools/call", {"name": tool, "arguments": arguments})
        envelope = result.get("structuredContent") or json.loads(result["content"][0]["text"])
        if not envelope["ok"]:
            raise RuntimeError(envelope["error"])
        return envelope["data"]


async def spread(count, tabs, visit):
    """Visits so many pages in tabs, each tab taking the next one; gives the seconds."""
    numbers = iter(range(count))

    async def work(tab):
        for number in numbers:
            await visit(tab, number)

    begin = time.perf_counter()
    await asyncio.gather(*(work(tab) for tab in tabs))
    return time.perf_counter() - begin


async def ours(options, base, home):
    seen = {}
    async with Gate(options.tollgate, home, options.host, options.chromium) as gate:
        pid = gate.process.pid
        begin = time.perf_counter()
        await gate.call("browser.navigate", url=f"{base}/page/first")
        seen["first navigate s"] = time.perf_counter() - begin
        tabs = [(await gate.call("browser.create_tab"))["tabId"] for _ in range(TABS)]

        async def open_page(tab, number):
            went = await gate.call("browser.navigate", tabId=tab, url=f"{base}/page/{number}")
            assert went["page"]["title"] == f"Page {number}", went

        async def read_page(tab, number):
            await open_page(tab, number)
            await gate.call("browser.get_page_content", tabId=tab)

        async def look_at_page(tab, number):
            await open_page(tab, number)
            await gate.call("browser.get_page_info", tabId=tab)

        for name, visit in (("open", open_page), ("open and text", read_page), ("open and elements", look_at_page)):
            before = cpu(pid)
            took = await spread(options.pages, tabs, visit)
            seen[f"{name} pages/s"] = options.pages / took
            seen[f"{name} CPU ms a page"] = (cpu(pid) - before) * 1000 / options.pages
        seen["own RSS MB at work"], seen["own anonymous MB"] = memory(pid, "VmRSS"), memory(pid, "RssAnon")
        await asyncio.sleep(6)
        seen["own RSS MB at rest"] = memory(pid, "VmRSS")
        await gate.call("browser.navigate", url=f"{base}/large")
        seen["views"] = [await gate.call("browser.get_page_info"), await gate.call("browser.get_page_content")]
        urls = [f"{base}/static/{it}" for it in range(options.batch)]
        begin, before = time.perf_counter(), cpu(pid)
        inputs = {"urls": urls, "concurrency": 5}
        ran = await gate.call("run_task_template", templateId="batch_extract_pages", inputs=inputs, options={"mode": "sync"})
        seen["batch pages/s"] = options.batch / (time.perf_counter() - begin)
        seen["batch CPU ms a page"] = (cpu(pid) - before) * 1000 / options.batch
        assert ran["result"]["summary"]["succeeded"] == options.batch, ran["result"]["summary"]
    return seen


async def theirs(options, base):
    from playwright.async_api import async_playwright

    seen = {}
    driver = async_playwright()
    begin = time.perf_counter()
    playwright = await driver.__aenter__()
    browser = await playwright.chromium.launch(executable_path=options.chromium)
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{base}/page/first")
    seen["first navigate s"] = time.perf_counter() - begin
    tabs = [await context.new_page() for _ in range(TABS)]

    async def open_page(tab, number):
        await tab.goto(f"{base}/page/{number}")
        assert await tab.title() == f"Page {number}"

    async def read_page(tab, number):
        await open_page(tab, number)
        await tab.inner_text("body")

    async def look_at_page(tab, number):
        await open_page(tab, number)
        await tab.locator("body").aria_snapshot()

    for name, visit in (("open", open_page), ("open and text", read_page), ("open and elements", look_at_page)):
        before = cpu(os.getpid())
        took = await spread(options.pages, tabs, visit)
        seen[f"{name} pages/s"] = options.pages / took
        seen[f"{name} CPU ms a page"] = (cpu(os.getpid()) - before) * 1000 / options.pages

    # What a batch gives is a title and a text.
    for what in ("pages/s", "CPU ms a page"):
        seen[f"batch {what}"] = seen[f"open and text {what}"]
    await browser.close()
    await driver.__aexit__(None, None, None)
    return seen


async def lists(options, folder):
    """What the browser's tools cost a model in a list."""
    if options.tokens is None:
        return
    for name, words in (("full", []), ("brief", ["--schemas", "brief"])):
        gate = Gate(options.tollgate, folder / f"list-{name}", options.host, options.chromium, "--toolsets", "browser", *words)
        async with gate:
            print(f"tools/list, {name}:", tokens(options, await gate.ask("tools/list", {})))


def tokens(options, listed):
    return subprocess.run([options.tokens], input=json.dumps(listed) + "\n", text=True, capture_output=True, check=True).stdout.strip()


async def main(options):
    server = subprocess.Popen([sys.executable, __file__, "--site"], stdout=subprocess.PIPE, text=True)
    options.host = f"127.0.0.1:{server.stdout.readline().strip()}"
    base = f"http://{options.host}"
    rounds = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for at in range(options.rounds):
                own = await ours(options, base, pathlib.Path(folder) / f"home{at}")
                views = own.pop("views")
                rounds.append((own, await theirs(options, base)))
            await lists(options, pathlib.Path(folder))
            if options.tokens is not None:
                for view in views:
                    print("view of a large article:", tokens(options, {"tools": [{"name": "", "view": view}]}))
    finally:
        server.kill()
        server.wait()
    print(f"| what | tollgate | Playwright | ratio |\n|---|---|---|---|")
    for name in rounds[0][0]:
        mine = [own[name] for own, _ in rounds]
        other = [peer[name] for _, peer in rounds if name in peer]
        ratios = [own / peer for own, peer in zip(mine, other)]
        print(f"| {name} | {shown(mine)} | {shown(other)} | {shown(ratios)} |")


def shown(values):
    if not values:
        return ""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    if sys.argv[1:] == ["--site"]:
        asyncio.run(site())
    parser = argparse.ArgumentParser()
    parser.add_argument("--tollgate", type=pathlib.Path, required=True)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--tokens")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--batch", type=int, default=1000)
    asyncio.run(main(parser.parse_args()))
