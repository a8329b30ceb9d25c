"""Verifies the access tokens of Postern (RFC 9068) with PyJWT."""

import jwt
from jwt.exceptions import PyJWKClientConnectionError


class Refused(Exception):
    """A rejected request: the status, and the RFC 6750 error if the token is invalid."""

    def __init__(self, status: int, code: str = "", detail: str = ""):
        super().__init__(detail or code)
        self.status, self.code = status, code

    @property
    def headers(self) -> dict[str, str]:
        if self.status == 503:
            return {"Retry-After": "5"}
        return {"WWW-Authenticate": f'Bearer error="{self.code}"' if self.code else "Bearer"}


class AccessTokens:
    """Create one per process, because it caches the keys."""

    def __init__(self, issuer: str, audience: str):
        self.issuer, self.audience = issuer, audience
        # Keys are fetched again after five minutes, and for a token with an unknown key.
        self.keys = jwt.PyJWKClient(f"{issuer}/.well-known/jwks.json", lifespan=300, timeout=5)

    def verify(self, authorization: str | None, scope: str | None = None) -> dict:
        """Returns the claims of the token in the header `Authorization`, or raises Refused."""
        kind, _, token = (authorization or "").partition(" ")
        if kind.lower() != "bearer":
            raise Refused(401)
        try:
            # An id_token has the same issuer and keys, but is not an access token.
            if jwt.get_unverified_header(token).get("typ", "").lower() not in ("at+jwt", "application/at+jwt"):
                raise Refused(401, "invalid_token", "not an access token")
            claims = jwt.decode(
                token,
                self.keys.get_signing_key_from_jwt(token).key,
                algorithms=["ES256", "RS256", "EdDSA"],
                issuer=self.issuer,
                audience=self.audience,
                options={"require": ["iss", "aud", "exp", "iat", "sub", "client_id"]},
            )
        except PyJWKClientConnectionError as error:
            raise Refused(503, detail="the keys cannot be fetched") from error
        except jwt.PyJWTError as error:
            raise Refused(401, "invalid_token", str(error)) from error
        if scope is not None and scope not in claims.get("scope", "").split():
            raise Refused(403, "insufficient_scope", f"the token lacks the scope {scope}")
        return claims
