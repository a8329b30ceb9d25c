/** What a matter is about, by which a page links to it. */
export const attentionTopics = [
  'handler',
  'subscriber',
  'source',
  'key',
  'worker',
  'database',
  'spool',
] as const

/** The matters. The names are stable, because people choose by them what they are told of. */
export const attentionKinds = [
  'subscriber-failing',
  'subscriber-disabled',
  'subscriber-secret-ends',
  'handler-failing',
  'event-loop',
  'work-stalls',
  'refusals-rising',
  'source-secret-ends',
  'source-secret-ended',
  'key-expires',
  'disk-fills',
  'spooling',
  'spool-full',
  'spool-unavailable',
] as const
export type AttentionKind = (typeof attentionKinds)[number]

/** Something that an operator should look at. */
export interface Attention {
  readonly kind: AttentionKind
  /** `error`: something fails now. `warning`: something will, unless somebody acts. */
  readonly severity: 'error' | 'warning'
  /** One sentence in plain words. */
  readonly text: string
  /** Milliseconds since 1970; null if that is not known. */
  readonly since: number | null
  readonly about: { readonly topic: (typeof attentionTopics)[number]; readonly id: string }
}

/** Matters of one kind that are listed. */
export const mostOfAKind = 20

/** Returns what needs attention in one module. It must read by indexes, and a bounded number of rows. */
export type FindAttention = (now: number) => Promise<Attention[]>

/** `1 event`, `2 events`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Characters of a quotation. */
const longestQuotation = 60

/**
 * What a customer or a user wrote, for a sentence to operators: one line, short, without characters that are not seen or that turn the
 * direction of text, and without addresses that a reader could follow. The formats of alerts escape what is markup for them.
 */
export function quoted(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/:\/\/+/g, ': ')
    .trim()
  return line.length > longestQuotation ? `${line.slice(0, longestQuotation).toWellFormed()}…` : line
}
