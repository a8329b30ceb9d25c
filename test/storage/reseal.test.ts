import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { systemClock } from '../../src/runtime/clock.ts'
import { allSealedColumns, Keyring, sealedColumns } from '../../src/crypto/keyring.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { reseal, type ResealOutcome, checkSealedValues, findSealedGroups } from '../../src/storage/reseal.ts'
import { onEachEngine, started, each } from '../harness/index.ts'

const older = new Keyring(['the-old-master-secret-of-32-bytes-or-more'])
const newest = new Keyring(['another-master-secret-of-32-bytes-or-more'])
const both = new Keyring([
  'another-master-secret-of-32-bytes-or-more',
  'the-old-master-secret-of-32-bytes-or-more',
])
const { providerAccessToken, providerRefreshToken } = sealedColumns

onEachEngine('resealing', (engine) => {
  const home = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(home.url))
  beforeEach(async () => {
    await database.transaction(async (tx) => {
      await tx.deleteFrom('provider_tokens').execute()
      await tx.deleteFrom('identities').execute()
      await tx.deleteFrom('users').execute()
    })
  })

  const keyOf = (id: number) => ({ provider: 'acme', provider_id: String(id).padStart(6, '0') })

  /** Users with tokens that `keyring` sealed; every second one has a refresh token. */
  async function insertTokens(count: number, keyring = older): Promise<void> {
    const keys = Array.from({ length: count }, (_, id) => keyOf(id))
    await database.transaction(async (tx) => {
      await tx
        .insertInto('users')
        .values(
          keys.map((key) => ({
            ...key,
            id: key.provider_id,
            email: null,
            name: null,
            role: 'user' as const,
            created_at: 0,
            blocked_at: null,
          })),
        )
        .execute()
      await tx
        .insertInto('identities')
        .values(
          keys.map((key) => ({
            ...key,
            user_id: key.provider_id,
            email: null,
            email_verified: 0,
            name: null,
            created_at: 0,
            last_used_at: 0,
          })),
        )
        .execute()
      await tx
        .insertInto('provider_tokens')
        .values(
          keys.map((key, id) => ({
            provider: key.provider,
            provider_id: key.provider_id,
            access_token: keyring.seal(`at-${id}`, providerAccessToken.context(key)),
            refresh_token: id % 2 ? null : keyring.seal(`rt-${id}`, providerRefreshToken.context(key)),
            scope: null,
            expires_at: null,
            updated_at: 7,
            claim: null,
            claimed_until: null,
          })),
        )
        .execute()
    })
  }
  const run = (more: Partial<Parameters<typeof reseal>[0]> = {}): Promise<ResealOutcome> =>
    reseal({ database, keyring: both, clock: systemClock, ...more })
  const rows = () =>
    database.reader.selectFrom('provider_tokens').selectAll().orderBy('provider_id').execute()

  test('every value opens with the newest key only, unchanged', async () => {
    await insertTokens(450)
    const progress: [number, number][] = []
    const { done, left } = await run({ onProgress: (at, total) => void progress.push([at, total]) })
    assert.deepEqual(left, [])
    assert.equal(done.get(providerAccessToken), 450)
    assert.equal(done.get(providerRefreshToken), 225)
    assert.deepEqual(progress.at(-1), [675, 675])
    assert.ok(progress.length >= 5, 'in batches')
    for (const [id, row] of (await rows()).entries()) {
      assert.equal(newest.open(row.access_token, providerAccessToken.context(row)).toString(), `at-${id}`)
      assert.equal(row.updated_at, 7, 'nothing else of the row changes')
      if (row.refresh_token)
        assert.equal(newest.open(row.refresh_token, providerRefreshToken.context(row)).toString(), `rt-${id}`)
    }
    assert.deepEqual(await checkSealedValues(database, newest), {
      unknown: undefined,
      older: undefined,
    })
  })

  test('an interrupted run is completed by the next one', async () => {
    await insertTokens(450)
    const stop = new AbortController()
    const { done, left } = await run({ signal: stop.signal, onProgress: () => stop.abort() })
    const first = done.get(providerAccessToken)!
    assert.ok(first > 0 && first < 450, String(first))
    assert.ok(left.length > 0)
    const rest = await run()
    assert.deepEqual(rest.left, [])
    assert.equal(rest.done.get(providerAccessToken), 450 - first)
  })

  test('concurrent writes of a service stay', async () => {
    await insertTokens(450)
    let writing = true
    const written = new Map<string, string>()
    const service = (async () => {
      for (let count = 0; writing || count < 50; count++) {
        const key = keyOf((count * 37) % 450)
        await database.transaction((tx) =>
          tx
            .updateTable('provider_tokens')
            .set({
              access_token: both.seal(`fresh-${count}`, providerAccessToken.context(key)),
              updated_at: count,
            })
            .where('provider', '=', key.provider)
            .where('provider_id', '=', key.provider_id)
            .execute(),
        )
        written.set(key.provider_id, `fresh-${count}`)
        // Within one process the right to write goes to requests first.
        await new Promise((resume) => setTimeout(resume, 2))
      }
    })()
    const { left } = await run()
    writing = false
    await service
    assert.deepEqual(left, [])
    assert.ok(written.size >= 50)
    for (const [id, row] of (await rows()).entries())
      assert.equal(
        newest.open(row.access_token, providerAccessToken.context(row)).toString(),
        written.get(row.provider_id) ?? `at-${id}`,
      )
  })

  test('damaged values and values of missing keys are skipped and counted', async () => {
    await insertTokens(5)
    const moved = (await rows())[1]!
    const foreign = new Keyring(['a-third-master-secret-of-32-bytes-or-more'])
    await database.transaction(async (tx) => {
      const update = (id: number, access_token: Uint8Array) =>
        tx
          .updateTable('provider_tokens')
          .set({ access_token })
          .where('provider_id', '=', keyOf(id).provider_id)
          .execute()
      await update(0, moved.access_token)
      await update(4, foreign.seal('x', providerAccessToken.context(keyOf(4))))
    })
    const { done, damaged, left } = await run()
    assert.equal(done.get(providerAccessToken), 3)
    assert.deepEqual([...damaged], [[providerAccessToken, 1]])
    assert.deepEqual(left.map(({ openedBy, count }) => `${count} ${openedBy}`).toSorted(), [
      '1 older',
      '1 unknown',
    ])
  })

  if (engine.name === 'postgres') {
    test('a locked row is skipped, and done later', async () => {
      await insertTokens(3)
      const holder = database.begin({ timeLimit: 300_000 })
      await sql`select 1 from provider_tokens where provider_id = ${keyOf(1).provider_id} for update`.execute(
        holder.tx,
      )
      let seen = 0
      const running = run({ onProgress: (at) => void (seen = at) })
      while (seen < 4) await new Promise((resume) => setTimeout(resume, 5))
      const held = await findSealedGroups(database, both)
      assert.equal(held.find(({ openedBy }) => openedBy === 'older')?.count, 1)
      await holder.rollback()
      const { left } = await running
      assert.deepEqual(left, [])
    })
  }

  test('the check counts up to a bound', async () => {
    await insertTokens(30)
    const group = (await findSealedGroups(database, newest, 10)).find(
      ({ openedBy }) => openedBy === 'unknown',
    )
    assert.deepEqual([group?.count, group?.more], [10, true])
    const { unknown } = await checkSealedValues(database, newest)
    assert.match(unknown ?? '', /30 in provider_tokens\.access_token, 15 in provider_tokens\.refresh_token/)
  })

  // Sealed values are bytes. A new column of bytes has to be listed as sealed, or here with what it holds.
  test('every column of bytes is declared as sealed or as unsealed', async () => {
    const plain = new Set([
      'api_keys.key_hash',
      'attempts.request_body',
      'attempts.response_body',
      'authorization_codes.code_hash',
      'authorization_requests.browser_hash',
      'authorization_requests.request_hash',
      'client_secrets.secret_hash',
      'device_codes.device_code_hash',
      'device_codes.user_code_hash',
      'events.payload',
      'flows.browser_hash',
      'flows.invitation',
      'flows.offer_hash',
      'flows.state_hash',
      'host_codes.browser_hash',
      'host_codes.code_hash',
      'host_sessions.token_hash',
      'idempotency_keys.digest',
      'idempotent_responses.key_hash',
      'invitations.token_hash',
      'metric_history.durations',
      'portal_links.token_hash',
      'portal_sessions.token_hash',
      'refresh_tokens.parent_hash',
      'refresh_tokens.token_hash',
      'rejected_webhooks.body',
      'sessions.token_hash',
      'used_assertions.hash',
    ])
    const { rows } = await (
      engine.name === 'sqlite'
        ? sql<{
            name: string
          }>`select t.name || '.' || c.name as name from sqlite_schema t, pragma_table_info(t.name) c
          where t.type = 'table' and lower(c.type) = 'blob'`
        : sql<{
            name: string
          }>`select table_name || '.' || column_name as name from information_schema.columns
          where table_schema = current_schema() and data_type = 'bytea'`
    ).execute(database.reader)
    const sealed = allSealedColumns.map(({ table, column }) => `${table}.${column}`)
    assert.deepEqual(
      each(rows, 'name')
        .filter((name) => !plain.has(name))
        .toSorted(),
      sealed.toSorted(),
    )
  })
})
