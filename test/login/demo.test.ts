import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Browser, onOneEngine, startedService } from '#test/harness/index.ts'

onOneEngine('the development identity provider', (engine) => {
  const service = startedService(engine)

  async function choose(
    browser: Browser,
    fields: Record<string, string>,
    start = '/auth/demo',
  ): Promise<URL> {
    const { response, url } = await browser.follow(new URL(start, service.baseUrl))
    assert.equal(response.status, 200)
    assert.match(await response.text(), /Ada Lovelace/)
    const answer = await browser.go(url, { method: 'POST', body: new URLSearchParams(fields) })
    const next = new URL(answer.headers.get('location')!, url)
    const end = await browser.follow(
      next,
      (hop) => hop.pathname !== '/dashboard' && hop.pathname !== '/login',
    )
    assert.ok(end.next)
    return end.next
  }

  async function whoAmI(
    browser: Browser,
  ): Promise<{ id: string; email: string | null; name: string | null }> {
    const response = await browser.go(new URL('/auth/session', service.baseUrl))
    assert.equal(response.status, 200)
    return ((await response.json()) as { user: { id: string; email: string | null; name: string | null } })
      .user
  }

  test('signs in as a sample person, and as the same user again', async () => {
    const browser = new Browser()
    assert.equal((await choose(browser, { person: 'ada' })).pathname, '/dashboard')
    const first = await whoAmI(browser)
    assert.equal(first.name, 'Ada Lovelace')
    assert.equal(first.email, 'ada@demo.example')
    const other = new Browser()
    await choose(other, { person: 'ada' })
    assert.equal((await whoAmI(other)).id, first.id)
  })

  test('a person without an e-mail address, and one with a free name', async () => {
    const browser = new Browser()
    await choose(browser, { person: 'katherine' })
    assert.equal((await whoAmI(browser)).email, null)
    // The same browser is asked again and may be somebody else.
    await choose(browser, { name: '  Jürgen "Bobby" <Tables> ' })
    assert.equal((await whoAmI(browser)).name, 'Jürgen "Bobby" <Tables>')
  })

  test('cancelling redirects to /login', async () => {
    const browser = new Browser()
    const end = await choose(browser, { cancel: 'yes' })
    assert.equal(end.pathname, '/login')
    assert.equal(end.searchParams.get('error'), 'access-denied')
  })
})
