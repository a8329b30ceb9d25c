import type { CompiledQuery, QueryResult } from 'kysely'
import type { ClosingStatement } from '../database.ts'
import { StorageUnavailable } from '../unavailable.ts'

/** An open transaction of an engine, in which parts take their turns. */
export interface Carrier {
  /** Begins a part that can be undone without the others. @throws when the transaction has ended under its parts. */
  enter(): void
  /** @param own whether it is a statement of the service, which bounds its time, not one of a handler. Default false. */
  run(query: CompiledQuery, own?: boolean): QueryResult<unknown> | Promise<QueryResult<unknown>>
  /**
   * Runs statements that answer no rows, in any order; rejects when one of them fails, and then what of the others was done is
   * not known. Only where what is sent waits for its answer.
   */
  runTogether?(queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]>
  /**
   * Ends the part; `queried` tells whether a statement of it has been answered.
   * @throws when one of them failed and nobody undid that, or the transaction has ended under its parts.
   */
  keep(queried: boolean): void
  /** @throws when the transaction has ended under its parts. */
  undo(): void
  /** Resolves when everything is durable. @param closing a statement that goes out first */
  commit(closing?: ClosingStatement): Promise<void>
  /** Rolls everything back, whatever state it is in; `broken` when a statement is still under way. Never throws. */
  drop(broken?: boolean): Promise<void>
  /** Whether somebody waits for what this transaction holds, so that it had better end soon. */
  wanted(): boolean
}

/**
 * Opens a transaction. `share`, for one part alone: who shares a limited number of connections with others of its kind.
 * @throws StorageUnavailable; the signal's reason, when it is aborted while there is no connection to be had.
 */
export type OpenCarrier = (share: string | undefined, signal: AbortSignal) => Promise<Carrier>

/** A commit that several parts shared has failed, maybe because of one of them: each is to be tried alone. */
export class SharedCommitFailed extends Error {
  constructor(cause: unknown) {
    super('the commit that this work shared with others has failed', { cause })
    this.name = 'SharedCommitFailed'
  }
}

/** What the parts of a transaction that has failed are told. */
export function failureOf(alone: boolean, cause: unknown): Error {
  if (!alone && !(cause instanceof StorageUnavailable)) return new SharedCommitFailed(cause)
  return cause instanceof Error ? cause : new Error('the transaction has failed', { cause })
}

/** A statement, a trigger or the engine itself ended the transaction that others had a part in. */
export class EndedUnderItsParts extends Error {
  constructor() {
    super('a statement has ended the transaction, which is not the work of a statement')
    this.name = 'EndedUnderItsParts'
  }
}
