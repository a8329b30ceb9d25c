"""Authlib as a confidential client: prints the authorization URL, reads the callback, prints what it learned.

python client.py httpx|requests ISSUER CLIENT_ID CLIENT_SECRET REDIRECT_URI
"""
import json
import sys

import requests
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oidc.core import CodeIDToken

library, issuer, client_id, client_secret, redirect_uri = sys.argv[1:]
metadata = requests.get(issuer + "/.well-known/openid-configuration").json()
session = {"httpx": OAuth2Client, "requests": OAuth2Session}[library](
    client_id,
    client_secret,
    scope="openid email profile",
    redirect_uri=redirect_uri,
    code_challenge_method="S256",
    token_endpoint=metadata["token_endpoint"],
)
verifier, nonce = generate_token(48), generate_token()
url, state = session.create_authorization_url(
    metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce
)
print(url, flush=True)
callback = sys.stdin.readline().strip()
token = session.fetch_token(
    metadata["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier
)
keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"]).json())
claims = jwt.decode(
    token["id_token"],
    keys,
    claims_cls=CodeIDToken,
    claims_options={"iss": {"values": [metadata["issuer"]]}, "aud": {"values": [client_id]}},
    claims_params={"nonce": nonce, "client_id": client_id, "access_token": token["access_token"]},
)
claims.validate()
renewed = session.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
info = session.get(metadata["userinfo_endpoint"]).json()
print(
    json.dumps(
        {
            "sub": claims["sub"],
            "email": info["email"],
            "sameUser": info["sub"] == claims["sub"],
            "renewed": renewed["access_token"] != token["access_token"],
        }
    ),
    flush=True,
)
