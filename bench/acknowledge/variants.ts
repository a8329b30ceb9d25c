import { join } from 'node:path'
import type { EngineName } from '../harness/databases.ts'

/** One way of running the service. */
export interface Variant {
  title: string
  connections: number
  /** In a round. */
  requests: number
  engines: readonly EngineName[]
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Whether this process handles the events while more of them come. */
  handles?: true
  /** Whether the bounds are about it. */
  bounded?: true
  /** Whether it is measured beside what the generator reaches. */
  sockets?: true
}

const handler = { POSTERN_CONFIG: join(import.meta.dirname, 'handler.config.ts') }
const both = ['sqlite', 'postgres'] as const

export const bareRequests = 60_000

/**
 * Two numbers of connections. `few` keep the bare server busy, but not ours: while it waits for the disk, few of 64 open requests are left to
 * read. `many` keep both busy.
 */
export const few = 64
export const many = 256

/** The bounds are about the first two; the others tell what the workers of the same process take from it. */
const variants: readonly Variant[] = [
  { title: 'Postern', connections: few, requests: bareRequests, engines: both, bounded: true, sockets: true },
  {
    title: `Postern, ${many} connections`,
    connections: many,
    requests: bareRequests,
    engines: both,
    bounded: true,
  },
  {
    title: 'Postern, handling the events at the same time',
    connections: few,
    // Every handled event takes a transaction of its own, so fewer of them fill a round.
    requests: 10_000,
    env: handler,
    handles: true,
    engines: both,
  },
  {
    title: 'Postern --only http, with a handler elsewhere',
    connections: few,
    requests: bareRequests,
    env: handler,
    args: ['--only', 'http'],
    engines: ['postgres'],
  },
]

export function variantsOn(engine: EngineName): Variant[] {
  return variants.filter(({ engines }) => engines.includes(engine))
}
