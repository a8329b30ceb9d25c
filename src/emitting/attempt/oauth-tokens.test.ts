import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { after, test } from 'node:test'
import { listening } from '#test/harness/listening.ts'
import type { Resolve } from '../../network/guarded-connector.ts'
import { createOutboundAgent } from '../../network/exchange.ts'
import { AbortBroadcast } from '../../runtime/abort-broadcast.ts'
import { systemClock } from '../../runtime/clock.ts'
import { OAuthTokens } from './oauth-tokens.ts'
import { sendWithToken } from './special-endpoint.ts'

const resolve: Resolve = (host, callback) =>
  setImmediate(() =>
    host === 'private.test'
      ? callback(null, [{ address: '10.0.0.1', family: 4 }])
      : callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []),
  )

function tokensFrom(tokenUrl: string, { owned = false, allowPrivateNetwork = false } = {}) {
  const agent = createOutboundAgent({ allowPrivateNetwork, ...(!allowPrivateNetwork && { resolve }) })
  after(() => agent.destroy())
  const client = { tokenUrl, clientId: 'a:b', clientSecret: 'c d' }
  return { agent, tokens: new OAuthTokens({ client, agent, owned, clock: systemClock }) }
}

async function serve(listener: RequestListener): Promise<string> {
  const { url, close } = await listening(createServer(listener))
  after(close)
  return `${url}/`
}

test('a token endpoint that resolves to a private address is not called, and an owner cannot tell it from an unknown name', async () => {
  const failureOf = async (host: string, owned: boolean): Promise<unknown> =>
    tokensFrom(`https://${host}/token`, { owned }).tokens.get()
  const [hidden, unknown] = [await failureOf('private.test', true), await failureOf('unknown.test', true)]
  assert.deepEqual(hidden, unknown)
  assert.deepEqual(hidden, {
    failure: {
      kind: 'token-failed',
      message: 'no access token: the host name does not resolve to a public address',
    },
  })
  assert.match(JSON.stringify(await failureOf('private.test', false)), /10\.0\.0\.1/)
})

test('concurrent attempts share a request; a token that has expired is replaced', async () => {
  const authorizations: (string | undefined)[] = []
  const url = await serve((request, response) => {
    authorizations.push(request.headers.authorization)
    response.end(JSON.stringify({ access_token: `t${authorizations.length}`, expires_in: 0 }))
  })
  const { tokens } = tokensFrom(url, { allowPrivateNetwork: true })
  const got = await Promise.all(Array.from({ length: 20 }, () => tokens.get()))
  assert.deepEqual(new Set(got.map((one) => JSON.stringify(one))).size, 1)
  assert.equal(authorizations.length, 1)
  // RFC 6749, section 2.3.1: both are form-encoded before they are joined by a colon.
  assert.equal(authorizations[0], `Basic ${Buffer.from('a%3Ab:c+d').toString('base64')}`)
  assert.deepEqual(await tokens.get(), { token: 't2', fresh: true })
})

test('an attempt does not wait for a token longer than its own time, and ends when it is cut', async () => {
  const url = await serve(() => undefined)
  const { tokens, agent } = tokensFrom(url, { allowPrivateNetwork: true })
  const request = {
    origin: url.slice(0, -1),
    path: '/',
    method: 'POST',
    headers: {},
    body: null,
    responseLimit: 1,
  }
  const send = (timeout: number, cut: AbortBroadcast) =>
    sendWithToken(tokens, agent, request, { clock: systemClock, timeout }, cut)
  const late = await send(50, new AbortBroadcast())
  assert.deepEqual(late, { failure: { kind: 'token-failed', message: 'no access token within 0.05 s' } })
  const cut = new AbortBroadcast()
  const ended = assert.rejects(send(60_000, cut), /stop/)
  cut.abort(new Error('stop'))
  await ended
})
