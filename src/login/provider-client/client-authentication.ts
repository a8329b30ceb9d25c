import type { ClientAuth, ServerMetadata } from 'openid-client'
import type { Clock } from '../../runtime/clock.ts'
import type { ResolvedProvider } from '../providers/resolved-provider.ts'

/**
 * The client authentication at the token endpoint (RFC 6749, section 2.3): as configured, as in the preset, or as in the
 * discovery document. A document without `token_endpoint_auth_methods_supported` means the header (RFC 8414, section 2).
 * Without a document it is the body, as providers without discovery document it.
 * @param discovered whether `server` was read from a discovery document.
 */
export async function clientAuthentication(
  provider: ResolvedProvider,
  server: ServerMetadata,
  clock: Clock,
  discovered: boolean,
): Promise<ClientAuth> {
  const { ClientSecretPost, None } = await import('openid-client')
  const { clientSecret, clientId, presetSetting, tokenAuth, quirks } = provider
  const { signedSecret } = quirks
  if (clientSecret === undefined && signedSecret !== undefined) {
    return (_server, _client, body) => {
      body.set('client_id', clientId)
      body.set('client_secret', signedSecret.sign(presetSetting, clientId, clock.now()))
    }
  }
  if (clientSecret === undefined) return None()
  const { token_endpoint_auth_methods_supported: supported = [] } = server
  const method = tokenAuth ?? (discovered && !supported.includes('client_secret_post') ? 'basic' : 'post')
  return method === 'post' ? ClientSecretPost(clientSecret) : basic(clientId, clientSecret)
}

/**
 * HTTP Basic. RFC 6749 requires form-encoding of id and secret, but many providers do not decode them. So only characters
 * that need it are encoded; openid-client also encodes `-` and `_`, which fails at these providers.
 */
function basic(clientId: string, clientSecret: string): ClientAuth {
  const credentials = [clientId, clientSecret].map(formEncoded).join(':')
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  return (_server, _client, _body, headers) => headers.set('authorization', authorization)
}

function formEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll('%20', '+')
}
