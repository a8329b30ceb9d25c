import { setTimeout as wait } from 'node:timers/promises'
import { now } from '../now.ts'
import type { World } from '../world.ts'
import { last, type Fault } from './fault.ts'

/** What was acknowledged before is in the database, and none of it in a spool: it is not in the window of what is lost. */
async function moved(spoolsEmpty: World['spoolsEmpty']): Promise<void> {
  if (!(await spoolsEmpty(30_000))) throw new Error('a spool is not emptied')
}

const restart: Fault = {
  name: 'restart',
  async run({ cluster }, chance) {
    await cluster.primary.stop(chance.is(0.7) ? 'immediate' : 'fast')
    const away = await last(chance.ms(0, 5_000))
    await cluster.primary.start()
    return `away for ${away}`
  },
}

const failover: Fault = {
  name: 'failover',
  prepare: ({ cluster }) => cluster.prepare({ synchronous: true }),
  async run({ cluster }, chance) {
    await cluster.primary.kill()
    const away = await last(chance.ms(500, 4_000))
    const former = await cluster.promote()
    cluster.lead()
    await former.discard()
    return `synchronous, promoted after ${away}`
  },
}

const failoverAsync: Fault = {
  name: 'failover-async',
  prepare: ({ cluster }) => cluster.prepare({ synchronous: false }),
  async run({ cluster, ledger, spoolsEmpty }, chance) {
    const from = now()
    await moved(spoolsEmpty)
    await cluster.cutStream()
    const behind = await last(chance.ms(500, 4_000))
    await cluster.primary.kill()
    await wait(chance.ms(500, 3_000))
    const former = await cluster.promote()
    ledger.lose(from, now())
    cluster.lead()
    await former.discard()
    return `the standby was ${behind} behind`
  },
}

const restore: Fault = {
  name: 'restore',
  prepare: ({ cluster }) => cluster.dropStandby(),
  async run({ cluster, ledger, spoolsEmpty }, chance) {
    const from = now()
    await moved(spoolsEmpty)
    const backup = cluster.newFolder()
    await cluster.primary.backUpTo(backup)
    const behind = await last(chance.ms(500, 4_000))
    await cluster.primary.stop()
    cluster.primary.restore(backup)
    ledger.lose(from, now())
    await cluster.primary.start()
    return `of ${behind} before`
  },
}

const demoted: Fault = {
  name: 'demoted',
  prepare: ({ cluster }) => cluster.prepare({ synchronous: true }),
  async run({ cluster }, chance) {
    await cluster.primary.stop()
    await wait(chance.ms(0, 1_000))
    const former = await cluster.promote()
    // The address leads to the former primary, which is a standby now.
    former.follow(cluster.primary.url)
    await former.start()
    const wrong = await last(chance.ms(1_000, 10_000))
    cluster.lead()
    await former.discard()
    return `the address led to a standby for ${wrong}`
  },
}

export const serverFaults: readonly Fault[] = [restart, failover, failoverAsync, restore, demoted]
