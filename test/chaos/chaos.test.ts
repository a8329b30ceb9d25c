// A database that moves, and all else that may happen to it, under load, against processes as users run them. Hours of it:
// npm run chaos.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { engines } from '../harness/engines.ts'
import { hasPgbouncer } from '../harness/pgbouncer.ts'
import { campaign } from './campaign.ts'
import { faultsOf } from './check.ts'
import type { TopologyName } from './world.ts'

const skip = engines.every(({ name }) => name !== 'postgres') && 'TEST_ENGINE leaves PostgreSQL out'

async function suffer(only: string[], topology: TopologyName = 'pair'): Promise<void> {
  const said: string[] = []
  const { faults, verdicts } = await campaign({
    seed: 1,
    only,
    topology,
    faults: only.length,
    faultsOfWorld: only.length,
    time: Infinity,
    longest: 1_500,
    // A busy machine is no database that stalls; what was forgotten comes after 35 s.
    stalledAfter: 30_000,
    processes: 2,
    rate: 20,
    project: join(import.meta.dirname, '..', '..'),
    signal: new AbortController().signal,
    say: (line) => said.push(line),
  })
  const all = said.join('\n')
  assert.deepEqual(verdicts.flatMap(faultsOf), [], all)
  assert.equal(faults.length, only.length, all)
  assert.ok(verdicts[0]!.acknowledged > 50, all)
}

// Two at a time, each with servers and processes of its own: most of their time is silences and restarts that they wait for.
describe('a database that moves', { skip, concurrency: 2 }, () => {
  test('sessions end, paths are cut, a process is killed: nothing is lost, doubled or foreign', () =>
    suffer(['terminate', 'cut', 'read-only', 'kill']))

  test('handlers contend for rows, change their sessions and sleep, sessions end and stay read-only: nothing is lost, doubled or stuck', () =>
    suffer(['contention', 'settings', 'sleeping', 'terminate-restart', 'read-only-role']))

  test('paths go silent, a process stands still, a server starts again: nothing is lost, doubled or foreign', () =>
    suffer(['silence', 'pause', 'restart', 'failover']))

  test('processes restart one after the other, one is stopped on a silent path, webhooks go to a spool: no request fails that must not', () =>
    suffer(['rolling', 'silence-stop', 'spool']))

  test('another server takes over, the database is an earlier one: nothing is reused, missed or foreign', () =>
    suffer(['silence-elsewhere', 'failover-async', 'restore']))

  test('a newer version breaks the schema, an address names both servers: nothing is run twice at a time, lost or foreign', () =>
    suffer(['newer-version', 'several-hosts']))

  test(
    'a process works through PgBouncer in transaction mode: nothing is lost, doubled or foreign',
    { skip: !hasPgbouncer && 'PgBouncer is not installed' },
    () => suffer(['pooled', 'terminate'], 'pgbouncer'),
  )
})
