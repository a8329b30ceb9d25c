import { Problem } from '../errors.ts'
import { isStorableText } from '../storage/text.ts'
import type { ClientConfig } from './config.ts'

/** An app's authorization request, validated. */
export interface AppRequest {
  clientId: string
  redirectUri: string
  challenge: string
  state: string | null
}

const longestState = 1024

/** The registered apps (`login.clients` of the configuration module). */
export class Apps {
  readonly #apps: ReadonlyMap<string, ClientConfig>
  readonly #origins: ReadonlySet<string>

  constructor(clients: readonly ClientConfig[]) {
    this.#apps = new Map(clients.map((client) => [client.id, client]))
    const uris = clients.flatMap(({ redirectUris }) => redirectUris).map((uri) => new URL(uri))
    this.#origins = new Set(
      uris.filter(({ protocol }) => /^https?:$/.test(protocol)).map(({ origin }) => origin),
    )
  }

  has(id: string): boolean {
    return this.#apps.has(id)
  }

  /** Whether pages of this origin may call the token endpoint. */
  allowsOrigin(origin: string): boolean {
    return this.#origins.has(origin)
  }

  /**
   * Parses an app's authorization request from the query of GET /auth/{provider}; `undefined` when no app made it.
   * @throws Problem `invalid-parameter`. Errors are never sent to the redirect URI, which may not be registered.
   */
  parseRequest(query: Readonly<Record<string, string | undefined>>): AppRequest | undefined {
    const { client_id: clientId, redirect_uri: redirectUri, code_challenge: challenge, state } = query
    if (clientId === undefined && challenge === undefined && query['code_challenge_method'] === undefined)
      return undefined
    const client = this.#apps.get(clientId ?? '')
    if (!client) throw invalid('client_id', 'No app of this id is registered.')
    // RFC 9700, section 2.1: exact string comparison.
    if (redirectUri === undefined || !client.redirectUris.includes(redirectUri)) {
      throw invalid('redirect_uri', 'It is not registered for this app. It must match exactly.')
    }
    if (query['response_type'] !== undefined && query['response_type'] !== 'code') {
      throw invalid('response_type', 'Only `code` is supported.')
    }
    if (query['code_challenge_method'] !== 'S256') {
      throw invalid('code_challenge_method', 'Only S256 is supported: `plain` would reveal the verifier.')
    }
    if (challenge === undefined || !/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
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
}

/** The errors in `login.clients`, as messages for the operator. */
export function validateApps(clients: readonly ClientConfig[]): string[] {
  const faults: string[] = []
  const seen = new Set<string>()
  for (const { id, redirectUris, admin, managesSessions, audience } of clients) {
    if (id === '' || seen.has(id))
      faults.push(`login.clients: the id ${JSON.stringify(id)} is empty or used twice`)
    seen.add(id)
    if (redirectUris.length === 0) faults.push(`login.clients: ${id} has no redirectUris`)
    if (admin !== undefined && typeof admin !== 'boolean')
      faults.push(`login.clients: admin of ${id} must be true or false`)
    if (managesSessions !== undefined && typeof managesSessions !== 'boolean')
      faults.push(`login.clients: managesSessions of ${id} must be true or false`)
    const audiences: readonly unknown[] = Array.isArray(audience) ? audience : [audience]
    const isName = (name: unknown): boolean => typeof name === 'string' && name !== ''
    if (audience !== undefined && (audiences.length === 0 || !audiences.every(isName)))
      faults.push(`login.clients: audience of ${id} must be a string or a list of strings`)
    for (const uri of redirectUris) {
      const url = URL.canParse(uri) ? new URL(uri) : undefined
      const named = `login.clients: the redirect URI ${JSON.stringify(uri)} of ${id}`
      if (!url || url.hash !== '') faults.push(`${named} must be an absolute URL without a fragment`)
      else if (/^(javascript|data|vbscript|file|blob|about):$/.test(url.protocol))
        faults.push(`${named} must not have the scheme ${url.protocol}`)
    }
  }
  return faults
}

function invalid(parameter: string, detail: string): Problem {
  return new Problem('invalid-parameter', { parameter, detail })
}
