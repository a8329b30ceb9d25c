import { isObject } from './profile.ts'

type Fetch = (url: string, init: RequestInit) => Promise<Response>

/**
 * Plain OAuth 2.0 providers answer the token request in many ways of their own: errors with status 200, forms instead
 * of JSON, no token_type, scopes as an array, an id_token that nobody asked for. What is needed of it is put into the
 * form of RFC 6749, section 5, before openid-client reads it. Bodies that cannot be read go through as they came.
 */
export function conformingTokenResponse(fetch: Fetch, tokenUrl: string): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (url !== new URL(tokenUrl).href) return response
    const text = await response.text()
    const fields = readFields(text)
    if (!fields) return new Response(text, { status: response.status, headers: response.headers })
    const { access_token: accessToken, error } = fields
    const headers = { 'content-type': 'application/json' }
    if (typeof accessToken !== 'string' || accessToken === '' || error !== undefined) {
      const code = typeof error === 'string' ? error : isObject(error) ? 'provider_error' : 'invalid_response'
      const status = response.status >= 400 && response.status < 500 ? response.status : 400
      return Response.json({ error: code.slice(0, 100) }, { status, headers })
    }
    return Response.json(
      { access_token: accessToken, token_type: 'bearer' },
      { status: response.ok ? 200 : response.status, headers },
    )
  }
}

function readFields(text: string): Record<string, unknown> | undefined {
  if (text.trimStart().startsWith('{')) {
    try {
      const parsed: unknown = JSON.parse(text)
      return isObject(parsed) ? parsed : undefined
    } catch {
      // Not JSON after all: openid-client says so.
      return undefined
    }
  }
  return /^[\w.-]+=/.test(text) ? Object.fromEntries(new URLSearchParams(text)) : undefined
}
