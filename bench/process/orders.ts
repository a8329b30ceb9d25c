// What every side writes for an event, and how it is counted afterwards.
import type { Generated } from 'kysely'
import { join } from 'node:path'
import { execute, type BenchDatabase, type EngineName } from '../harness/databases.ts'

/** The part of load/sample.ts that a handler reads. */
export interface Payload {
  id: string
  type: string
  data: { order: number; customer: string; currency: string }
}

/** The handler's own table. Nothing in it forbids a second row for an event: that is what is checked. */
export interface OrderTable {
  id: Generated<number>
  event_id: string
  number: number
  customer: string
  currency: string
}

const orders: Record<EngineName, string> = {
  sqlite: `create table orders (id integer primary key, event_id text not null, number integer not null,
    customer text not null, currency text not null) strict`,
  postgres: `create table orders (id bigint generated always as identity primary key, event_id text collate "C" not null,
    number bigint not null, customer text not null, currency text not null)`,
}

/** The bookkeeping that makes effects happen once where a queue delivers at least once. */
const markers: Record<EngineName, string> = {
  sqlite:
    'create table processed_events (event_id text primary key, processed_at integer not null) strict, without rowid',
  postgres:
    'create table processed_events (event_id text collate "C" primary key, processed_at bigint not null)',
}

/** Creates the handler's table. */
export function createOrders(database: BenchDatabase): Promise<void> {
  return execute(database, orders[database.engine])
}

/** Creates the handler's table and one of processed events, for sides that bring no bookkeeping of their own. */
export async function createOrdersAndMarkers(database: BenchDatabase): Promise<void> {
  if (database.engine === 'sqlite') await execute(database, 'pragma journal_mode = wal')
  await createOrders(database)
  await execute(database, markers[database.engine])
}

/** The environment that gives the service the handler. */
export const handler = { POSTERN_CONFIG: join(import.meta.dirname, 'handler.config.ts') }
