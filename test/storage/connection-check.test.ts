// What `postern doctor` says of connections, for a role that sees little of the sessions of others.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { checkDatabase } from '../../src/diagnostics/database.ts'
import { onPostgres, postgres } from '../harness/engines.ts'

test(
  'sessions of other roles are counted, also for a role that may not look at them',
  onPostgres,
  async () => {
    await using stack = new AsyncDisposableStack()
    const home = stack.adopt(await postgres!.createDatabase(), (it) => it.drop())
    const connect = async (url: string, name: string): Promise<pg.Client> => {
      const client = new pg.Client({ connectionString: url, application_name: name })
      await client.connect()
      stack.defer(() => client.end())
      return client
    }
    const admin = await connect(home.url, 'postern-listen')
    await connect(home.url, 'somebody')
    const role = `role_${new URL(home.url).pathname.slice(1)}`
    await admin.query(`create role ${role} login password 'plain'`)
    stack.defer(async () => void (await admin.query(`drop role ${role}`)))
    const plain = Object.assign(new URL(home.url), { username: role, password: 'plain' })
    const findings = await Array.fromAsync(
      checkDatabase({ databaseUrl: plain.href }, 12, async function* () {}),
    )
    const { text } = findings.find(({ about }) => about === 'connections')!
    const [, processes, others] = /^(\d+) process is running; .* other programs use (\d+)$/.exec(text) ?? []
    assert.equal(processes, '1', text)
    assert.ok(Number(others) >= 1, text)
  },
)
