/** What one webhook with its handler, or one delivery with its share of the event, costs. */
export interface Cost {
  /** Milliseconds of CPU of the Postern processes. */
  posternMs: number
  /** Milliseconds of CPU of the PostgreSQL primary. */
  postgresMs: number
  /** Bytes of PostgreSQL's write-ahead log. */
  walBytes: number
  /** Syncs of the write-ahead log. */
  syncs: number
}

/** What the machine of one cell's primary has. */
export interface Primary {
  cores: number
  /** Bytes of write-ahead log that its disk takes in a second. */
  walBytesPerSecond: number
  /** Syncs that its disk does in a second, one after the other. */
  syncsPerSecond: number
}

export const defaultPrimary: Primary = { cores: 16, walBytesPerSecond: 250e6, syncsPerSecond: 1_000 }

export function mixOf(received: Cost, delivered: Cost, share: number): Cost {
  const mix = (key: keyof Cost): number => received[key] * share + delivered[key] * (1 - share)
  return {
    posternMs: mix('posternMs'),
    postgresMs: mix('postgresMs'),
    walBytes: mix('walBytes'),
    syncs: mix('syncs'),
  }
}

export interface Limit {
  /** What ends first. */
  of: 'CPU' | 'write-ahead log' | 'syncs'
  perSecond: number
}

/** Events that one primary takes in a second when it does nothing else, and what ends it. */
export function limitOf(cost: Cost, primary: Primary): Limit {
  const limits: Limit[] = [
    { of: 'CPU', perSecond: (primary.cores * 1000) / cost.postgresMs },
    { of: 'write-ahead log', perSecond: primary.walBytesPerSecond / cost.walBytes },
    // More commits share a sync when syncs are scarce, so this limit is a low estimate.
    { of: 'syncs', perSecond: primary.syncsPerSecond / cost.syncs },
  ]
  return limits.reduce((least, limit) => (limit.perSecond < least.perSecond ? limit : least))
}
