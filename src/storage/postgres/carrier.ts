import type { PoolClient, QueryConfig } from 'pg'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { OpenCarrier } from '../sharing/carrier.ts'
import { StorageUnavailable, translateError } from '../unavailable.ts'
import { queryBatch } from './batch-query.ts'
import { bounded } from './bounded-query.ts'
import type { ConnectionShares } from './connection-shares.ts'
import { preparedName } from './prepared.ts'
import { toResult } from './result.ts'

/** Whose transactions the parts share that get no connection of their own. */
export const sharedByAll = 'shared'

export interface CarrierParts {
  /** Its connections send statements without waiting for the answers to those before: a savepoint then costs no round trip. */
  pool: { connect(): Promise<PoolClient> }
  shares: ConnectionShares
  /** Milliseconds that a statement may take, in place of what holds for the pool. The server does not bound it. */
  answerWithin: number
  /** Runs one statement with several lists of values. */
  together?: typeof queryBatch
}

/** Opens transactions for parts, each a savepoint. */
export function carriersOn({ pool, shares, answerWithin, together = queryBatch }: CarrierParts): OpenCarrier {
  const toQuery = queriesWithin(answerWithin)
  return async (share, signal) => {
    const leave = await shares.enter(share ?? sharedByAll, signal)
    let client: PoolClient
    try {
      client = await pool.connect()
    } catch (error) {
      leave()
      throw translateError(error)
    }
    let released = false
    /** Each part has a name of its own: where a savepoint or its release failed, another part's must not be taken for it. */
    let parts = 0
    /** A statement of the part has failed, and none has succeeded since, as after a rollback to a savepoint of its own. */
    let failed = false
    let useless = false
    const part = (): string => `savepoint postern_part_${parts}`
    const release = (broken: boolean): void => {
      if (released) return
      released = true
      client.release(broken)
      leave()
    }
    /** Statements that need no answer: the next one takes them along. */
    const unsent = ['begin; set local statement_timeout to default']
    /** What fails here makes the statements after it fail, up to the commit, which tells. */
    const send = (): void => {
      if (unsent.length > 0) client.query(unsent.splice(0).join('; '), () => undefined)
    }
    return {
      wanted: () => false,
      enter() {
        parts += 1
        failed = false
        unsent.push(part())
      },
      async run(query, own = false) {
        send()
        try {
          const statement = own ? { ...toQuery(query), query_timeout: endedWithin } : toQuery(query)
          const result = toResult(await client.query(statement))
          failed = false
          return result
        } catch (error) {
          failed = true
          const failure = translateError(error)
          // Another connection may lead to a server that can do it.
          useless ||= failure instanceof StorageUnavailable
          throw failure
        }
      },
      async runTogether(queries) {
        send()
        const byText = new Map<string, number[]>()
        for (const [index, { sql }] of queries.entries()) {
          const places = byText.get(sql)
          if (places) places.push(index)
          else byText.set(sql, [index])
        }
        const results: QueryResult<unknown>[] = []
        const batches = [...byText].map(async ([text, places]) => {
          const all = places.map((place) => queries[place]!.parameters)
          const counts = await together(client, { text, name: nameOf(text), answerWithin }, all)
          for (const [index, place] of places.entries())
            results[place] = { rows: [], numAffectedRows: BigInt(counts[index]!) }
        })
        try {
          await Promise.all(batches)
          failed = false
          return results
        } catch (error) {
          failed = true
          // Before the answers to all are there nothing more is to be asked.
          await Promise.allSettled(batches)
          throw translateError(error)
        }
      },
      keep(queried) {
        // Of statements that were not answered yet nothing is known, and of one that failed the error comes before the status.
        if (failed || (queried && client.getTransactionStatus() === 'E'))
          throw new Error('a statement in the transaction failed, so it was rolled back')
        unsent.push(`release ${part()}`)
      },
      undo: () => void unsent.push(`rollback to ${part()}`, `release ${part()}`),
      async commit(closing) {
        send()
        try {
          const closed = closing && failureOfQuery(client.query(toQuery(closing.query)))
          // A transaction in which a statement failed answers ROLLBACK to COMMIT, without an error.
          const { command } = await client.query(commit)
          if (command !== 'COMMIT') {
            const failure = await closed
            if (failure !== undefined) throw closing!.explain(failure)
            throw new Error('a statement in the transaction failed, so it was rolled back')
          }
        } catch (error) {
          release(true)
          throw translateError(error)
        }
        release(false)
      },
      async drop(broken = false) {
        if (released) return
        try {
          // Closing the connection makes the server roll back, whatever statement is running.
          if (!broken) await client.query(rollback)
          release(broken || useless)
        } catch {
          // The connection broke: the server rolls back by itself, and the error was seen before.
          release(true)
        }
      },
    }
  }
}

/** Milliseconds that the end of a transaction may take; its statements may take what their handlers may. */
const endedWithin = 10_000
const commit = bounded(endedWithin, 'commit')
const rollback = bounded(endedWithin, 'rollback')

/** Statements that are kept prepared on each connection. */
const mostPrepared = 100
const names = new Map<string, string>()
/** Its answer has no columns: then a table that is changed does not spoil what was prepared. */
const answersNothing = /^\s*(?:insert|update|delete)\b(?![^]*\breturning\b)/i

type Sent = QueryConfig & { queryMode: 'extended'; query_timeout: number }

/** A single statement, which cannot hide the end of the transaction behind another one; prepared where that is safe. */
function queriesWithin(answerWithin: number): (query: CompiledQuery) => Sent {
  return ({ sql: text, parameters }) => {
    const name = nameOf(text)
    const query: Sent = {
      text,
      values: parameters as unknown[],
      queryMode: 'extended',
      query_timeout: answerWithin,
    }
    return name === undefined ? query : { ...query, name }
  }
}

/** What a statement failed with, `undefined` when it did not. */
function failureOfQuery(query: Promise<unknown>): Promise<unknown> {
  return query.then(
    () => undefined,
    (error: unknown) => error,
  )
}

function nameOf(text: string): string | undefined {
  let name = preparedName(text) ?? names.get(text)
  if (name === undefined && names.size < mostPrepared && answersNothing.test(text))
    names.set(text, (name = `postern_part_${names.size}`))
  return name
}
