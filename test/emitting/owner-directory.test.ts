// Customers that programs create. A uid can change, but never identifies two of them.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { OwnerDirectory } from '../../src/emitting/subscribers/owner-directory.ts'
import { applicationId, isOwnId } from '../../src/emitting/svix/ids.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { onEachEngine, started } from '../harness/index.ts'
import { ManualClock } from '../harness/manual-clock.ts'

const origin = { actor: 'key:1' }

onEachEngine('the directory of customers', (engine) => {
  let directory: OwnerDirectory
  const clock = new ManualClock()

  const testDatabase = started(() => engine.createMigratedDatabase())
  const database = started(() => openDatabase(testDatabase.url))
  before(async () => {
    directory = new OwnerDirectory(database, clock, createRecordAudit(clock))
  })

  const ownerOf = async (text: string) => (await directory.find(text))?.owner
  const taken = { code: 'conflict' }

  test('the uid becomes the owner; without one, the owner is a new id', async () => {
    const acme = await directory.create({ name: 'Acme', uid: 'acme', metadata: { a: '1' } }, origin)
    assert.deepEqual([acme.owner, acme.uid, acme.metadata], ['acme', 'acme', { a: '1' }])
    const other = await directory.create({ name: 'Other' }, origin)
    assert.ok(isOwnId(other.owner))
    assert.equal(other.uid, null)
    assert.equal(await ownerOf('acme'), 'acme')
    assert.equal(await ownerOf(applicationId('acme')), 'acme')
    assert.equal(await ownerOf(other.owner), other.owner)
    for (const text of ['nobody', applicationId('nobody'), '\0', '', '*'])
      assert.equal(await ownerOf(text), undefined)
  })

  test('a changed uid identifies the customer, and the old uid is free again', async () => {
    await directory.change('acme', { uid: 'acme-2' }, origin)
    assert.deepEqual([await ownerOf('acme-2'), await ownerOf('acme')], ['acme', undefined])
    const second = await directory.create({ uid: 'acme' }, origin)
    assert.ok(isOwnId(second.owner))
    assert.equal(await ownerOf('acme'), second.owner)
    // The uid of the first is used by the second.
    await assert.rejects(directory.change('acme', { uid: 'acme' }, origin), taken)
    await directory.change(second.owner, { uid: null }, origin)
    const back = await directory.change('acme', { uid: 'acme' }, origin)
    assert.equal(back.uid, 'acme')
    const none = await directory.change('acme', { uid: null }, origin)
    assert.equal(none.uid, null)
    assert.equal(await ownerOf('acme'), undefined)
    assert.equal(await ownerOf(applicationId('acme')), 'acme')
  })

  test('a uid in use and a uid with the form of an application ID are rejected', async () => {
    await directory.create({ uid: 'globex' }, origin)
    await assert.rejects(directory.create({ uid: 'globex' }, origin), taken)
    await assert.rejects(directory.change('acme', { uid: 'globex' }, origin), taken)
    const invalid = { code: 'invalid-body' }
    await assert.rejects(directory.create({ uid: applicationId('globex') }, origin), invalid)
    await assert.rejects(directory.create({ uid: `app_${'0'.repeat(27)}` }, origin), invalid)
    const calls = [1, 2, 3].map(() => directory.create({ uid: 'at-once' }, origin))
    const outcomes = await Promise.allSettled(calls)
    assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected', 'rejected'])
  })

  test('customers are listed by creation time, in both directions', async () => {
    for (const uid of ['z', 'y', 'x']) {
      clock.pass(1000)
      await directory.create({ uid }, origin)
    }
    const read = async (order: 'ascending' | 'descending'): Promise<string[]> => {
      const owners: string[] = []
      for (let behind: { createdAt: number; owner: string } | undefined; ;) {
        const page = await directory.list({ count: 2, order, behind })
        owners.push(...page.map(({ owner }) => owner))
        behind = page.at(-1)
        if (behind === undefined) return owners
      }
    }
    const all = await read('ascending')
    assert.deepEqual(all.slice(-3), ['z', 'y', 'x'])
    assert.equal(all.length, 8)
    assert.deepEqual(await read('descending'), all.toReversed())
  })
})
