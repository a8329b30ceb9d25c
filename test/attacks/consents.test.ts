// Apps of others, and sites that want a person's consent without the person.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Browser, onEachEngine, rowsOf, started, startedService } from '#test/harness/index.ts'
import { newPkce } from '../login/harness.ts'
import { lastAudit, postForm, sessionOf } from '../oauth2/app-sessions.ts'
import { authorizeUrl, callback, hiddenFields } from '../oauth2/harness.ts'
import { assertProblem, browserOf, signInAs } from './harness.ts'
import { startHonestProvider } from './honest-provider.ts'

const others = { firstParty: false, redirectUris: [callback] }
const clients = [
  { id: 'forum', name: 'Forum', ...others },
  { id: 'evil', name: 'Evil', ...others },
  {
    id: 'native',
    firstParty: false,
    redirectUris: ['http://127.0.0.1/callback', 'com.example.native:/callback'],
  },
  {
    id: 'biller',
    name: 'Biller',
    ...others,
    audience: 'https://bills.example',
    audiences: ['https://notes.example'],
  },
]
type Fields = Record<string, string>

onEachEngine('attacks on consents', (engine) => {
  const provider = started(startHonestProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    config: { login: { clients } },
  }))

  const signedIn = (person: string): Promise<Browser> => browserOf(service, provider, person)
  /** The page of consent, and the fields of its form. */
  async function ask(
    browser: Browser,
    clientId: string,
    scope = 'openid',
  ): Promise<{ page: Response; fields: Fields }> {
    const page = await browser.go(authorizeUrl(service, { client_id: clientId, scope }, newPkce()))
    const html = await page.clone().text()
    assert.equal(page.status, 200, html)
    return { page, fields: hiddenFields(html) }
  }
  const send = (browser: Browser, fields: Fields, headers: Fields = {}): Promise<Response> =>
    postForm(service, browser, '/oauth2/consent', { ...fields, decision: 'allow' }, headers)
  const consentsOf = async (browser: Browser): Promise<[string, string][]> => {
    const { userId } = (await sessionOf(service, browser))!
    const rows = await rowsOf(service, 'consents', { user_id: userId })
    return rows.map(({ client_id: id, scope }) => [id, scope])
  }
  /** The form is refused and recorded, and nothing was allowed. */
  async function assertRefused(browser: Browser, fields: Fields, clientId = 'forum'): Promise<void> {
    const before = await consentsOf(browser)
    await assertProblem(await send(browser, fields), 400, 'invalid-parameter')
    const entry = await lastAudit(service, 'app.refused')
    const { userId } = (await sessionOf(service, browser))!
    assert.deepEqual(
      [entry?.code, entry?.target, entry?.actor],
      ['invalid-consent', `app:${clientId}`, `user:${userId}`],
    )
    assert.deepEqual(await consentsOf(browser), before)
  }

  test('another site cannot send the form, and cannot frame the page', async () => {
    const victim = await signedIn('clickjacked')
    const { page, fields } = await ask(victim, 'evil')
    assert.match(page.headers.get('content-security-policy')!, /frame-ancestors 'none'/)
    assert.equal(page.headers.get('cross-origin-opener-policy'), 'same-origin')
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    await assertProblem(await send(victim, fields, foreign), 403, 'foreign-origin')
    const { userId, sessionId } = (await sessionOf(service, victim))!
    const entry = await lastAudit(service, 'call.refused')
    assert.deepEqual([entry?.user_id, entry?.target], [userId, `session:${sessionId}`])
    assert.deepEqual(await consentsOf(victim), [])
  })

  test('a page of consent is good once', async () => {
    const browser = await signedIn('replayed')
    const { fields } = await ask(browser, 'forum')
    assert.equal((await send(browser, fields)).status, 200)
    await service.database.transaction((tx) =>
      tx.updateTable('authorization_requests').set({ used_at: 1 }).where('used_at', 'is not', null).execute(),
    )
    await assertRefused(browser, fields)
    // A double click: the same code, and no second one.
    const twice = (await ask(browser, 'evil')).fields
    const answers = await Promise.all([1, 2, 3].map(() => send(browser, twice)))
    const targets = answers.map(({ headers }) => headers.get('refresh'))
    assert.match(targets[0]!, /code=/)
    assert.equal(new Set(targets).size, 1)
    const codes = await rowsOf(service, 'authorization_codes', { client_id: 'evil' })
    assert.equal(codes.length, 1)
  })

  test('the page of another session, also of the same user, is refused', async () => {
    const [attacker, victim, sameUser] = [
      await signedIn('attacker'),
      await signedIn('victim'),
      await signedIn('attacker'),
    ]
    const { fields } = await ask(attacker, 'evil')
    await assertRefused(victim, fields, 'evil')
    await assertRefused(sameUser, fields, 'evil')
  })

  test('a form is not good for another request: other scopes, another app, its own fields', async () => {
    const browser = await signedIn('scoped')
    const small = (await ask(browser, 'forum', 'openid')).fields
    const large = (await ask(browser, 'forum', 'openid email groups offline_access')).fields
    const foreign = (await ask(browser, 'evil', 'openid')).fields
    await assertRefused(browser, { ...large, proof: small['proof']! })
    await assertRefused(browser, { ...foreign, proof: small['proof']! }, 'evil')
    await assertRefused(browser, { ...small, client_id: 'evil' }, 'evil')
    await assertRefused(browser, { ...small, proof: '' })
    await assertProblem(await send(browser, { ...small, scope: 'openid email' }), 400, 'invalid-body')
    assert.equal((await send(browser, small)).status, 200)
    assert.deepEqual(await consentsOf(browser), [['forum', 'openid']])
  })

  test('a consent does not cover further scopes', async () => {
    const browser = await signedIn('grows')
    assert.equal((await send(browser, (await ask(browser, 'forum', 'openid')).fields)).status, 200)
    const { page } = await ask(browser, 'forum', 'openid email')
    assert.match(await page.text(), /See your email address/)
    const silent = authorizeUrl(
      service,
      { client_id: 'forum', scope: 'openid email', prompt: 'none' },
      newPkce(),
    )
    const answer = new URL((await browser.go(silent)).headers.get('location')!)
    assert.equal(answer.searchParams.get('error'), 'consent_required')
  })

  test('an app cannot get the API of its tokens without a question', async () => {
    const browser = await signedIn('billed')
    const start = (more: Fields = {}) => authorizeUrl(service, { client_id: 'biller', ...more }, newPkce())
    const notes = await browser.go(start({ resource: 'https://notes.example' }))
    const html = await notes.text()
    assert.match(html, /APIs: <code>https:\/\/notes\.example<\/code><\/p>/)
    assert.equal((await send(browser, hiddenFields(html))).status, 200)
    const { page } = await ask(browser, 'biller')
    assert.match(await page.text(), /APIs: <code>https:\/\/bills\.example<\/code><\/p>/)
    const silent = new URL((await browser.go(start({ prompt: 'none' }))).headers.get('location')!)
    assert.equal(silent.searchParams.get('error'), 'consent_required')
  })

  test('a form is not good for an API that its page did not show', async () => {
    const browser = await signedIn('reconfigured')
    const settings = { name: 'Changed', ...others, confidential: false, audience: 'https://a.example' }
    const made = await service.admin('/clients', { method: 'POST', json: settings })
    const { id } = (await made.json()) as { id: string }
    const { fields } = await ask(browser, id)
    await service.admin(`/clients/${id}`, { method: 'PATCH', json: { audience: 'https://b.example' } })
    await assertRefused(browser, fields, id)
  })

  test('a program that claims the id of an allowed native app is asked for again', async () => {
    const browser = await signedIn('native')
    for (const redirectUri of ['http://127.0.0.1/callback', 'com.example.native:/callback']) {
      const start = (more: Fields = {}) => {
        const asked = { client_id: 'native', redirect_uri: redirectUri, ...more }
        return browser.go(authorizeUrl(service, asked, newPkce()))
      }
      assert.equal((await send(browser, hiddenFields(await (await start()).text()))).status, 200)
      assert.equal((await start()).status, 200, 'a page')
      const silent = new URL((await start({ prompt: 'none' })).headers.get('location')!)
      assert.equal(silent.searchParams.get('error'), 'consent_required')
    }
  })

  test('after a sign-out its page is refused', async () => {
    const browser = await signedIn('left')
    const { fields } = await ask(browser, 'forum')
    await postForm(service, browser, '/auth/logout', {})
    await assertProblem(await send(browser, fields), 401, 'not-signed-in')
    const page = await (await send(browser, fields, { accept: 'text/html' })).text()
    assert.match(page, /You are not signed in, or your session has expired\.[^]*href="\/login"/)
    assert.doesNotMatch(page, /invalid request|you return to this page/, 'the app made no fault')
    await signInAs(service, browser, provider, 'left')
    await assertRefused(browser, fields)
  })
})
