import { errorOfResponse } from './errors.ts'
import { readObject, send, type Fetch } from './http.ts'

/** The answer of the token endpoint (RFC 6749, section 5.1). */
interface TokenAnswer {
  access_token: string
  expires_in?: number
  refresh_token?: string
  id_token?: string
  scope?: string
}

export interface Tokens {
  accessToken: string
  /** Milliseconds since 1970. */
  expiresAt: number
  refreshToken?: string
  idToken?: string
  /** The scopes that were granted, where the service names them. */
  scope?: string
}

/** Seconds that an access token is taken to live when the service does not say. */
const unknownLifetime = 60

/** A request to an OAuth endpoint, in the name of a public client. @throws PosternError with the code of OAuth */
export function postForm<T extends object>(
  address: string,
  fields: Readonly<Record<string, string | undefined>>,
  options: { fetch?: Fetch | undefined; timeout: number; signal?: AbortSignal | undefined },
): Promise<T> {
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) body.set(name, value)
  const init: RequestInit = { method: 'POST', body, headers: { accept: 'application/json' } }
  if (options.signal) init.signal = options.signal
  return send(address, init, options, async (response) => {
    if (response.status !== 200) throw await errorOfResponse(response)
    return readObject<T>(response)
  })
}

/** Exchanges a grant for tokens. Their life counts from the request, so that a slow answer does not lengthen it. */
export async function requestTokens(
  ...[address, fields, options]: Parameters<typeof postForm>
): Promise<Tokens> {
  const sentAt = Date.now()
  const answer = await postForm<TokenAnswer>(address, fields, options)
  return {
    accessToken: answer.access_token,
    expiresAt: sentAt + (answer.expires_in ?? unknownLifetime) * 1000,
    ...(answer.refresh_token !== undefined && { refreshToken: answer.refresh_token }),
    ...(answer.id_token !== undefined && { idToken: answer.id_token }),
    ...(answer.scope !== undefined && { scope: answer.scope }),
  }
}
