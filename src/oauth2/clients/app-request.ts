import { Problem } from '../../errors.ts'
import { isStorableText } from '../../storage/text.ts'
import { allowsRedirect, type Client } from './client.ts'

/** An app's request at GET /auth/{provider}, validated. */
export interface AppRequest {
  clientId: string
  redirectUri: string
  challenge: string
  state: string | null
}

/** Characters of `state` and `nonce` at most. */
const longestState = 1024

type Query = Readonly<Record<string, string | undefined>>

/** Whether an app made this request for GET /auth/{provider}. */
export function isAppRequest(query: Query): boolean {
  return ['client_id', 'code_challenge', 'code_challenge_method'].some((name) => query[name] !== undefined)
}

/**
 * Validates an app's request at GET /auth/{provider}.
 * @throws Problem `invalid-parameter`. Errors are never sent to the redirect URI, which may not be registered.
 */
export function parseAppRequest(client: Client | undefined, query: Query): AppRequest {
  const { redirect_uri: redirectUri, code_challenge: challenge, state } = query
  if (!client) throw invalid('client_id', 'No app with this ID is registered.')
  if (!client.firstParty)
    throw invalid('client_id', 'This app needs the consent of its users: it signs in at /oauth2/authorize.')
  if (redirectUri === undefined || !allowsRedirect(client, redirectUri)) {
    throw invalid('redirect_uri', 'It is not registered for this app. It must match exactly.')
  }
  if (query['response_type'] !== undefined && query['response_type'] !== 'code') {
    throw invalid('response_type', 'Only `code` is supported.')
  }
  if (query['code_challenge_method'] !== 'S256') {
    throw invalid('code_challenge_method', 'Only S256 is supported: `plain` would reveal the verifier.')
  }
  if (!isChallenge(challenge)) {
    throw invalid(
      'code_challenge',
      'Send the base64url of the SHA-256 of the verifier (RFC 7636, section 4.2).',
    )
  }
  if (state !== undefined && (state.length > longestState || !isStorableText(state))) {
    throw invalid('state', `Send at most ${longestState} characters of text.`)
  }
  return { clientId: client.id, redirectUri, challenge, state: state ?? null }
}

/** Whether a text has the form of an S256 challenge (RFC 7636, section 4.2). */
export function isChallenge(text: string | undefined): text is string {
  return text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text)
}

function invalid(parameter: string, detail: string): Problem {
  return new Problem('invalid-parameter', { parameter, detail })
}
