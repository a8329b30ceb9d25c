import { join } from 'node:path'
import type { EngineName } from '../harness/databases.ts'

/** One way of running the service. */
export interface Variant {
  title: string
  /** In a round. */
  requests: number
  engines: readonly EngineName[]
  args?: readonly string[]
  env?: Readonly<Record<string, string>>
  /** Whether this process handles the events while more of them come. */
  handles?: true
  /** Whether it is measured beside what the generator reaches. */
  sockets?: true
}

const handler = { POSTERN_CONFIG: join(import.meta.dirname, 'handler.config.ts') }
const both = ['sqlite', 'postgres'] as const

export const bareRequests = 60_000

/** The first is what the bounds are about; the others tell what the workers of the same process take from it. */
const variants: readonly Variant[] = [
  { title: 'Postern', requests: bareRequests, engines: both, sockets: true },
  {
    title: 'Postern, handling the events at the same time',
    // Every handled event takes a transaction of its own, so fewer of them fill a round.
    requests: 10_000,
    env: handler,
    handles: true,
    engines: both,
  },
  {
    title: 'Postern --only http, with a handler elsewhere',
    requests: bareRequests,
    env: handler,
    args: ['--only', 'http'],
    engines: ['postgres'],
  },
]

export function variantsOn(engine: EngineName): Variant[] {
  return variants.filter(({ engines }) => engines.includes(engine))
}
