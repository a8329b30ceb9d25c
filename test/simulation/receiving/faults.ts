import { StorageUnavailable } from '../../../src/storage/unavailable.ts'
import type { Chance } from '../../harness/chance.ts'

/** How probable things are that go wrong at each step. */
export interface Weather {
  /** A statement fails as one with a broken constraint, or a serialization failure, does. */
  readonly statementFails: number
  /** The connection breaks before a statement, or behind it, before its answer. */
  readonly connectionBreaks: number
  /** A commit fails, and nothing is kept. */
  readonly commitFails: number
  /** A commit is kept, and its answer is lost. */
  readonly answerIsLost: number
  /** An answer takes seconds. */
  readonly slow: number
  /** A notification never comes. */
  readonly signalIsLost: number
}

export const calm: Weather = {
  statementFails: 0,
  connectionBreaks: 0,
  commitFails: 0,
  answerIsLost: 0,
  slow: 0,
  signalIsLost: 0,
}

export const rough: Weather = {
  statementFails: 0.01,
  connectionBreaks: 0.004,
  commitFails: 0.03,
  answerIsLost: 0.03,
  slow: 0.004,
  signalIsLost: 0.1,
}

export const stormy: Weather = {
  statementFails: 0.04,
  connectionBreaks: 0.02,
  commitFails: 0.12,
  answerIsLost: 0.12,
  slow: 0.02,
  signalIsLost: 0.5,
}

/** Milliseconds from a question to the database to what it does, or from there to its answer. */
export function latency(weather: Weather, chance: Chance): number {
  if (chance.is(weather.slow)) return 12_000 * chance.next()
  return chance.is(0.03) ? 40 * chance.next() : 0.4 * chance.next()
}

/** As a constraint, or a serialization failure, is told. */
export class StatementFailed extends Error {
  constructor() {
    super('the statement has failed, as the weather has it')
    this.name = 'StatementFailed'
  }
}

export class ConnectionLost extends Error {
  /** As Node.js has it. */
  readonly code = 'ECONNRESET'

  constructor() {
    super('the connection is lost')
    this.name = 'ConnectionLost'
  }
}

export class Refused extends Error {
  readonly code = 'ECONNREFUSED'

  constructor() {
    super('nobody takes connections there')
    this.name = 'Refused'
  }
}

/** What SQLite says at a commit for which there is no room, or that a constraint forbids. */
export function commitFailure(chance: Chance): Error {
  return chance.is(0.5)
    ? new StorageUnavailable(new Error('database or disk is full'))
    : new StatementFailed()
}
