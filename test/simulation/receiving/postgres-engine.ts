import type { PoolClient } from 'pg'
import type { PreparedStatement } from '../../../src/storage/postgres/driver/queries.ts'
import {
  openOwnTransaction,
  postgresTransactions,
} from '../../../src/storage/postgres/transaction/transaction-driver.ts'
import { ConnectionShares } from '../../../src/storage/postgres/pool/connection-shares.ts'
import { lazyTransactions } from '../../../src/storage/lazy-transaction.ts'
import { Claimer, type LeaveClaimer } from '../../../src/storage/postgres/session/claimer.ts'
import {
  type BeforeCommit,
  SharedTransactionQueue,
} from '../../../src/storage/sharing/shared-transaction-queue.ts'
import { LocalSignals } from '../../../src/storage/signals.ts'
import { translateError } from '../../../src/storage/unavailable.ts'
import type { SqliteConnection } from '../../../src/storage/sqlite/connection.ts'
import type { PostgresDatabase, Signal, SqliteDatabase } from '../../../src/storage/database.ts'
import {
  advance,
  orderKeysOf,
  type ClaimedEvent,
  type ClaimInserts,
  type IncomingEvent,
  type InsertLeases,
  insertWithClaim,
  type ProcessedMarker,
} from '../../../src/receiving/queue/store.ts'
import { insertEvents } from '../../../src/receiving/sqlite/insert-events.ts'
import { sqliteEventQueue } from '../../../src/receiving/sqlite/store.ts'
import { simulatedClaimSessions } from './claimers.ts'
import { ConnectionLost, latency, Refused } from './faults.ts'
import type { Engine } from './engine.ts'
import { SimulatedPool } from './postgres-pool.ts'
import { asConnection } from './sqlite-engine.ts'
import type { StoredTransaction } from './storage.ts'
import type { VirtualProcess } from './virtual-time.ts'
import { readerOver } from './reader.ts'
import type { World } from './world.ts'

/**
 * PostgreSQL as one of its processes has it: the real transaction driver and transactions over a simulated server. The statements of
 * the event queue are SQLite's, each at once; locked rows are passed over where the real ones do so.
 */
