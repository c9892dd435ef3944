"""Drives a server with the official Python client and prints what it saw, as JSON.

usage: client.py auto|legacy|VERSION URL
       client.py auto|legacy|VERSION COMMAND [ARGUMENT ...]
"""

import asyncio
import json
import os
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitResult

WATCHED = "test://watched-resource"
EVENTS = {"ResourceUpdated": "resources/updated", "ToolsListChanged": "tools/list_changed"}


async def answer(context, params):
    """Fills every form in with the same name."""
    return ElicitResult(action="accept", content={"name": "Alice"})


def target(words):
    if words[0].startswith("http"):
        return words[0]
    return StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))


async def fails(attempt):
    """The code of the error that an attempt ends with."""
    try:
        await attempt
    except MCPError as error:
        return error.error.code
    return None


async def changes(client, heard):
    """What is told when a resource and the list of tools change, in this order."""
    tell_resource = lambda: client.call_tool("test_trigger_resource_update", {})
    tell_tools = lambda: client.call_tool("test_trigger_tool_change", {})
    if client.protocol_version >= "2026":
        wanted = {"tools_list_changed": True, "resource_subscriptions": [WATCHED]}
        async with client.listen(**wanted) as told:
            await tell_resource()
            first = await anext(told)
            await tell_tools()
            second = await anext(told)
        return [EVENTS[type(event).__name__] for event in (first, second)]
    await client.subscribe_resource(WATCHED)
    # The stream for notifications opens on its own; until then nobody hears anything.
    while not heard:
        await tell_resource()
        await asyncio.sleep(0.05)
    first = heard[-1]
    await tell_tools()
    while heard[-1] == first:
        await asyncio.sleep(0.05)
    return [first, heard[-1]]


async def main(mode, words):
    saw = {}
    progress = []
    heard = []
    logged = []

    async def log(params):
        logged.append(params.data)

    async def hear(message):
        heard.append(message.method.removeprefix("notifications/"))

    async def report(done, total, message):
        progress.append([int(done), int(total)])

    callbacks = {
        "elicitation_callback": answer,
        "message_handler": hear,
        "logging_callback": log,
        "log_level": "info",
    }
    async with Client(target(words), mode=mode, **callbacks) as client:
        saw["version"] = client.protocol_version
        saw["server"] = client.server_info and client.server_info.name
        listed = await client.list_tools()
        saw["tools"] = sorted(tool.name for tool in listed.tools)

        stats = await client.call_tool("text.stats", {"text": "hello"})
        saw["stats"] = stats.structured_content
        saw["stats_text"] = json.loads(stats.content[0].text)
        wrong = await client.call_tool("text.stats", {"txet": "hello"})
        saw["wrong"] = {"is_error": wrong.is_error, "error": json.loads(wrong.content[0].text)}
        saw["unknown_tool"] = await fails(client.call_tool("no.such_tool", {}))

        await client.call_tool("test_tool_with_progress", {}, progress_callback=report)
        saw["progress"] = progress
        await client.call_tool("test_logging_tool", {})
        saw["logged"] = logged
        hello = await client.call_tool("test_input_required_result_elicitation", {})
        saw["asked"] = hello.content[0].text
        image = await client.call_tool("test_image_content", {})
        saw["image"] = image.content[0].mime_type

        resources = await client.list_resources()
        saw["resources"] = sorted(str(resource.uri) for resource in resources.resources)
        read = await client.read_resource("test://template/7/data")
        saw["read"] = json.loads(read.contents[0].text)
        saw["unknown_resource"] = await fails(client.read_resource("test://nowhere"))
        prompts = await client.list_prompts()
        saw["prompts"] = sorted(prompt.name for prompt in prompts.prompts)
        prompt = await client.get_prompt(
            "test_prompt_with_arguments", {"arg1": "one", "arg2": "two"}
        )
        saw["prompt"] = prompt.messages[0].content.text

        heard.clear()
        saw["told"] = await asyncio.wait_for(changes(client, heard), 20)
        listed = await client.list_tools()
        saw["changed"] = "test_changing_tool" in [tool.name for tool in listed.tools]
    print(json.dumps(saw))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
