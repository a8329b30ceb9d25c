// An app that registered itself wants this service to lead people to its address (RFC 9700, section 4.11.2).
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Browser, engines, started, startedService } from '#test/harness/index.ts'
import { newPkce } from '../login/harness.ts'
import { postForm, signInApp } from '../oauth2/app-sessions.ts'
import { authorizeUrl, callback, hiddenFields } from '../oauth2/harness.ts'
import { browserOf, signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

const bye = 'https://app.example.com/bye'

type Fields = Record<string, string>

describe('apps that registered themselves as open redirectors', () => {
  const provider = started(() => startHonestProvider({ openid: true }))
  const service = startedService(engines[0]!, () => ({
    env: {
      ...provider.env('ACME'),
      ...provider.env('OTHER'),
      OTHER_END_SESSION: 'on',
      CLIENT_REGISTRATION: 'open',
    },
    config: { login: { clients: [{ id: 'spa', redirectUris: [callback] }] } },
  }))
  let app: { id: string; secret: string }
  before(async () => {
    const answer = await service.fetch('/oauth2/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Your <bank>',
        redirect_uris: [callback],
        post_logout_redirect_uris: [bye],
      }),
    })
    const made = (await answer.json()) as Fields
    app = { id: made['client_id']!, secret: made['client_secret']! }
  })

  const signedIn = (person: string): Promise<Browser> => browserOf(service, provider, person)
  const ask = (browser: Browser, more: Record<string, string | undefined>): Promise<Response> =>
    browser.go(authorizeUrl(service, { client_id: app.id, ...more }, newPkce()))
  const consent = async (browser: Browser, decision: 'allow' | 'deny', more: Fields = {}) => {
    const html = await (await ask(browser, more)).text()
    return postForm(service, browser, '/oauth2/consent', { ...hiddenFields(html), decision })
  }
  const endSession = (browser: Browser, query: Fields): Promise<Response> =>
    browser.go(new URL(`/oauth2/end-session?${new URLSearchParams(query).toString()}`, service.baseUrl))

  /** The browser stays, on a page with a link to the address that the person can read. Returns the link. */
  async function assertAsks(answer: Response): Promise<URL> {
    const page = await answer.text()
    assert.equal(answer.status, 200, page)
    assert.equal(answer.headers.get('refresh'), null)
    assert.doesNotMatch(page, /<script|http-equiv|<bank>/)
    const link = /<a [^>]*href="(https:[^"]*)">Continue to app\.example\.com</.exec(page)?.[1]
    assert.ok(link, page)
    return new URL(link.replaceAll('&amp;', '&'))
  }

  const erroneous: [name: string, more: Record<string, string | undefined>, error: string][] = [
    ['an invalid scope', { scope: 'nothing' }, 'invalid_scope'],
    ['an unknown response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no challenge method', { code_challenge_method: undefined }, 'invalid_request'],
    ['an unknown provider', { provider: 'nobody', prompt: 'login' }, 'invalid_request'],
  ]
  for (const [name, more, error] of erroneous)
    test(`a request with ${name} leads nobody there without a click`, async () => {
      for (const browser of [new Browser(), await signedIn('visitor')]) {
        const link = await assertAsks(await ask(browser, more))
        assert.equal(`${link.origin}${link.pathname}`, callback)
        const { searchParams } = link
        assert.deepEqual(
          [searchParams.get('error'), searchParams.get('state'), searchParams.get('iss')],
          [error, 'the-state', service.baseUrl],
        )
      }
    })

  test('a silent request leads there only for a person who has allowed the app', async () => {
    await assertAsks(await ask(new Browser(), { prompt: 'none' }))
    await assertAsks(await ask(await signedIn('silent'), { prompt: 'none' }))
  })

  test('an answer by a form waits for its button', async () => {
    const answer = await ask(new Browser(), { scope: 'nothing', response_mode: 'form_post' })
    const page = await answer.text()
    assert.equal(answer.status, 200, page)
    assert.doesNotMatch(page, /<script/)
    assert.match(page, /<form method="post" action="https:\/\/app\.example\.com\/callback">/)
    assert.match(page, /name="error" value="invalid_scope"/)
    assert.match(page, /<button[^>]*>Continue to app\.example\.com</)
  })

  test('a person who does not allow the app is not sent there either', async () => {
    const link = await assertAsks(await consent(await signedIn('denies'), 'deny'))
    assert.equal(link.searchParams.get('error'), 'access_denied')
  })

  test('a person who has allowed the app is led back with errors, in this session only', async () => {
    const browser = await signedIn('allows')
    const allowed = await consent(browser, 'allow')
    assert.match(allowed.headers.get('refresh')!, /^0;url=https:\/\/app\.example\.com\/callback\?code=/)
    for (const more of [{ scope: 'nothing' }, { prompt: 'none', scope: 'openid email' }]) {
      const answer = await ask(browser, more)
      assert.equal(answer.status, 303)
      assert.match(answer.headers.get('location')!, /^https:\/\/app\.example\.com\/callback\?error=/)
    }
    const denied = await consent(browser, 'deny', { prompt: 'consent' })
    assert.match(denied.headers.get('refresh')!, /error=access_denied/)
    await assertAsks(await ask(await signedIn('somebody-else'), { scope: 'nothing' }))
  })

  test('a link to the sign-out leads nobody there without a click', async () => {
    const there = { client_id: app.id, post_logout_redirect_uri: bye, state: 's' }
    assert.equal((await assertAsks(await endSession(new Browser(), there))).href, `${bye}?state=s`)
    const browser = await signedIn('leaves')
    assert.match(await (await endSession(browser, there)).text(), /Sign out\?/)
    await assertAsks(await postForm(service, browser, '/oauth2/end-session/confirm', there))
  })

  test('an id_token of the attacker does not help, one of the session leads back', async () => {
    const browser = await signedIn('attacker')
    await consent(browser, 'allow')
    const { idToken } = await signInApp(service, browser, app)
    const there = { id_token_hint: idToken, post_logout_redirect_uri: bye }
    await assertAsks(await endSession(new Browser(), there))
    assert.equal((await endSession(browser, there)).headers.get('location'), bye)
  })

  test('nor does the sign-out of the attacker, which goes on at the provider', async () => {
    const browser = new Browser()
    await signInAs(service, browser, provider, 'attacker', '/auth/other')
    await consent(browser, 'allow')
    const form = { client_id: app.id, post_logout_redirect_uri: bye }
    const confirmed = await postForm(service, browser, '/oauth2/end-session/confirm', form)
    const atProvider = new URL(confirmed.headers.get('refresh')!.replace(/^0;url=/, ''))
    assert.equal(atProvider.origin, provider.url)
    const back = new URL(atProvider.searchParams.get('post_logout_redirect_uri')!)
    back.searchParams.set('state', atProvider.searchParams.get('state')!)
    assert.equal((await assertAsks(await new Browser().go(back))).href, bye)
    const other = await (await signedIn('victim')).go(back)
    assert.equal(other.headers.get('location'), '/login', 'nobody who has a session is signed out')
  })

  test('an app of the configuration, and one that an admin made first-party, get their errors at once', async () => {
    const errorOf = async (id: string): Promise<string | null> =>
      (await ask(new Browser(), { client_id: id, scope: 'nothing' })).headers.get('location')
    assert.match((await errorOf('spa'))!, /error=invalid_scope/)
    assert.equal(await errorOf(app.id), null)
    const change = { method: 'PATCH', json: { firstParty: true } }
    assert.equal((await service.admin(`/clients/${app.id}`, change)).status, 200)
    assert.match((await errorOf(app.id))!, /error=invalid_scope/)
  })
})
