"""Uses a browser with the official Python client and prints each answer, as JSON.

usage: browse.py APPROVER_TOKEN STEP ... -- COMMAND ...

A step is `[tool, arguments]`. An argument that begins with `@` is looked up in the answers before:
`@sessionId` is the last one, any other the id of the element with that label. What needs a human
is agreed to at a shell with the token, and called again.
"""

import asyncio
import json
import os
import subprocess
import sys

from mcp import Client, StdioServerParameters


async def main(token, steps, server):
    answers = []

    def looked_up(value):
        if not (isinstance(value, str) and value.startswith("@")):
            return value
        for answer in reversed(answers):
            found = answer.get("result") or answer
            if value == "@sessionId" and "sessionId" in found:
                return found["sessionId"]
            for element in answer.get("elements", []):
                if element["label"] == value[1:]:
                    return element["id"]
        raise LookupError(value)

    async def call(tool, arguments):
        result = await client.call_tool(tool, arguments)
        return result.is_error, result.structured_content or json.loads(result.content[0].text)

    parameters = StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ))
    async with Client(parameters) as client:
        for tool, arguments in map(json.loads, steps):
            arguments = {name: looked_up(value) for name, value in arguments.items()}
            failed, answer = await call(tool, arguments)
            approval = answer.get("details", {}).get("approval_id") if failed else None
            if approval is not None:
                answers.append({"asked": answer["details"]["preview"]})
                subprocess.run([server[0], "approve", approval, "--token", token], check=True, stdout=subprocess.DEVNULL)
                failed, answer = await call(tool, arguments)
            answers.append({"error": answer} if failed else answer)
    print(json.dumps(answers))


border = sys.argv.index("--")
asyncio.run(main(sys.argv[1], sys.argv[2:border], sys.argv[border + 1 :]))
