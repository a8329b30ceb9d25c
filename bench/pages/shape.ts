import type { Database } from '../../src/storage/database.ts'

/** How many rows there are of each kind. */
export interface Shape {
  events: number
  /** Four of each emitted event; every fourth event is emitted. */
  deliveries: number
  subscribers: number
  users: number
  auditRows: number
  groups: number
  /** Milliseconds since 1970: the time of the newest row. */
  now: number
}

/** Within the retention of all tables, which is 30 days for events. */
const days = 28
export const day = 86_400_000

export function shapeOf(events: number): Shape {
  return {
    events,
    deliveries: events,
    subscribers: 2_000,
    users: Math.ceil(events / 10),
    auditRows: Math.ceil(events / 5),
    groups: 400,
    now: Date.now(),
  }
}

/** The expression of the time of row `n` of so many, spread evenly over the days. */
export function timeOf({ now }: Shape, count: number, n = 'n'): string {
  return `(${big(now - days * day)} + ${big(Math.floor((days * day) / count))} * (${n}))`
}

/** A number that PostgreSQL counts with 64 bits. */
export const big = (value: number): string => `cast(${value} as bigint)`

/** The expression of a text as bytes. */
export function bytesOf({ engine }: Database, text: string): string {
  return engine === 'sqlite' ? `cast(${text} as blob)` : `convert_to(${text}, 'UTF8')`
}

/** The expression that takes one of the texts by a number. */
export function oneOf(texts: readonly string[], n: string): string {
  const cases = texts.map((text, index) => `when ${index} then '${text}'`).join(' ')
  return `(case (${n}) % ${texts.length} ${cases} end)`
}

/** The expression of a character by its number. */
export function characterOf({ engine }: Database, code: number): string {
  return `${engine === 'sqlite' ? 'char' : 'chr'}(${code})`
}

/** The id of row `number` of a table, in the form of the ids that Postern makes. */
export const idOf = (number: number): string => `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`
export const groupOf = (number: number): string => String(number).padStart(24, '0')
export const customerOf = (number: number): string => `customer-${number}`
/** The app that people are signed in to. */
export const client = { id: 'console', secret: 'bench-secret-of-the-console-0123456789' }
/** Customers with three subscribers each. */
export const customers = 300
/** The owner of half of the subscribers. */
export const largestOwner = 'acme'
export const sources = ['provider', 'shop', 'billing', 'crm'] as const
export const receivedTypes = [
  'order.paid',
  'order.refunded',
  'invoice.paid',
  'customer.created',
  'stock.changed',
] as const
export const emittedTypes = ['order.confirmed', 'parcel.sent', 'parcel.delivered', 'invoice.sent'] as const
