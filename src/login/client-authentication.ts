import type { ClientAuth, ServerMetadata } from 'openid-client'
import type { Clock } from '../runtime/clock.ts'
import type { ResolvedProvider } from './providers/resolved-provider.ts'

/**
 * How the service proves at the token endpoint that it is the registered client (RFC 6749, section 2.3): as configured,
 * as the preset has it, or as a discovery document says. One that says nothing means the header (RFC 8414, section 2).
 * Where nothing was discovered, it is the body, as the providers without such documents show it in their own pages.
 * @param discovered whether `server` was read from a discovery document.
 */
export async function clientAuthentication(
  provider: ResolvedProvider,
  server: ServerMetadata,
  clock: Clock,
  discovered: boolean,
): Promise<ClientAuth> {
  const { ClientSecretPost, None } = await import('openid-client')
  const { clientSecret, clientId, own, tokenAuth, quirks } = provider
  const { signedSecret } = quirks
  if (clientSecret === undefined && signedSecret !== undefined) {
    return (_server, _client, body) => {
      body.set('client_id', clientId)
      body.set('client_secret', signedSecret.sign(own, clientId, clock.now()))
    }
  }
  if (clientSecret === undefined) return None()
  const { token_endpoint_auth_methods_supported: supported = [] } = server
  const method = tokenAuth ?? (discovered && !supported.includes('client_secret_post') ? 'basic' : 'post')
  return method === 'post' ? ClientSecretPost(clientSecret) : basic(clientId, clientSecret)
}

/**
 * The header. RFC 6749 wants id and secret form-encoded; many providers do not decode them, so what needs no encoding
 * is left as it is (openid-client's own encodes `-` and `_` too, which those providers would then not know).
 */
function basic(clientId: string, clientSecret: string): ClientAuth {
  const credentials = [clientId, clientSecret].map(formEncoded).join(':')
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  return (_server, _client, _body, headers) => headers.set('authorization', authorization)
}

function formEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll('%20', '+')
}
