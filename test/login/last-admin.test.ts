// There is always somebody who is admin and not blocked, once there was one. The command line may do it all the same:
// test/cli/users.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Browser, onEachEngine, rowsOf } from '#test/harness/index.ts'
import { whoAmI } from './harness.ts'
import { Site } from './site.ts'

onEachEngine('the last admin', (engine) => {
  const site = new Site(engine, { providers: ['ACME'], env: { ADMIN_IDENTITIES: 'acme:listed' } })

  const idOf = async (person: string): Promise<string> =>
    (await whoAmI(site.service, await site.signedIn(person)))!.id
  const patch = (id: string, json: unknown): Promise<Response> =>
    site.service.admin(`/users/${id}`, { method: 'PATCH', json })
  const patchAs = (browser: Browser, id: string, json: unknown): Promise<Response> =>
    browser.go(new URL(`/users/${id}`, site.service.baseUrl), {
      method: 'PATCH',
      headers: { 'content-type': 'application/json', origin: site.service.baseUrl },
      body: JSON.stringify(json),
    })
  const codeOf = async (response: Response): Promise<string> =>
    ((await response.json()) as { code: string }).code
  async function admins(): Promise<string[]> {
    const rows = await rowsOf(site.service, 'users', { role: 'admin', blocked_at: null })
    return rows.map(({ id }) => id)
  }

  /** These are admins, and nobody else is. */
  async function onlyAdmins(pair: readonly string[]): Promise<void> {
    for (const id of pair) assert.equal((await patch(id, { role: 'admin', blocked: false })).status, 200)
    for (const id of await admins())
      if (!pair.includes(id)) assert.equal((await patch(id, { role: 'user' })).status, 200)
  }

  for (const json of [{ role: 'user' }, { blocked: true }]) {
    const what = JSON.stringify(json)

    test(`stays when the last two are changed concurrently: ${what}`, async () => {
      const pair = [await idOf(`a ${what}`), await idOf(`b ${what}`)]
      for (let round = 0; round < 8; round += 1) {
        await onlyAdmins(pair)
        const answers = await Promise.all(pair.map((id) => patch(id, json)))
        assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), ['200', '409'])
        assert.equal(await codeOf(answers.find(({ status }) => status === 409)!), 'last-admin')
        assert.equal((await admins()).length, 1)
      }
    })

    test(`stays when two admins change each other: ${what}`, async () => {
      const people = [`c ${what}`, `d ${what}`]
      const pair = [await idOf(people[0]!), await idOf(people[1]!)]
      await onlyAdmins(pair)
      const browsers = [await site.signedIn(people[0]!), await site.signedIn(people[1]!)]
      const answers = await Promise.all([
        patchAs(browsers[0]!, pair[1]!, json),
        patchAs(browsers[1]!, pair[0]!, json),
      ])
      assert.equal(answers.filter(({ status }) => status === 200).length, 1)
      // The second of them was signed out already, or its answer says why it is refused.
      for (const { status } of answers) assert.ok([200, 401, 409].includes(status), String(status))
      assert.equal((await admins()).length, 1)
    })
  }

  test('keeps role, sessions and tokens after the refusal, and can be changed when there is another', async () => {
    const [only] = await admins()
    const person = (await rowsOf(site.service, 'users', { id: only! }))[0]!.provider_id
    const browser = await site.signedIn(person)
    for (const json of [{ role: 'user' }, { blocked: true }]) {
      const refused = await patch(only!, json)
      assert.equal(refused.status, 409)
      assert.equal(await codeOf(refused), 'last-admin')
    }
    assert.equal((await whoAmI(site.service, browser))!.role, 'admin')
    assert.equal((await patch(await idOf('next'), { role: 'admin' })).status, 200)
    assert.equal((await patch(only!, { role: 'user' })).status, 200)
  })

  test('may be an unblocked account in ADMIN_IDENTITIES', async () => {
    const [only] = await admins()
    assert.equal((await patch(only!, { blocked: true })).status, 409, 'nobody of the list ever came')
    const listed = await idOf('listed')
    assert.equal((await patch(listed, { blocked: true })).status, 200)
    assert.equal((await patch(only!, { role: 'user' })).status, 409, 'who is on the list is blocked')
    assert.equal((await patch(listed, { blocked: false })).status, 200)
    assert.equal((await patch(only!, { role: 'user' })).status, 200)
    assert.equal(await codeOf(await patch(listed, { blocked: true })), 'last-admin')
  })
})