export function postgresEngine(world: World, process: VirtualProcess, connections: number): Engine {
  const { storage, server, chance } = world
  const pool = new SimulatedPool(world, process, connections).asPool
  const handlersPool = new SimulatedPool(world, process, connections).asPool
  const shares = new ConnectionShares(connections)
  const signals = new LocalSignals(process)
  const claimer = new Claimer({
    open: simulatedClaimSessions(world, process),
    clock: process,
    elapsed: () => process.elapsed(),
    onError: (error) => world.trace(process.name, `the session of its claims: ${String(error)}`),
  })

  /** A statement that is a transaction by itself. */
  function ask<T>(work: () => Promise<T> | T): Promise<T> {
    return new Promise((resolve, reject) => {
      const unavailable = (cause: Error): void => {
        const error = translateError(cause)
        reject(error instanceof Error ? error : cause)
      }
      process.after(latency(world.weather, chance), () => {
        if (!server.up) return unavailable(new Refused())
        if (chance.is(world.weather.connectionBreaks)) return unavailable(new ConnectionLost())
        Promise.resolve(work()).then((value) => {
          process.after(latency(world.weather, chance), () => {
            if (chance.is(world.weather.connectionBreaks)) unavailable(new ConnectionLost())
            else resolve(value)
          })
        }, unavailable)
      })
    })
  }

  const passingOver = (sql: string): string =>
    sql.replace('leased_until <= ?)\n    order by', 'leased_until <= ?) and not locked(event) order by')
  const readConnection = asConnection((sql, parameters) => storage.read(sql, parameters))
  const queue = sqliteEventQueue({
    database: {
      engine: 'sqlite',
      file: '/nowhere',
      readConnection,
      batch: async <T>(_lane: string, work: (connection: SqliteConnection) => T) =>
        storage.atOnce((run) => work(asConnection((sql, parameters) => run(passingOver(sql), parameters)))),
    } as unknown as SqliteDatabase,
    clock: process,
    onError: () => undefined,
    onMoved: () => undefined,
  })

  let choose: ClaimInserts | undefined
  let leave: LeaveClaimer | undefined

  const { transaction } = lazyTransactions({
    engine: 'postgres',
    open: () => openOwnTransaction(pool),
    clock: process,
  })

  return {
    database: {
      engine: 'postgres',
      reader: readerOver((sql, parameters) => ask(() => storage.read(sql, parameters))),
      transaction,
      signal: (name: Signal) => world.notify(name),
      signalOthers: (name: Signal) => world.notify(name),
      onSignal: (name: Signal, listener: () => void) => signals.on(name, listener),
      onSetBack: () => () => undefined,
    } as unknown as PostgresDatabase,
    signals,
    store: {
      commits: 2,
      shareSlots: (asked, now) => {
        const me = claimer.id
        return ask(() => world.slots.share(me, asked, now))
      },
      insert: () => Promise.reject(new Error('not by the worker')),
      pendingKinds: (after, limit, now) => ask(() => queue.pendingKinds(after, limit, now)),
      kindsAtWork: (kinds, now) => ask(() => queue.kindsAtWork(kinds, now)),
      newClaim: () => `${claimer.id}:${world.newName('claim')}`,
      claim: (wanted, claim, now) => ask(() => queue.claim(wanted, claim, now)),
      async markProcessed(tx, marks) {
        // The check of the claims is the real one of SQLite, the locks of the keys are PostgreSQL's.
        await queue.markProcessed(
          tx,
          marks.map((mark) => ({ ...mark, orderKey: null })),
        )
        await advance('postgres', tx, orderKeysOf(marks))
      },
      async acquireSession(listener) {
        leave = await claimer.join(listener)
      },
      releaseSession: async (clean) => leave?.(clean),
      claimInserts(by) {
        choose = by
      },
      close: () => Promise.resolve(),
    },
    share: (beforeCommit: BeforeCommit<ProcessedMarker>) =>
      new SharedTransactionQueue({
        engine: 'postgres',
        open: postgresTransactions({ pool: handlersPool, shares, answerWithin: 30_000, together: oneByOne }),
        beforeCommit,
        scheduler: process,
      }),
    async keep(events: readonly IncomingEvent[]) {
      const claim = choose?.(events)
      if (!claim) return ask(() => keepInOrder(world, events))
      await insertWithClaim((leases) => ask(() => keepClaimed(world, events, leases)), claim)
    },
    kill: () => server.endSessionsOf(process),
  }
}

/** Under the locks of the order keys, as the real one: the statements between lock and commit are one moment here. */
async function keepInOrder({ storage, notify }: World, events: readonly IncomingEvent[]): Promise<void> {
  const transaction = storage.begin()
  const keys = orderKeysOf(events)
  for (let holder: StoredTransaction | undefined; (holder = storage.lockKeys(transaction, keys));)
    await holder.ended
  storage.rollBack(transaction)
  storage.atOnce((run) => insertEvents(asConnection(run), events))
  notify('event_queue')
}

const claimStored = `
  update event_queue set claim = ?, leased_until = ? where source = ? and event_id = ?
  returning event, claim, source, event_id as eventId, type, attempts + 1 as attempts, attempts_before as attemptsBefore, order_key as orderKey`

/** As the real statement, claims nothing if an event was known. */
function keepClaimed(
  { storage, notify }: World,
  events: readonly IncomingEvent[],
  { claim, until }: InsertLeases,
): ClaimedEvent[] {
  return storage.atOnce((run) => {
    const connection = asConnection(run)
    if (insertEvents(connection, events).length > 0) {
      notify('event_queue')
      return []
    }
    return [...until].map(([{ source, eventId, payload, headers, receivedAt }, leasedUntil]) => {
      const row = connection.get<ClaimedEvent>(claimStored, [claim, leasedUntil, source, eventId])!
      return Object.assign(row, { payload, headers, receivedAt })
    })
  })
}

/** As far as anybody sees: an answer for each statement, and none was done behind one that failed. */
async function oneByOne(
  client: PoolClient,
  { text }: PreparedStatement,
  all: readonly (readonly unknown[])[],
): Promise<number[]> {
  const answers = await Promise.all(all.map((values) => client.query({ text, values: [...values] })))
  return answers.map(({ rowCount }) => rowCount ?? 0)
}
