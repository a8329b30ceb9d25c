import type { OAuth2Services } from './services.ts'
import { Type } from 'typebox'
import { scopes as apiScopes } from '../http/access/principal.ts'
import type { App } from '../http/app.ts'
import { languageTags } from '../http/pages/language/languages.ts'
import {
  publicDocument,
  publicDocumentHeaders,
  publicDocumentPreflights,
} from '../http/responses/cross-origin.ts'
import { noContext, prompts, responseModes } from './authorize/request-parameters.ts'
import { assertionAlgorithms } from './clients/client-assertions.ts'
import { authenticationMethods, identityScopes, signingAlgorithms } from './clients/client.ts'
import { claimsByScope } from './token/id-tokens.ts'

/** Seconds that clients may cache the document. */
const maxAge = 300

/** The names of endpoints (RFC 8414, section 2, and the specifications of each), and their routes. */
const endpoints = {
  authorization_endpoint: ['GET', '/oauth2/authorize'],
  token_endpoint: ['POST', '/oauth2/token'],
  userinfo_endpoint: ['GET', '/oauth2/userinfo'],
  jwks_uri: ['GET', '/.well-known/jwks.json'],
  pushed_authorization_request_endpoint: ['POST', '/oauth2/par'],
  introspection_endpoint: ['POST', '/oauth2/introspect'],
  revocation_endpoint: ['POST', '/oauth2/revoke'],
  device_authorization_endpoint: ['POST', '/oauth2/device_authorization'],
  registration_endpoint: ['POST', '/oauth2/register'],
  end_session_endpoint: ['GET', '/oauth2/end-session'],
} as const

/** Clients authenticate in the same ways at each of these. */
const authenticated = ['token', 'introspection', 'revocation'] as const

/**
 * GET /.well-known/openid-configuration (OpenID Connect Discovery 1.0) and /.well-known/oauth-authorization-server (RFC 8414):
 * where everything is and what is supported. It names only endpoints that exist.
 */
export function discoveryRoutes(app: App, services: OAuth2Services): void {
  const paths = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']
  // RFC 8414, section 3.1: the path of the issuer comes last. A proxy that has the whole host passes such a request on unchanged.
  const withPath = app.basePath === '' ? [] : paths.map((path) => path + app.basePath)
  for (const path of [...paths, ...withPath]) {
    publicDocumentPreflights(app, path)
    app.get(
      path,
      {
        config: publicDocument,
        schema: {
          tags: ['sign-in'],
          hide: withPath.includes(path),
          summary: 'The metadata of the OpenID Provider',
          response: { 200: Type.Object({ issuer: Type.String() }, { additionalProperties: true }) },
        },
      },
      async (_request, reply) => {
        reply.headers({ 'cache-control': `public, max-age=${maxAge}`, ...publicDocumentHeaders })
        return metadata(app, services)
      },
    )
  }
}

function metadata(app: App, { baseUrl, grants, clients }: OAuth2Services) {
  const issuer = baseUrl()
  const existing = Object.entries(endpoints).filter(([, [method, url]]) => app.hasRoute({ method, url }))
  const methods = authenticated.flatMap((name) => [
    // A public client may not ask about tokens.
    [
      `${name}_endpoint_auth_methods_supported`,
      authenticationMethods.filter((method) => method !== 'none' || name !== 'introspection'),
    ],
    [`${name}_endpoint_auth_signing_alg_values_supported`, assertionAlgorithms],
  ])
  const claims = Object.values(claimsByScope).flat()
  return {
    issuer,
    ...Object.fromEntries(existing.map(([name, [, url]]) => [name, issuer + url])),
    ...Object.fromEntries(methods),
    response_types_supported: ['code'],
    response_modes_supported: responseModes,
    grant_types_supported: [...grants.keys()],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: signingAlgorithms,
    scopes_supported: [...identityScopes, ...Object.keys(apiScopes), ...clients.reach.scopes],
    claims_supported: [
      'iss',
      'sub',
      'aud',
      'exp',
      'iat',
      'auth_time',
      'nonce',
      'sid',
      'at_hash',
      'acr',
      'amr',
      ...claims,
    ],
    ui_locales_supported: languageTags,
    prompt_values_supported: prompts,
    code_challenge_methods_supported: ['S256'],
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: clients.documents !== undefined,
    claims_parameter_supported: true,
    // The identity providers' own values work, too, but are not known here.
    acr_values_supported: [noContext],
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  }
}
