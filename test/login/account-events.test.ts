// Events about accounts, as a subscriber gets them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { Browser, onEachEngine, type ReceivedCall, started, startReceiver } from '#test/harness/index.ts'
import { startOAuthProvider } from '#test/harness/oauth-provider.ts'
import { startEmitting, subscribe } from '../emitting/harness.ts'
import { signIn, whoAmI } from './harness.ts'

interface Sent {
  id: string
  type: string
  data: unknown
}

onEachEngine('events about accounts', (engine) => {
  const provider = started(startOAuthProvider)
  const receiver = started(startReceiver)
  const service = started(async () => {
    const env = { ...provider.env('ACME'), ...provider.env('OTHER') }
    return startEmitting(engine, { env, config: { login: { events: true } } })
  })

  test('each is delivered once, signed, with account and identity; failures cause no events', async () => {
    const { secret } = await subscribe(service, { url: receiver.url })
    const browser = new Browser()
    const be = (id: string): void =>
      void (provider.profile = { id, displayName: 'Ada', email: 'a@example.com' })
    be('ada')
    await signIn(service, browser)
    const me = (await whoAmI(service, browser))!
    const link = async (): Promise<string> => {
      const start = await browser.go(new URL('/auth/other/link', service.baseUrl), { method: 'POST' })
      const back = await browser.go(start.headers.get('location')!)
      return (await browser.go(back.headers.get('location')!)).headers.get('location')!
    }
    be('ada-too')
    assert.equal(await link(), '/dashboard')
    const gone = await browser.go(new URL('/auth/identities/other', service.baseUrl), { method: 'DELETE' })
    assert.equal(gone.status, 204)
    // Of a link that fails there is nothing to tell.
    be('bob')
    await signIn(service, new Browser(), '/auth/other')
    assert.match(await link(), /identity-taken/)
    be('ada')
    await signIn(service, browser)

    const calls = await receiver.waitFor(7)
    const sent = calls.map((call) => verified(secret, call))
    const user = { id: me.id, email: 'a@example.com', name: 'Ada', role: 'user' }
    const ofMe = sent.filter(({ data }) => (data as { user: { id: string } }).user.id === me.id)
    const told = ofMe.map(({ type, data }) => ({ type, data }))
    const expected = [
      { type: 'user.created', data: { user, identity: { provider: 'acme', providerId: 'ada' } } },
      { type: 'user.signed_in', data: { user, identity: { provider: 'acme', providerId: 'ada' } } },
      { type: 'identity.linked', data: { user, identity: { provider: 'other', providerId: 'ada-too' } } },
      { type: 'identity.unlinked', data: { user, identity: { provider: 'other', providerId: 'ada-too' } } },
      { type: 'user.signed_in', data: { user, identity: { provider: 'acme', providerId: 'ada' } } },
    ]
    // A subscriber that does not ask for order gets them in any.
    const sorted = (list: unknown[]): string[] => list.map((one) => JSON.stringify(one)).toSorted()
    assert.deepEqual(sorted(told), sorted(expected))
    assert.deepEqual(
      sent
        .filter((one) => !ofMe.includes(one))
        .map(({ type }) => type)
        .toSorted(),
      ['user.created', 'user.signed_in'],
      'those of bob',
    )
    assert.equal(new Set(sent.map(({ id }) => id)).size, 7)
    assert.equal(receiver.calls.length, 7)
  })
})

function verified(secret: string, { body, headers }: ReceivedCall): Sent {
  new Webhook(secret).verify(body, headers as Record<string, string>)
  return JSON.parse(body.toString()) as Sent
}
