import { createHash } from 'node:crypto'
import { equalBytes } from '../../crypto/secrets.ts'
import { bodyDigest, headerOf, identify, kindAndAction, readObject } from './body.ts'
import { preset } from './preset.ts'
import { Fetched } from './fetched.ts'
import { isSignedBy, readJwks, readToken } from './jwt.ts'
import { type Check, checkTime, defaultTolerance, refuse, shownAt, type TimedOptions } from './scheme.ts'

export interface PlaidOptions extends TimedOptions {
  /** The client ID of the Plaid account. With `secret`, that of the environment, it fetches Plaid's keys. */
  clientId: string | undefined
  /** Default production. */
  environment?: 'production' | 'sandbox'
}

/** Names of keys are UUIDs. Anybody can send one, so the form is checked before Plaid is asked for it. */
const keyName = /^[\w-]{1,64}$/

/**
 * Plaid: `Plaid-Verification`, a JWT (ES256) with the time and the SHA-256 of the body. Its key is fetched from Plaid's API by its name, with the
 * client ID and the first secret. The type is `webhook_type.webhook_code`. Plaid sends no id and repeats bodies, so the id is
 * the digest of the signed time and the body; a retry has a new time and is a new event.
 * https://plaid.com/docs/api/webhooks/webhook-verification/
 */
export const plaid = preset<PlaidOptions>('plaid', {
  typesHaveActions: true,
  signatureHeader: 'plaid-verification',
  check: (secrets, options) => plaidCheck(secrets[0]!, options),
  read({ rawBody }, { signedAt }) {
    const body = readObject(rawBody)
    if ('rejected' in body) return body
    const { webhook_type: kind, webhook_code: code } = body.object
    return identify(bodyDigest(`${signedAt}:${rawBody.toString('latin1')}`), kindAndAction(kind, code))
  },
})

function plaidCheck(secret: string, options: PlaidOptions): Check {
  const { clientId, environment = 'production', tolerance = defaultTolerance } = options
  if (!clientId) throw new TypeError('plaid: `clientId` is missing')
  const keys = new Fetched({
    request: (name) => ({
      url: `https://${environment}.plaid.com/webhook_verification_key/get`,
      init: {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ client_id: clientId, secret, key_id: name }),
      },
    }),
    parse(text) {
      const { key } = JSON.parse(text) as { key: { expired_at?: unknown } }
      if (key.expired_at) throw new Error('the key has expired')
      return readJwks(JSON.stringify({ keys: [key] }))
    },
  })
  return ({ rawBody, headers, now }) => {
    const token = readToken(headerOf(headers, 'plaid-verification'))
    if (!token) return refuse('plaid-verification is missing, or no JWT', 'signature-missing')
    const { alg, kid } = token.header
    if (alg !== 'ES256' || typeof kid !== 'string' || !keyName.test(kid))
      return refuse('plaid-verification is not signed as Plaid does')
    const { iat, request_body_sha256: sent } = token.claims
    const digest = createHash('sha256').update(rawBody).digest('hex')
    if (typeof sent !== 'string' || !equalBytes(Buffer.from(sent), Buffer.from(digest)))
      return refuse('request_body_sha256 does not match')
    const time = checkTime(String(iat), now, tolerance)
    if ('rejected' in time) return time
    const found = keys.at(kid, now)
    if (!('value' in found)) return found
    return isSignedBy(token, found.value)
      ? shownAt(secret, time)
      : refuse('the signature of plaid-verification does not match')
  }
}
