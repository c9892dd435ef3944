"""A server made with the official Python library, for the gate to stand in front of.

usage: server.py stdio
       server.py http PORT
"""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations

server = MCPServer("library")
READS = ToolAnnotations(readOnlyHint=True, openWorldHint=False)


@server.tool(annotations=READS)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool(annotations=READS)
async def count(steps: int, ctx: Context) -> str:
    """Counts, and says how far it is."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps)
    return "counted"


@server.resource("library://shelf/{name}")
def shelf(name: str) -> str:
    return "on the shelf: " + name


@server.resource("library://desk")
def desk() -> str:
    return "on the desk"


@server.prompt()
def borrow(title: str) -> str:
    return "May I borrow " + title + "?"


if sys.argv[1] == "http":
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    server.run("stdio")
