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
