// An app that one process changes or deletes is changed for every other one, at the very next call.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { onPostgres, postgres, started, startedService } from '#test/harness/index.ts'
import { token } from './harness.ts'

describe('apps of two services on one PostgreSQL', onPostgres, () => {
  const database = started(() => postgres!.createMigratedDatabase())
  const first = startedService(postgres!, () => ({ databaseUrl: database.url }))
  const second = startedService(postgres!, () => ({ databaseUrl: database.url }))

  type Made = { id: string; secret: string }
  async function make(): Promise<Made> {
    const json = { name: 'Job', clientCredentials: true, scopes: ['subscribers:read'] }
    const made = (await (await first.admin('/clients', { method: 'POST', json })).json()) as Made
    // A process that reads clients listens, and so hears at once that the other one has heard it.
    assert.equal((await login(made, made.secret, first)).status, 200)
    return made
  }
  const login = ({ id }: Made, secret: string, service = second) =>
    token(service, { grant_type: 'client_credentials', client_id: id, client_secret: secret })
  const reach = async (accessToken: unknown): Promise<number> =>
    (await second.fetch('/subscribers', { headers: { authorization: `Bearer ${String(accessToken)}` } }))
      .status

  test('a rotated secret', async () => {
    for (let round = 0; round < 5; round += 1) {
      const app = await make()
      for (let i = 0; i < 3; i += 1) assert.equal((await login(app, app.secret)).status, 200)
      const path = `/clients/${app.id}/secrets`
      const answer = await first.admin(path, { method: 'POST', json: { overlapSeconds: 0 } })
      const { secret } = (await answer.json()) as Made
      assert.equal((await login(app, app.secret)).status, 401)
      assert.equal((await login(app, secret)).status, 200)
    }
  })

  test('a deleted app, and its tokens', async () => {
    for (let round = 0; round < 5; round += 1) {
      const app = await make()
      const { body } = await login(app, app.secret)
      for (let i = 0; i < 3; i += 1) assert.equal(await reach(body['access_token']), 200)
      assert.equal((await first.admin(`/clients/${app.id}`, { method: 'DELETE' })).status, 204)
      assert.equal(await reach(body['access_token']), 401)
      assert.equal((await login(app, app.secret)).status, 401)
    }
  })
})
