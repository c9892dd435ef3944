"""Makes the calls of a plan with the official Python client and prints a line of JSON for each.

usage: cells.py auto|legacy PLAN URL
       cells.py auto|legacy PLAN COMMAND [ARGUMENT ...]

A call of the plan: `id`; `tool`, its canonical name; `arguments`; `through`, whether it is made
through `tools.call`; `cancel`, if it is cancelled at its first progress, the file that its server's
input is copied into; `read`, whether the resources that its answer links to are read.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent


def target(words):
    if words[0].startswith("http"):
        return words[0]
    return StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))


def cancelled(file):
    """How often a server has been told to cancel something."""
    with open(file, encoding="utf-8") as copied:
        return copied.read().count("notifications/cancelled")


class Driver:
    """A client and what it saw during the call under way."""

    def __init__(self, mode, server):
        self.asked = []
        self.progress = []
        self.names = {}
        self.client = Client(
            server,
            mode=mode,
            sampling_callback=self.sample,
            elicitation_callback=self.elicit,
            list_roots_callback=self.roots,
        )

    async def sample(self, context, params):
        self.asked.append("sampling")
        text = "sampled: " + params.messages[0].content.text
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=text), model="none"
        )

    async def elicit(self, context, params):
        # A question for consent is dismissed, as clients do that nobody looks at.
        if "decision" in params.requested_schema["properties"]:
            self.asked.append("consent")
            return ElicitResult(action="decline")
        self.asked.append("elicitation")
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def roots(self, context):
        self.asked.append("roots")
        return ListRootsResult(roots=[Root(uri="file:///matrix", name="matrix")])

    async def list(self, wanted):
        """Lists until all wanted tools are there; after that the client validates what it gets.

        Servers behind the gateway start on their own, and their tools are listed once they run.
        """
        while not wanted <= self.names.keys():
            await self.pages()
            await asyncio.sleep(0.1)

    async def pages(self):
        cursor = None
        while True:
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            for tool in page.tools:
                self.names[(tool.meta or {}).get("tollgate/name", tool.name)] = tool.name
            cursor = page.next_cursor
            if cursor is None:
                return

    async def call(self, cell):
        name, arguments = cell["tool"], cell["arguments"]
        if cell.get("through"):
            arguments = {"name": name, "arguments": arguments}
            name = "tools.call"
        began = asyncio.Event()
        before = cancelled(cell["cancel"]) if cell.get("cancel") else 0

        async def report(done, total, message):
            self.progress.append([done, total])
            began.set()

        making = asyncio.create_task(
            self.client.call_tool(self.names[name], arguments, progress_callback=report)
        )
        if cell.get("cancel"):
            waiting = asyncio.create_task(began.wait())
            await asyncio.wait([making, waiting], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if not making.done():
                making.cancel()
                # A gateway whose client leaves at once ends the server instead.
                while cancelled(cell["cancel"]) == before:
                    await asyncio.sleep(0.02)
                return {"cancelled": True}
        result = await making
        saw = {"result": result.model_dump(by_alias=True, mode="json", exclude_none=True)}
        if cell.get("read"):
            links = [block.uri for block in result.content if block.type == "resource_link"]
            saw["read"] = [
                (await self.client.read_resource(str(link))).contents[0].text for link in links
            ]
        return saw

    async def cell(self, cell):
        self.asked.clear()
        self.progress.clear()
        try:
            saw = await self.call(cell)
        except Exception as error:
            saw = {"thrown": f"{type(error).__name__}: {error}"}
        saw |= {"id": cell["id"], "asked": self.asked, "progress": self.progress}
        print(json.dumps(saw), flush=True)


async def main(mode, plan, words):
    driver = Driver(mode, target(words))
    async with driver.client:
        wanted = {cell["tool"] for cell in plan}
        wanted |= {"tools.call" for cell in plan if cell.get("through")}
        await driver.list(wanted)
        print(json.dumps({"version": driver.client.protocol_version}), flush=True)
        for cell in plan:
            await driver.cell(cell)


with open(sys.argv[2]) as file:
    plan = json.load(file)
asyncio.run(main(sys.argv[1], plan, sys.argv[3:]))
