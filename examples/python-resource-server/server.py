"""An API in Python whose callers send access tokens of Postern. `python server.py`, or behind any server for WSGI."""

import json
import os
from wsgiref.simple_server import make_server

from access_tokens import AccessTokens, Refused

issuer = os.environ.get("POSTERN_URL", "http://127.0.0.1:3000")
tokens = AccessTokens(issuer, os.environ.get("AUDIENCE", "https://api.example.com"))

# The scope that each call needs.
scopes = {("GET", "/orders"): "orders:read", ("POST", "/orders"): "orders:write"}
orders: list[dict] = []


def answer(environ: dict) -> tuple[str, object]:
    """Lists and takes the orders of the person of the token."""
    call = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    if call not in scopes:
        return "404 Not Found", {"detail": "not found"}
    person = tokens.verify(environ.get("HTTP_AUTHORIZATION"), scopes[call])["sub"]
    if call[0] == "GET":
        return "200 OK", {"data": [order for order in orders if order["owner"] == person]}
    body = json.loads(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
    orders.append({"id": len(orders) + 1, "owner": person, "item": str(body["item"])})
    return "201 Created", orders[-1]


def app(environ: dict, start_response):
    extra: dict[str, str] = {}
    try:
        status, body = answer(environ)
    except Refused as refused:
        reasons = {401: "Unauthorized", 403: "Forbidden", 503: "Service Unavailable"}
        status, body, extra = f"{refused.status} {reasons[refused.status]}", {"detail": str(refused)}, refused.headers
    except (ValueError, KeyError, TypeError):
        status, body = "400 Bad Request", {"detail": 'send {"item": "…"}'}
    start_response(status, [("Content-Type", "application/json"), *extra.items()])
    return [json.dumps(body).encode()]


if __name__ == "__main__":
    with make_server("127.0.0.1", int(os.environ.get("PORT", "4000")), app) as server:
        print(f"The API listens at http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
