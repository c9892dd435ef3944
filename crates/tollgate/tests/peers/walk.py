"""Walks a guided session with the official Python client and prints each answer, as JSON.

usage: walk.py begin QUESTION STEP ... -- URL|COMMAND ...
       walk.py SESSION_ID STEP ... -- URL|COMMAND ...

A step is the id of an option, or `=` and the user's own words.
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


async def main(words, server):
    answers = []

    async def call(tool, **arguments):
        result = await client.call_tool(tool, arguments)
        said = json.loads(result.content[0].text)
        assert result.is_error or said == result.structured_content
        answers.append(said)
        return answers[-1]

    async with Client(target(server)) as client:
        session, *steps = words
        if session == "begin":
            question, *steps = steps
            session = (await call("initiate_session", user_query=question))["session_id"]
        for step in steps:
            given = {"selected_option_id": step}
            if step.startswith("="):
                given = {"selected_option_id": "provide_more_info", "user_input": step[1:]}
            await call("navigate_session", session_id=session, **given)
    print(json.dumps({"session": session, "answers": answers}))


border = sys.argv.index("--")
asyncio.run(main(sys.argv[1:border], sys.argv[border + 1 :]))
