// What a refusal of GET /auth/forward tells: its readers are operators of proxies and people in front of an application, who send no
// credentials of an API.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines } from '#test/harness/engines.ts'
import { GuardedSite } from './harness.ts'

const app = 'app.example.com'

describe('the advice of refusals', () => {
  const site = new GuardedSite(
    engines[0]!,
    (ownHost) => ({
      hosts: {
        [ownHost]: { allow: 'signed-in', paths: { '/admin/*': { roles: ['admin'] } } },
        [app]: { allow: 'signed-in' },
      },
    }),
    { RATE_LIMIT: 'on' },
  )

  async function adviceOf(answer: Response, status: number): Promise<string> {
    assert.equal(answer.status, status)
    const { advice } = (await answer.json()) as { advice: string }
    assert.doesNotMatch(advice, /credential|Authorization|Bearer/)
    return advice
  }

  test('to a proxy that asks in a wrong way', async () => {
    const unknown = await site.ask(undefined, 'unknown.example.com', '/')
    assert.match(await adviceOf(unknown, 403), /^Add the host to forwardAuth\.hosts/)
    const unreadable = await site.ask(undefined, app, '/', { headers: { 'x-forwarded-uri': 'x' } })
    assert.match(await adviceOf(unreadable, 403), /configuration of the proxy/)
    const guarded = await site.ask(undefined, app, '/.postern/start')
    assert.match(await adviceOf(guarded, 403), /pass \/\.postern\/ of this host on to Postern/)
    const headers = { 'x-forwarded-host': 'unknown.example.com' }
    const start = await site.service.fetch('/.postern/start', { headers })
    assert.match(await adviceOf(start, 403), /^Add the host to forwardAuth\.hosts/)
  })

  test('to a person without a session, and to one whom no rule lets pass', async () => {
    const signedOut = await site.ask(undefined, app, '/logo.png')
    assert.match(await adviceOf(signedOut, 401), new RegExp(`^Open http://${app}/ in the browser to sign in`))
    const ann = await site.signedIn('ann')
    assert.match(await adviceOf(await site.ask(ann, site.ownHost, '/admin/x'), 403), /another account/)
  })

  test('to an address with too many invalid cookies', async () => {
    site.stoppedAt = 1_900_000_000_000
    let answer: Response | undefined
    for (let count = 0; count < 700; count += 1) {
      const cookie = `postern_session=${String(count).padStart(43, 'x')}`
      answer = await site.ask(undefined, site.ownHost, '/', { headers: { cookie } })
      if (answer.headers.has('retry-after')) break
    }
    assert.match(await adviceOf(answer!, 401), /^Wait/)
  })
})

describe('the advice to a caller that is no trusted proxy', () => {
  const site = new GuardedSite(engines[0]!, (host) => ({ hosts: { [host]: { allow: 'signed-in' } } }), {
    TRUSTED_PROXIES: '192.0.2.1',
  })

  test('names the setting', async () => {
    const { advice } = (await (await site.ask(undefined, site.ownHost, '/')).json()) as { advice: string }
    assert.match(advice, /TRUSTED_PROXIES/)
  })
})
