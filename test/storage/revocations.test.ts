import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { onPostgres, openLink, postgres, started } from '#test/harness/index.ts'
import { openPostgres } from '../../src/storage/postgres/database.ts'
import { eventually } from '../receiving/harness.ts'

describe('revocations (PostgreSQL)', onPostgres, () => {
  const database = started(() => postgres!.createDatabase())

  async function opened(t: { after(work: () => Promise<void>): void }, url = database.url) {
    const opening = openPostgres(url)
    t.after(() => opening.close())
    const heard: (string | undefined)[] = []
    opening.revocations.listen((subject) => heard.push(subject))
    await eventually(() => opening.revocations.current)
    assert.deepEqual(heard.splice(0), [undefined], 'what was read before it listened is forgotten')
    return { ...opening, heard }
  }

  test('a transaction resolves when all processes have heard its announcements', async (t) => {
    const [first, second, third] = [await opened(t), await opened(t), await opened(t)]
    for (let round = 0; round < 20; round += 1) {
      const subject = `user-${round}`
      await first.transaction(async (tx) => first.revocations.announce(tx, subject))
      for (const { heard } of [second, third]) assert.equal(heard.at(-1), subject)
      assert.ok(first.heard.includes(subject))
    }
  })

  test('a rollback sends no announcement', async (t) => {
    const [first, second] = [await opened(t), await opened(t)]
    await assert.rejects(
      first.transaction(async (tx) => {
        await first.revocations.announce(tx, 'rolled-back')
        throw new Error('no')
      }),
    )
    await first.transaction(async (tx) => first.revocations.announce(tx, 'committed'))
    assert.deepEqual(second.heard, ['committed'])
  })

  test('a process that does not listen is not waited for, and can announce', async (t) => {
    const silent = openPostgres(database.url)
    t.after(() => silent.close())
    const listening = await opened(t)
    await silent.transaction(async (tx) => silent.revocations.announce(tx, 'from-elsewhere'))
    await eventually(() => listening.heard.includes('from-elsewhere'))
  })

  test('without a session the cache is not used, and it is emptied after a reconnect', async (t) => {
    const first = await opened(t)
    const admin = new pg.Client({ connectionString: database.url })
    await admin.connect()
    t.after(() => admin.end())
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'postern-listen' and datname = current_database()`,
    )
    await eventually(() => !first.revocations.current)
    await eventually(() => first.revocations.current)
    assert.deepEqual(first.heard, [undefined])
  })

  test('a process that hangs is waited for until its lease expires, once', async (t) => {
    const first = await opened(t)
    // A connection that is counted as listening and never confirms.
    const hanging = new pg.Client({ connectionString: database.url })
    await hanging.connect()
    t.after(() => hanging.end())
    await hanging.query('select pg_advisory_lock_shared(7226, 2)')
    const announce = async (): Promise<number> => {
      const began = performance.now()
      await first.transaction(async (tx) => first.revocations.announce(tx, 'slow'))
      return performance.now() - began
    }
    const waited = await announce()
    assert.ok(waited >= 1_900, `waited ${Math.round(waited)} ms`)
    const further: number[] = []
    for (let count = 0; count < 9; count += 1) further.push(Math.round(await announce()))
    // A busy machine may need as long for one of them, but not for most.
    assert.ok(further.toSorted((a, b) => a - b)[4]! < 1_900, `waited ${further.join(', ')} ms`)
    // It goes on, and could trust what it keeps again: it is waited for again.
    await hanging.query('select 1')
    const again = await announce()
    assert.ok(again >= 1_900, `waited ${Math.round(again)} ms after it went on`)
  })

  test('a process with a silent network path does not use its cache after an announcement has returned', async (t) => {
    const link = await openLink(database.url)
    t.after(async () => link.close())
    const first = await opened(t)
    const second = await opened(t, link.url)
    for (let count = 0; count < 3; count += 1) {
      await eventually(() => second.revocations.current)
      link.hold()
      await first.transaction(async (tx) => first.revocations.announce(tx, `unheard-${count}`))
      assert.ok(!second.heard.includes(`unheard-${count}`))
      assert.equal(second.revocations.current, false)
      link.mend()
    }
  })
})
