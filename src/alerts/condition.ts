import type { Attention } from '../http/attention.ts'
import { printable } from '../telemetry/printable.ts'

/** What needs attention, as destinations are told of it. */
export interface Condition {
  kind: Attention['kind']
  severity: Attention['severity']
  /** The subject, as `topic:id`: with the kind, it identifies the condition. */
  about: string
  /** Milliseconds since 1970; null if unknown. */
  since: number | null
  /** A sentence without its full stop, in one line. */
  text: string
  /** The path of the page that shows it, below BASE_URL. */
  path: string
}

const pages: Record<Attention['about']['topic'], (id: string) => string> = {
  handler: (id) => `/failures?handler=${encodeURIComponent(id)}`,
  subscriber: (id) => `/subscribers/${encodeURIComponent(id)}`,
  source: (id) => `/sources/${encodeURIComponent(id)}`,
  key: () => '/system/keys',
  worker: () => '/system/queues',
  database: () => '/system/queues',
  spool: () => '/system/queues',
}

export function conditionOf({ kind, severity, text, since, about: { topic, id } }: Attention): Condition {
  return {
    kind,
    severity,
    about: `${topic}:${id}`,
    since,
    // It may quote what a tenant wrote, who must not add lines of their own or turn the direction of ours.
    text: printable(text.replaceAll(/\s+/g, ' ').replace(/\.$/, '')),
    path: `/dashboard${pages[topic](id)}`,
  }
}
