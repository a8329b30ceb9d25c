// GET /users shows the role that counts, which for some is not the one in their row.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'
import { started } from '../harness/started.ts'
import { insertUsers, readList } from './seed.ts'

onEachEngine('roles in the list of users', (engine) => {
  const service = started(() =>
    startTestService(engine, {
      env: { ADMIN_IDENTITIES: 'google:3, github:second-of-5 ,google:nobody' },
    }),
  )
  before(async () => {
    await insertUsers(service.database, 8)
    const identity = (user: number, provider: string, providerId: string) => ({
      provider,
      provider_id: providerId,
      user_id: `u00${user}`,
      email: null,
      email_verified: 0,
      name: null,
      created_at: 1,
      last_used_at: 1,
    })
    await service.database.transaction(async (tx) => {
      await tx.updateTable('users').set({ role: 'admin' }).where('id', '=', 'u006').execute()
      await tx
        .insertInto('identities')
        .values([
          ...Array.from({ length: 8 }, (_, user) => identity(user, 'google', String(user))),
          identity(5, 'github', 'second-of-5'),
          // The same id at another provider is somebody else.
          identity(1, 'github', '3'),
        ])
        .execute()
    })
  })

  test('shows admins by role and by identity on every page', async () => {
    const admins = ['u003', 'u005', 'u006']
    for (const limit of [1, 3, 100]) {
      const shown: string[] = []
      for (let page = 1; ; page += 1) {
        const { data, pagination } = await readList(service, `/users?limit=${limit}&page=${page}`)
        shown.push(...data.filter(({ role }) => role === 'admin').map(({ id }) => id as string))
        assert.ok(data.every(({ role }) => role === 'admin' || role === 'user'))
        if (!pagination.hasNext) break
      }
      assert.deepEqual(shown, admins, `limit=${limit}`)
    }
    assert.deepEqual((await readList(service, '/users?page=9')).data, [])
  })
})
