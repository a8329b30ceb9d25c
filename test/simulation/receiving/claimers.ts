import type { ClaimSession, OpenClaimSession } from '../../../src/storage/postgres/session/claim-session.ts'
import { StorageUnavailable } from '../../../src/storage/unavailable.ts'
import { ConnectionLost, latency, Refused } from './faults.ts'
import type { Session } from './server.ts'
import { StoredTransaction } from './storage.ts'
import type { VirtualProcess } from './virtual-time.ts'
import type { World } from './world.ts'

/** The rows of the claimers, and who holds the lock of each. */
export class Claimers {
  readonly rows = new Map<number, Session | undefined>()
  #last = 0

  enlist(session: Session): number {
    this.#last += 1
    this.rows.set(this.#last, session)
    return this.#last
  }

  missing(): number[] {
    return [...this.rows].filter(([, session]) => !session?.open).map(([id]) => id)
  }
}

/** What the real claimer does with a session and an advisory lock, done with the simulated server. */
export function simulatedClaimSessions(world: World, process: VirtualProcess): OpenClaimSession {
  const { server, claimers, chance, trace } = world
  const pause = (): Promise<void> =>
    new Promise((resolve) => process.after(latency(world.weather, chance), resolve))

  return (onBroken) => {
    let session: Session | undefined
    const asked = async (): Promise<void> => {
      await pause()
      if (!session?.open) throw new ConnectionLost()
    }
    return {
      async enlist(id) {
        await pause()
        if (!server.up) throw new StorageUnavailable(new Refused())
        if (id !== undefined && !claimers.rows.has(id)) return undefined
        session = server.connect(process)
        session.onLost = () => onBroken(new ConnectionLost())
        const number = id ?? claimers.enlist(session)
        claimers.rows.set(number, session)
        trace(process.name, `is claimer ${number}`)
        return { id: number, held: true }
      },
      async findMissing() {
        await asked()
        return claimers.missing()
      },
      async takeOver(ids, former) {
        let changes = 0
        for (const id of ids)
          if (!claimers.rows.get(id)?.open) changes += await takeOver(world, process, id, former.includes(id))
        return changes
      },
      async leave(id) {
        claimers.rows.delete(id)
      },
      async end() {
        if (!session) return
        session.onLost = () => undefined
        session.close()
      },
    } satisfies ClaimSession
  }
}

async function takeOver(
  { claimers, storage, trace }: World,
  { name }: VirtualProcess,
  id: number,
  former: boolean,
): Promise<number> {
  claimers.rows.delete(id)
  const transaction = storage.begin()
  const suspects = former ? 'alone_at = null' : 'crashes = coalesce(crashes, 0)'
  const sql = `update event_queue set claim = null, leased_until = null, ${suspects} where status = 'pending' and claim like ?`
  let done = storage.run(transaction, sql, [`${id}:%`])
  while (done instanceof StoredTransaction) {
    await done.ended
    done = storage.run(transaction, sql, [`${id}:%`])
  }
  storage.commit(transaction)
  trace(name, `takes over ${done.changes} of claimer ${id}`)
  return done.changes
}
