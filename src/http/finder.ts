import type { Scope } from './access/scopes.ts'

/** What the search of all things finds. */
export const foundKinds = [
  'event',
  'order-key',
  'delivery',
  'subscriber',
  'customer',
  'event-type',
  'source',
  'handler',
  'user',
  'session',
  'app',
  'key',
] as const

export interface Found {
  kind: (typeof foundKinds)[number]
  /** By which its page is found. */
  id: string
  title: string
  /** More about it, for one line. */
  detail: string | null
}

/** What one module contributes to the search of all things. */
export interface Finder {
  /** The scope that a caller needs to see it. */
  readonly scope: Scope
  /**
   * Finds a few things by an id, or by the beginning or a part of a name, by indexes or among a bounded number of rows.
   * @param text without spaces at its ends, and not empty
   */
  find(text: string): Promise<Found[]>
}

/** Things of one kind that one search shows. */
export const mostFound = 5

/** Whether a name contains a text, ignoring case. */
export function contains(name: string | null | undefined, text: string): boolean {
  return name?.toLowerCase().includes(text.toLowerCase()) === true
}
