"""An MCP client of the official SDK, unmodified: signs in, calls the tool `whoami`, and prints its answer.

Prints `open URL` where a browser would open, and reads the address that the browser came back to.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

server, redirect_uri, *document = sys.argv[1:]


class Memory:
    tokens = client_info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


async def to_browser(url):
    print(f"open {url}", flush=True)


async def from_browser():
    line = await asyncio.to_thread(sys.stdin.readline)
    query = {name: values[0] for name, values in parse_qs(urlsplit(line.strip()).query).items()}
    return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))


async def main():
    storage = Memory()
    auth = OAuthClientProvider(
        server_url=server,
        client_metadata=OAuthClientMetadata(
            client_name="Python SDK",
            redirect_uris=[redirect_uri],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",
        ),
        storage=storage,
        redirect_handler=to_browser,
        callback_handler=from_browser,
        client_metadata_url=document[0] if document else None,
    )
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        async with Client(streamable_http_client(server, http_client=http)) as client:
            result = await client.call_tool("whoami", {})
            print(json.dumps([result.content[0].text, storage.tokens.scope]), flush=True)


asyncio.run(main())
