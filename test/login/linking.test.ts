import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Browser, onEachEngine } from '#test/harness/index.ts'
import { counts, signIn, whoAmI } from './harness.ts'
import { Site } from './site.ts'

onEachEngine('linking', (engine) => {
  const site = new Site(engine, { env: { RECENT_SIGN_IN: '600' } })

  const begin = (browser: Browser, headers: Record<string, string> = {}, query = ''): Promise<Response> =>
    site.call(browser, 'POST', `/auth/other/link${query}`, headers)
  /** From the start's answer to where the callback leads. */
  async function finish(browser: Browser, start: Response, id: string): Promise<string> {
    site.become(id)
    return (await site.finish(browser, start)).headers.get('location')!
  }

  test('an old sign-in must be repeated before linking', async () => {
    const browser = await site.signedIn('stale')
    site.shift = 601_000
    const tokenRequests = site.provider.requests.length
    const refused = await begin(browser)
    assert.equal(refused.status, 403)
    assert.equal(((await refused.json()) as { code: string }).code, 'reauthentication-needed')
    assert.equal(site.provider.requests.length, tokenRequests)
    assert.ok(await whoAmI(site.service, browser), 'the session itself is as good as before')
    site.become('stale')
    await signIn(site.service, browser)
    const start = await begin(browser)
    assert.equal(start.status, 303)
    assert.equal(await finish(browser, start, 'stale-linked'), '/dashboard')
  })

  test('a form is redirected to /login to sign in again, and back', async () => {
    const browser = await site.signedIn('stale-form')
    site.shift = 601_000
    const headers = { 'sec-fetch-dest': 'document', accept: 'text/html' }
    const answer = await begin(browser, headers, '?return_to=/settings')
    assert.equal(answer.status, 303)
    const location = answer.headers.get('location')!
    const page = await (await site.service.fetch(location)).text()
    assert.match(page, /Sign in again/)
    assert.ok(page.includes('href="/auth/acme?reauthenticate=true&amp;return_to=%2Fsettings"'))
  })

  test('the age counts from the sign-in, not from the last use', async () => {
    const browser = await site.signedIn('used')
    site.shift = 300_000
    await whoAmI(site.service, browser)
    site.shift = 601_000
    assert.equal((await begin(browser)).status, 403)
  })

  test('an identity of another account: the page says what to do, and nothing is moved', async () => {
    const owner = await site.signedIn('owner', '/auth/other')
    const browser = await site.signedIn('wants')
    const before = await counts(site.service)
    const location = await finish(browser, await begin(browser), 'owner')
    assert.match(location, /^\/login\?error=identity-taken&id=[\w-]+&provider=other$/)
    const page = await (await browser.go(new URL(location, site.service.baseUrl))).text()
    assert.match(page, /belongs to another account/)
    assert.match(page, /sign out and continue with Other/)
    assert.match(page, /signed in as <strong>wants/)
    assert.deepEqual(await counts(site.service), before)
    assert.notEqual((await whoAmI(site.service, owner))!.id, (await whoAmI(site.service, browser))!.id)
  })

  test('two accounts that link one identity concurrently: one succeeds, the other gets an error', async () => {
    for (let round = 0; round < 4; round += 1) {
      const browsers = [await site.signedIn(`race-a-${round}`), await site.signedIn(`race-b-${round}`)]
      site.provider.profile = { id: `raced-${round}` }
      const callbacks: string[] = []
      for (const browser of browsers) {
        const back = await browser.go((await begin(browser)).headers.get('location')!)
        callbacks.push(back.headers.get('location')!)
      }
      const answers = await Promise.all(browsers.map((browser, index) => browser.go(callbacks[index]!)))
      const targets = answers.map((answer) => answer.headers.get('location')!.replace(/&.*/, ''))
      assert.deepEqual(targets.toSorted(), ['/dashboard', '/login?error=identity-taken'])
    }
  })

  test('ten callbacks of one link share the outcome of one, and the session stays', async () => {
    const browser = await site.signedIn('replayed')
    site.provider.profile = { id: 'replayed-linked' }
    const back = await browser.go((await begin(browser)).headers.get('location')!)
    const callback = back.headers.get('location')!
    const answers = await Promise.all(Array.from({ length: 10 }, () => browser.go(callback)))
    const targets = answers.map((answer) => answer.headers.get('location')!)
    assert.deepEqual(targets, Array(10).fill('/dashboard'))
    const tokens = answers.flatMap((answer) =>
      answer.headers.getSetCookie().flatMap((line) => /^postern_session=([^;]*)/.exec(line)?.[1] ?? []),
    )
    assert.equal(new Set(tokens).size, 1, 'whichever answer arrives last, the browser has the valid token')
    assert.ok(await whoAmI(site.service, browser))
  })

  test('concurrent unlinks of three identities leave one', async () => {
    for (let round = 0; round < 3; round += 1) {
      const browser = await site.signedIn(`unlink-${round}`)
      await finish(browser, await begin(browser), `unlink-1-${round}`)
      await finish(browser, await begin(browser), `unlink-2-${round}`)
      const calls = [
        '/auth/identities/acme',
        `/auth/identities/other?providerId=unlink-1-${round}`,
        `/auth/identities/other?providerId=unlink-2-${round}`,
      ]
      const answers = await Promise.all(calls.map((path) => site.call(browser, 'DELETE', path)))
      assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), ['204', '204', '409'])
    }
  })

  test('the choice of providers, for pages', async () => {
    const answer = await site.service.fetch('/auth/providers')
    const { data } = (await answer.json()) as { data: { name: string; label: string }[] }
    assert.deepEqual(data.slice(0, 2), [
      { name: 'acme', label: 'Acme' },
      { name: 'other', label: 'Other' },
    ])
  })
})
