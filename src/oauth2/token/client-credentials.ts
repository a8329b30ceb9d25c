import { apiFinder, type Client, identityScopes } from '../clients/client.ts'
import { RefusedClient } from '../clients/client-authentication.ts'
import type { Grant, TokenBody } from './grants.ts'

/** Tokens for an app without a user (RFC 6749, section 4.4): no refresh token and no id_token. `sub` is the app. */
export function clientCredentialsGrant(): Grant {
  return {
    credential: () => undefined,
    invalid: 'this app may not get tokens without a user',
    async exchange({ client, body }) {
      if (!client.confidential || !client.clientCredentials)
        throw new RefusedClient(
          'grant-not-allowed',
          client.id,
          'unauthorized_client',
          'this app may not get tokens without a user',
        )
      const resource = resourceOf(client, body)
      const scope = scopeOf(client, body)
      const namesApi = resource !== null || client.audience !== undefined
      if (scope === null && !namesApi && !client.firstParty) throw noScope(client)
      return { family: undefined, refreshToken: undefined, nonce: null, scope, resource }
    },
  }
}

/** All scopes of the app that are not about a user, or those of the request. Other than for users, an unknown one is refused. */
function scopeOf(client: Client, { scope }: TokenBody): string | null {
  const identity: readonly string[] = identityScopes
  const allowed = client.scopes.filter((one) => !identity.includes(one))
  const wanted = [...new Set((scope ?? '').split(' ').filter((one) => one !== ''))]
  if (!wanted.every((one) => allowed.includes(one))) throw noScope(client)
  const granted = wanted.length > 0 ? wanted : allowed
  return granted.length === 0 ? null : granted.join(' ')
}

/** @throws RefusedClient for an API that the app is not registered for */
function resourceOf({ id, audience, audiences }: Client, { resource }: TokenBody): string | null {
  if (resource === undefined) return null
  const apis = resource.split(' ').map(apiFinder([...audiences, audience ?? []].flat()))
  if (apis.includes(undefined))
    throw new RefusedClient(
      'audience-not-allowed',
      id,
      'invalid_target',
      'this app may not ask for this resource',
    )
  return [...new Set(apis)].join(' ')
}

function noScope({ id }: Client): RefusedClient {
  return new RefusedClient(
    'scope-not-allowed',
    id,
    'invalid_scope',
    'this app may not ask for this scope without a user',
  )
}
