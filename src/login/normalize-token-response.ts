import { isObject } from './profile.ts'

/**
 * Providers answer the token request in many ways of their own: errors with status 200, as objects or by a `message`,
 * forms instead of JSON, no token_type or an odd one, scopes as an array, empty refresh tokens, an id_token that nobody
 * asked for. What is needed of it is put into the form of RFC 6749, section 5, before openid-client reads it. Bodies
 * that cannot be read go through as they came, and so does what a provider says when it is in trouble itself.
 */
export async function normalizeTokenResponse(
  response: Response,
  { idToken }: { /** Whether one was asked for. */ idToken: boolean },
): Promise<Response> {
  const text = await response.text()
  const fields = response.status >= 500 || response.status === 429 ? undefined : readFields(text)
  if (!fields) return new Response(text, { status: response.status, headers: response.headers })
  const { access_token: accessToken, error } = fields
  if (typeof accessToken !== 'string' || accessToken === '' || (error !== undefined && error !== null)) {
    const code = typeof error === 'string' ? error : isObject(error) ? 'provider_error' : 'invalid_response'
    const status = response.status >= 400 ? response.status : 400
    return Response.json({ error: code.slice(0, 100) }, { status })
  }
  const { id_token: id, refresh_token: refreshToken, expires_in: expiresIn, scope } = fields
  const scopes: unknown = Array.isArray(scope) ? scope.join(' ') : scope
  const seconds = typeof expiresIn === 'string' && /^\d+$/.test(expiresIn) ? Number(expiresIn) : expiresIn
  return Response.json(
    {
      access_token: accessToken,
      token_type: 'bearer',
      ...(idToken && id !== undefined && { id_token: id }),
      ...(typeof refreshToken === 'string' && refreshToken !== '' && { refresh_token: refreshToken }),
      ...(typeof seconds === 'number' && seconds > 0 && { expires_in: seconds }),
      ...(typeof scopes === 'string' && { scope: scopes }),
    },
    { status: response.status },
  )
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
