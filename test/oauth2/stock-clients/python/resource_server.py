"""An API that knows nothing but the JWKS: for each line `ISSUER AUDIENCE TOKEN` it prints `accepted SUB` or `refused REASON`.

python resource_server.py pyjwt|authlib JWKS_URI
"""
import sys

import jwt as pyjwt
import requests
from authlib.jose import JsonWebKey, JsonWebToken

library, jwks_uri = sys.argv[1:]
client = pyjwt.PyJWKClient(jwks_uri)
keys = JsonWebKey.import_key_set(requests.get(jwks_uri).json())


def with_pyjwt(issuer, audience, token):
    if pyjwt.get_unverified_header(token).get("typ") != "at+jwt":
        raise ValueError("typ")
    key = client.get_signing_key_from_jwt(token)
    return pyjwt.decode(token, key.key, algorithms=["ES256"], issuer=issuer, audience=audience)


def with_authlib(issuer, audience, token):
    claims = JsonWebToken(["ES256"]).decode(
        token,
        keys,
        claims_options={
            "iss": {"essential": True, "value": issuer},
            "aud": {"essential": True, "value": audience},
            "exp": {"essential": True},
        },
    )
    if claims.header.get("typ") != "at+jwt":
        raise ValueError("typ")
    claims.validate()
    return claims


verify = {"pyjwt": with_pyjwt, "authlib": with_authlib}[library]
for line in sys.stdin:
    try:
        print("accepted", verify(*line.split())["sub"], flush=True)
    except Exception as error:
        print("refused", type(error).__name__, error, flush=True)
