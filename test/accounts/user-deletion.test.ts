// An administrator deletes an account: its rows and its access are gone, the audit log stays.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { onEachEngine } from '../harness/engines.ts'
import type { AnswerTo } from '../harness/answers.ts'
import { spa, whoAmI } from '../login/harness.ts'
import { Site } from '../login/site.ts'

/** Tables that name a user and keep their rows, with the reason. */
const exceptions: Record<string, string> = {
  audit_log: 'evidence, until AUDIT_RETENTION',
  backchannel_logouts: 'apps that are to be told that the sign-in ended; a quarter of an hour',
  flows: 'sign-ins in progress; ten minutes',
}

const tablesWithUser = {
  sqlite: sql<{ name: string }>`select t.name from sqlite_schema t join pragma_table_info(t.name) c
    where t.type = 'table' and c.name = 'user_id'`,
  postgres: sql<{ name: string }>`select table_name as name from information_schema.columns
    where table_schema = current_schema() and column_name = 'user_id'`,
}

onEachEngine('the deletion of an account', (engine) => {
  const site = new Site(engine, {
    env: { ADMIN_IDENTITIES: 'acme:boss' },
    config: { login: { clients: [spa] } },
  })
  const remove = (id: string): Promise<Response> => site.service.admin(`/users/${id}`, { method: 'DELETE' })
  async function rowsOf(id: string): Promise<Record<string, number>> {
    const { reader } = site.service.database
    const { rows } = await tablesWithUser[engine.name].execute(reader)
    const tables = rows.map(({ name }) => name).filter((name) => !(name in exceptions))
    const counts: Record<string, number> = {}
    for (const table of ['users', ...tables]) {
      const column = table === 'users' ? 'id' : 'user_id'
      const query = sql<{ count: number }>`
        select cast(count(*) as integer) as count from ${sql.table(table)} where ${sql.ref(column)} = ${id}`
      counts[table] = (await query.execute(reader)).rows[0]!.count
    }
    return counts
  }

  test('ends sessions and tokens at once and leaves no row; a later sign-in is a new account', async () => {
    const browser = await site.signedIn('zoe')
    const { id } = (await whoAmI(site.service, browser))!
    await site.link(browser, 'zoe-other')
    const { access, refresh } = await site.appTokens('zoe')
    const before = await rowsOf(id)
    assert.equal(before['identities'], 2)
    assert.ok(before['sessions']! > 0 && before['token_families']! > 0 && 'consents' in before)

    assert.equal((await remove(id)).status, 204)
    assert.deepEqual(new Set(Object.values(await rowsOf(id))), new Set([0]))
    assert.equal(await whoAmI(site.service, browser), undefined)
    const bearer = { headers: { authorization: `Bearer ${access}` } }
    assert.equal((await fetch(`${site.service.baseUrl}/auth/session`, bearer)).status, 401)
    const body = JSON.stringify({ grant_type: 'refresh_token', client_id: 'spa', refresh_token: refresh })
    const headers = { 'content-type': 'application/json' }
    const refreshed = await fetch(`${site.service.baseUrl}/auth/token`, { method: 'POST', headers, body })
    assert.equal(refreshed.status, 400)

    const audit = (await (await site.service.admin(`/audit?userId=${id}`)).json()) as AnswerTo<'GET /audit'>
    assert.equal(audit.data[0]!.action, 'user.deleted')
    assert.ok(audit.data.some(({ action }) => action === 'user.signed_in'))
    assert.equal((await remove(id)).status, 404)
    const again = (await whoAmI(site.service, await site.signedIn('zoe')))!
    assert.notEqual(again.id, id)
  })

  test('of the last administrator, or of oneself, is refused', async () => {
    const boss = await site.signedIn('boss')
    const { id } = (await whoAmI(site.service, boss))!
    const last = await remove(id)
    assert.equal(last.status, 409)
    assert.equal(((await last.json()) as { code: string }).code, 'last-admin')
    assert.equal((await site.call(boss, 'DELETE', `/users/${id}`, site.sameOrigin)).status, 409)
    assert.ok(await whoAmI(site.service, boss), 'the session is as before')
    assert.equal((await remove('no-id')).status, 404)
  })
})
