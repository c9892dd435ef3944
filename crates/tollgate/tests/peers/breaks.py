"""A server whose tool breaks the schema of its own answers, spoken to without the gateway.

A client that validates what it gets takes the answer of `keeps` and reports that of `breaks`. It
speaks both protocol versions of the matrix, in plain lines: a library would not send such an answer.
"""

import json
import sys

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ANSWERS = {"keeps": {"n": 5}, "breaks": {"n": "five"}}
CAN = {"tools": {}}
ABOUT = {"name": "breaks", "version": "1"}
VALID = {"ttlMs": 0, "cacheScope": "private"}


def tools():
    reads = {"readOnlyHint": True}
    return [
        {
            "name": name,
            "description": name,
            "inputSchema": {"type": "object"},
            "outputSchema": SCHEMA,
            "annotations": reads,
        }
        for name in ANSWERS
    ]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": CAN, "serverInfo": ABOUT}
    if method == "server/discover":
        meta = {"io.modelcontextprotocol/serverInfo": ABOUT}
        return {"supportedVersions": ["2026-07-28"], "capabilities": CAN, **VALID, "_meta": meta}
    if method == "tools/list":
        return {"tools": tools(), **VALID}
    if method == "tools/call":
        given = ANSWERS[params["name"]]
        text = {"type": "text", "text": json.dumps(given)}
        return {"content": [text], "structuredContent": given}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    params = message.get("params") or {}
    result = answer(message["method"], params)
    # Requests of the newer version say which one they are in, and so do results.
    if "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {}):
        result["resultType"] = "complete"
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
