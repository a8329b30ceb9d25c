// Group 7: what a forged id_token could look like, beside the forgeries in test/login/openid.test.ts.
import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import {
  base64url,
  CompactEncrypt,
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWTHeaderParameters,
  type JWTPayload,
} from 'jose'
import { Browser, engines, started, startedService } from '#test/harness/index.ts'
import { forgedClient, startOpenIdForger } from '#test/harness/openid-forger.ts'
import { assertFails, signIn, upToCallback, whoAmI } from '../login/harness.ts'

describe('forged id_tokens', () => {
  let mine: { publicKey: CryptoKey; privateKey: CryptoKey }
  let published: Record<string, unknown>
  /** Where headers of tokens try to lead; nobody may come. */
  const trap = createServer((_request, response) => void response.end('{"keys":[]}'))
  let trapUrl: string
  let trapped = 0
  const forger = started(startOpenIdForger)
  const service = startedService(engines[0]!, () => ({ env: forger.env('ACME') }))
  before(async () => {
    mine = await generateKeyPair('ES256', { extractable: true })
    trap.on('request', () => (trapped += 1))
    await new Promise<void>((listening) => trap.listen(0, '127.0.0.1', listening))
    trapUrl = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/jwks`
    const jwks = (await (await fetch(`${forger.issuer}/jwks`)).json()) as { keys: Record<string, unknown>[] }
    published = jwks.keys[0]!
  })
  beforeEach(() => {
    forger.claims = (claims) => claims
    forger.sign = undefined
  })
  after(() => void trap.close())

  async function isRefused(): Promise<void> {
    const browser = new Browser()
    await assertFails(service, browser, await upToCallback(service, browser), 'provider-answer-invalid')
  }
  /** Signed by the attacker's own key, which a header may try to bring along. */
  const bySelf = (header: Omit<JWTHeaderParameters, 'alg'>) => async (claims: JWTPayload) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', ...header }).sign(mine.privateKey)
  const encode = (value: unknown): string => base64url.encode(JSON.stringify(value))

  test('keys and key addresses in the token itself are ignored', async () => {
    const jwk = await exportJWK(mine.publicKey)
    const headers: Omit<JWTHeaderParameters, 'alg'>[] = [
      { jwk },
      { jwk, kid: 'k1' },
      { jku: trapUrl },
      { jku: trapUrl, kid: 'k1' },
      { x5u: trapUrl, kid: 'k1' },
      { x5c: ['AAAA'], kid: 'k1' },
      { kid: `../../${trapUrl}` },
      { kid: "' or 1=1 --" },
      { kid: '\0' },
    ]
    for (const header of headers) {
      forger.sign = bySelf(header)
      await isRefused()
    }
    assert.equal(trapped, 0)
  })

  test('an HMAC with the published key as secret is refused', async () => {
    const key = createPublicKey({ key: published, format: 'jwk' })
    const spellings = [
      JSON.stringify(published),
      key.export({ type: 'spki', format: 'pem' }),
      key.export({ type: 'spki', format: 'der' }),
      String(published['x']),
    ]
    for (const secret of spellings) {
      forger.sign = async (claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(Buffer.from(secret))
      await isRefused()
    }
  })

  const signatures: [name: string, token: (claims: JWTPayload) => Promise<string>][] = [
    [
      'a signature of zeros',
      async (claims) => {
        const parts = [encode({ alg: 'ES256', kid: 'k1' }), encode(claims)]
        return [...parts, base64url.encode(new Uint8Array(64))].join('.')
      },
    ],
    ['no signature', async (claims) => `${encode({ alg: 'ES256', kid: 'k1' })}.${encode(claims)}.`],
    ['alg none in capitals', async (claims) => `${encode({ alg: 'NONE' })}.${encode(claims)}.`],
    ['alg None', async (claims) => `${encode({ alg: 'None' })}.${encode(claims)}.`],
    ['no alg', async (claims) => `${encode({ kid: 'k1' })}.${encode(claims)}.AA`],
    ['alg as a list', async (claims) => `${encode({ alg: ['ES256'], kid: 'k1' })}.${encode(claims)}.AA`],
    ['a header that is no JSON', async (claims) => `e30x.${encode(claims)}.AA`],
    ['four parts', async (claims) => `${encode({ alg: 'ES256' })}.${encode(claims)}.AA.AA`],
    ['claims that are a list', async () => `${encode({ alg: 'ES256', kid: 'k1' })}.${encode([])}.AA`],
    [
      'an encrypted one',
      async (claims) =>
        new CompactEncrypt(Buffer.from(JSON.stringify(claims)))
          .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
          .encrypt(new Uint8Array(32)),
    ],
  ]
  for (const [name, token] of signatures) {
    test(`an id_token with ${name} is refused`, async () => {
      forger.sign = token
      await isRefused()
    })
  }

  const claims: [name: string, change: (claims: JWTPayload) => JWTPayload][] = [
    ['without an issuer', ({ iss: _iss, ...rest }) => rest],
    ['without an audience', ({ aud: _aud, ...rest }) => rest],
    ['without an end', ({ exp: _exp, ...rest }) => rest],
    ['without a time of issue', ({ iat: _iat, ...rest }) => rest],
    ['with an empty audience', (all) => ({ ...all, aud: [] })],
    ['for several clients, not saying for which', (all) => ({ ...all, aud: [forgedClient.id, 'x'] })],
    ['with an end in words', (all) => ({ ...all, exp: '2999-01-01' as unknown as number })],
    ['with the issuer as a list', (all) => ({ ...all, iss: [String(all.iss)] as unknown as string })],
    ['with an issuer of a slash more', (all) => ({ ...all, iss: `${String(all.iss)}/` })],
    ['with a subject that is a number', (all) => ({ ...all, sub: 7 as unknown as string })],
    ['with an empty subject', (all) => ({ ...all, sub: '' })],
    ['with a subject that is a list', (all) => ({ ...all, sub: ['subject-1'] as unknown as string })],
    ['with the nonce as a list', (all) => ({ ...all, nonce: [all['nonce']] })],
    ['with an empty nonce', (all) => ({ ...all, nonce: '' })],
  ]
  for (const [name, change] of claims) {
    test(`an id_token ${name} is refused`, async () => {
      forger.claims = change
      await isRefused()
    })
  }

  for (const sub of ['subject\0', 'x'.repeat(300)]) {
    test(`a subject that cannot be stored (${JSON.stringify(sub.slice(0, 10))}…) is refused`, async () => {
      forger.claims = (all) => ({ ...all, sub })
      const { userinfo } = forger
      forger.userinfo = { ...userinfo, sub }
      await isRefused()
      forger.userinfo = userinfo
    })
  }

  test('the replayed token response of an earlier sign-in is refused', async () => {
    let kept: JWTPayload = {}
    forger.claims = (all) => (kept = all)
    assert.equal(await signIn(service, new Browser()), '/dashboard')
    forger.claims = () => kept
    await isRefused()
  })

  test('the subject of the id_token is the id, not the id in the profile', async () => {
    const { userinfo } = forger
    forger.userinfo = { ...userinfo, id: 'somebody-else', name: 'Mallory' }
    const browser = new Browser()
    await signIn(service, browser)
    forger.userinfo = userinfo
    const again = new Browser()
    await signIn(service, again)
    assert.equal((await whoAmI(service, browser))!.id, (await whoAmI(service, again))!.id)
  })
})
