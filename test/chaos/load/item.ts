import { createHash } from 'node:crypto'

export const tenants = ['acme', 'globex'] as const
export type Tenant = (typeof tenants)[number]

/** What is in each payload, and again in what is emitted. */
export interface Content {
  tenant: Tenant
  number: number
  /** Follows from the id, so that who gets it can tell whether it belongs to it. */
  text: string
}

/**
 * `holds`: waits with its transaction open. `locks`: reads, and then updates one of a few rows. `settings`: changes its session, inside of
 * a block. `sleeps`: its first run has a statement that never ends.
 */
export type Manner = 'holds' | 'locks' | 'settings' | 'sleeps'

/** Of a webhook, what its handler is to do besides. */
export interface Work extends Content {
  /** Milliseconds that the handler takes. */
  lasts: number
  /** Whether the handler emits an event. */
  follow: boolean
  /** What the handler does to the database besides its work. */
  manner?: Manner
  /** Handled in order with those of the same key. */
  key?: string
}

/** A webhook or an emitted event, of which every acknowledged one must have its effect. */
export interface Item {
  readonly id: string
  readonly kind: 'webhook' | 'event'
  readonly content: Content
  acknowledgedAt: number | undefined
  /** When its effect was seen: a row of its handler, or its arrival at the last of its subscribers. */
  doneAt: number | undefined
  /** It was acknowledged by a server whose data are lost. */
  inLostWindow: boolean
}

export function idOf(prefix: string, { tenant, number }: Pick<Content, 'tenant' | 'number'>): string {
  return `${prefix}-${tenant}-${number}`
}

export function textOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').repeat(4)
}
