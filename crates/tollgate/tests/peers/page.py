"""Fetches a page with the official Python client, reads the rest of it as resources, and prints both, as JSON.

usage: page.py ADDRESS -- URL|COMMAND ...
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


def target(words):
    if words[0].startswith("http"):
        return words[0]
    return StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))


async def main(address, server):
    async with Client(target(server)) as client:
        result = await client.call_tool("web.fetch", {"url": address, "max_chars": 500})
        data = result.structured_content
        artifact = data["artifact"]
        templates = await client.list_resource_templates()
        pieces = []
        for piece in range(artifact["pieces"]):
            uri = artifact["uri"] if piece == 0 else f"{artifact['uri']}/{piece}"
            read = await client.read_resource(uri)
            pieces.append(read.contents[0].text)
    known = [template.uri_template for template in templates.resource_templates]
    print(json.dumps({"data": data, "pieces": pieces, "templates": known}))


border = sys.argv.index("--")
asyncio.run(main(sys.argv[1], sys.argv[border + 1 :]))
