// Several servers in one address; some are unreachable, silent, or in another state.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { freePort, type Link, onPostgres, openLink, postgres, scoped, started } from '../harness/index.ts'
import { startTestService } from '../harness/service.ts'
import { startOwnPostgres, type OwnPostgres } from '../harness/postgres.ts'
import { eventually, postWebhook } from '../receiving/harness.ts'
import { Connector } from '../../src/storage/postgres/pool/connector.ts'

/** The URL with other hosts, each as `host:port`. */
function withHosts(url: string, hosts: readonly string[], parameters = ''): string {
  const { username, password, pathname } = new URL(url)
  const credentials = password === '' ? username : `${username}:${password}`
  return `postgres://${credentials}@${hosts.join(',')}${pathname}${parameters}`
}

const hostOf = (url: string): string => new URL(url).host

async function run(url: string, ...statements: string[]): Promise<void> {
  await using client = scoped(new pg.Client({ connectionString: url }))
  await client.connect()
  for (const statement of statements) await client.query(statement)
}

describe('several hosts', onPostgres, () => {
  const database = started(() => postgres!.createDatabase())

  test('a service continues with the next host if the first is unreachable or silent', async () => {
    const [first, second] = await Promise.all([openLink(database.url), openLink(database.url)])
    const service = await startTestService(postgres!, {
      databaseUrl: withHosts(database.url, [hostOf(first.url), hostOf(second.url)]),
    })
    let n = 0
    const works = async (): Promise<boolean> => {
      const { status } = await postWebhook(service, { id: `event-${(n += 1)}`, type: 'work' })
      return status === 200 && (await service.fetch('/readyz')).status === 200
    }
    try {
      assert.ok(await works())
      first.cut()
      await eventually(works, 'the second host is used')
      first.mend()
      second.silence('new')
      await eventually(works, 'the first host is used')
    } finally {
      await service.close()
      for (const link of [first, second]) link.close()
    }
  })

  describe('of which one is writable', () => {
    let other: OwnPostgres
    let [silent, otherUrl, closed]: [Link, string, string] = [undefined as never, '', '']
    const name = () => new URL(database.url).pathname.slice(1)

    before(async () => {
      other = await startOwnPostgres()
      const user = decodeURIComponent(new URL(database.url).username)
      if (user !== 'postgres') await run(other.url, `create role "${user}" login superuser`)
      await run(other.url, `create database ${name()}`)
      otherUrl = withHosts(database.url, [hostOf(other.url)])
      await run(otherUrl, 'create table other (id integer)')
      silent = await openLink(database.url)
      silent.silence('new')
      closed = `127.0.0.1:${await freePort()}`
    })
    after(async () => {
      silent.close()
      await other.stop()
    })

    /** What is connected keeps what it began with, as on a server that was demoted; it is ended there, as a demotion does. */
    const setReadOnly = (url: string, value: 'on' | 'off') =>
      run(
        url,
        'set default_transaction_read_only = off',
        `alter database ${name()} set default_transaction_read_only = ${value}`,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      )
    const isOther = "select to_regclass('other') is not null as other"

    test('it is found, and found again after it changes', async () => {
      await setReadOnly(otherUrl, 'on')
      const url = withHosts(database.url, [
        closed,
        hostOf(silent.url),
        hostOf(other.url),
        hostOf(database.url),
      ])
      const connector = new Connector(url)
      await using opened = scoped(
        connector.openPool({ max: 4, answerWithin: 60_000, onError: () => undefined }),
      )
      const ask = async (): Promise<boolean> => {
        const { rows } = await opened.query<{ other: boolean }>(isOther)
        return rows[0]!.other
      }
      try {
        assert.equal(await ask(), false)
        await setReadOnly(database.url, 'on')
        await setReadOnly(otherUrl, 'off')
        // Each asks on a new connection: those from before were ended.
        await eventually(
          () =>
            Promise.all(Array.from({ length: 4 }, ask)).then(
              (all) => all.every(Boolean),
              () => false,
            ),
          'the other server is found',
        )
        const client = connector.newClient({ answerWithin: 60_000 })
        await client.connect()
        assert.equal((await client.query<{ other: boolean }>(isOther)).rows[0]!.other, true)
        await client.end()
      } finally {
        await setReadOnly(database.url, 'off')
      }
    })

    test('a pool whose server is gone finds the other one within the same statement', async () => {
      await setReadOnly(otherUrl, 'off')
      const gone = await openLink(database.url)
      const connector = new Connector(withHosts(database.url, [hostOf(gone.url), hostOf(other.url)]))
      const opened = connector.openPool({ max: 1, answerWithin: 60_000, onError: () => undefined })
      const client = await opened.connect()
      client.release(true)
      gone.cut()
      const { rows } = await opened.query<{ other: boolean }>(isOther)
      assert.equal(rows[0]!.other, true)
      await opened.close()
      gone.close()
    })

    test('each value of target_session_attrs, and the message if there is no such server', async () => {
      await setReadOnly(otherUrl, 'on')
      const hosts = [hostOf(database.url), hostOf(other.url)]
      const ask = async (attributes: string): Promise<boolean> => {
        const connector = new Connector(withHosts(database.url, hosts, `?target_session_attrs=${attributes}`))
        const client = connector.newClient({ answerWithin: 60_000 })
        await client.connect()
        const { rows } = await client.query<{ other: boolean }>(isOther)
        await client.end()
        return rows[0]!.other
      }
      for (const attributes of ['any', 'read-write', 'primary', 'prefer-standby'])
        assert.equal(await ask(attributes), false, attributes)
      assert.equal(await ask('read-only'), true)
      await assert.rejects(
        ask('standby'),
        /no server is available that is standby: .* is a primary; .* is read-only/,
      )
    })
  })
})
