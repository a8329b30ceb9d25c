import type { Keyring } from '../../crypto/keyring.ts'
import type { SigningScheme, SubscribersTable, SubscriberStatus } from '../../storage/tables.ts'
import { sealHeaders } from '../dispatch/destinations.ts'
import { checkConditions, type Condition } from './conditions.ts'
import { readCustomHeaders } from './custom-headers.ts'

/** Settings of a subscriber. `null` selects the default of the service. Times in milliseconds. */
export interface SubscriberSettings {
  url: string
  description: string | null
  eventTypes: readonly string[]
  conditions: readonly Condition[] | null
  retrySchedule: readonly number[] | null
  timeout: number | null
  rateLimit: number | null
  concurrency: number | null
  headers: Readonly<Record<string, string>> | null
  ordered: boolean
  signing: SigningScheme
  httpSignature: boolean
}

/** Settings that only admins can change. */
export interface Assignment {
  owner: string | null
  operational: boolean
}

export type Given<T> = { [K in keyof T]?: T[K] | undefined }
export type NewSubscriber = Given<SubscriberSettings & Assignment> & {
  url: string
  /** A symmetric secret chosen by the caller. */
  secret?: string | undefined
  /** Default: a new one. */
  id?: string
}
export type SubscriberChange = Given<SubscriberSettings & Assignment> & {
  status?: SubscriberStatus | undefined
}

/**
 * Validates the given settings and returns their columns. The caller checks the address.
 * @param headersBefore the stored headers, which `[redacted]` stands for
 */
export function settingsColumns(
  keyring: Keyring,
  id: string,
  given: SubscriberChange,
  headersBefore: Readonly<Record<string, string>>,
): Partial<SubscribersTable> {
  const columns: Partial<SubscribersTable> = {}
  if (given.url !== undefined) columns.url = given.url
  if (given.description !== undefined) columns.description = given.description
  if (given.eventTypes !== undefined) columns.event_types = JSON.stringify([...new Set(given.eventTypes)])
  if (given.retrySchedule !== undefined)
    columns.retry_schedule = given.retrySchedule && JSON.stringify(given.retrySchedule)
  if (given.timeout !== undefined) columns.timeout_ms = given.timeout
  if (given.rateLimit !== undefined) columns.rate_limit = given.rateLimit
  if (given.concurrency !== undefined) columns.concurrency = given.concurrency
  if (given.headers !== undefined)
    columns.headers = sealHeaders(keyring, id, readCustomHeaders(given.headers ?? {}, headersBefore))
  if (given.ordered !== undefined) columns.ordered = given.ordered ? 1 : 0
  if (given.signing !== undefined) columns.signing = given.signing
  if (given.httpSignature !== undefined) columns.http_signature = given.httpSignature ? 1 : 0
  if (given.conditions !== undefined) columns.conditions = writeConditions(given.conditions)
  if (given.operational !== undefined) columns.operational = given.operational ? 1 : 0
  return columns
}

function writeConditions(conditions: readonly Condition[] | null): string | null {
  if (conditions === null || conditions.length === 0) return null
  checkConditions(conditions)
  return JSON.stringify(conditions)
}
