import { countOf, mostOfAKind, quoted, type Attention } from '../http/attention.ts'
import type { Database } from '../storage/database.ts'
import { readFailing } from './failure-groups/failing.ts'
import type { PlanOf } from './handlers/plan.ts'
import { secretsEnd } from './schemes/create-scheme.ts'
import type { Scheme } from './schemes/scheme.ts'
import { isoTime } from '../runtime/iso-time.ts'

const day = 86_400_000
/** Milliseconds before the end of a secret from which on it needs attention. */
const notice = 7 * day

interface Failing {
  retrying: number
  failed: number
  since: number
  /** The error of its newest failure. */
  cause: string
}

/** Handlers whose events failed within the last day and were not processed since. */
export async function failingHandlers(
  { readerAside }: Pick<Database, 'readerAside'>,
  planOf: PlanOf,
  now: number,
): Promise<Attention[]> {
  const byHandler = new Map<string, Failing>()
  for (const group of await readFailing(readerAside, now - day)) {
    const { handlers } = planOf(group.source, group.type)
    // The handler may be gone from the configuration.
    const handler = handlers.find(({ id }) => id === group.handler) ?? handlers[0]
    if (!handler) continue
    const failing = byHandler.get(handler.id) ?? {
      retrying: 0,
      failed: 0,
      since: group.since,
      cause: quoted(`${group.name}: ${group.message}`).replace(/[.!]$/, ''),
    }
    failing.failed += group.failed
    failing.retrying += group.retrying
    failing.since = Math.min(failing.since, group.since)
    byHandler.set(handler.id, failing)
  }
  return [...byHandler].slice(0, mostOfAKind).map(([id, failing]) => describeHandler(id, failing))
}

function describeHandler(id: string, { retrying, failed, since, cause }: Failing): Attention {
  const parts = [
    ...(retrying > 0 ? [`${countOf(retrying, 'event')} will be retried`] : []),
    ...(failed > 0 ? [`${countOf(failed, 'event')} failed after the last attempt`] : []),
  ]
  const [, source] = /^forwardTo:(.*)$/.exec(id) ?? []
  const name = source === undefined ? `Handler ${id}` : `Forwarding from ${source}`
  return {
    kind: 'handler-failing',
    severity: 'error',
    text: `${name} is failing: ${cause}. ${parts.join(', ')}.`,
    since,
    about: source === undefined ? { topic: 'handler', id } : { topic: 'source', id: source },
  }
}

/** Sources with a secret that ends soon, or that have none that verifies now. */
export function endingSecrets(sources: ReadonlyMap<string, Scheme>, now: number): Attention[] {
  return [...sources].flatMap(([id, scheme]): Attention[] => {
    const { last, next, again } = secretsEnd(scheme, now)
    const until = again === Infinity ? '' : ` until ${utc(again)}`
    const about = { topic: 'source', id } as const
    if (last <= now)
      return [
        {
          kind: 'source-secret-ended',
          severity: 'error',
          text: `Source ${id} has no valid secret: all its webhooks are rejected${until}.`,
          since: Number.isFinite(last) ? last : null,
          about,
        },
      ]
    if (last <= now + notice)
      return [
        {
          kind: 'source-secret-ends',
          severity: 'error',
          text: `The last secret of source ${id} expires at ${utc(last)}. Its webhooks are rejected after that${until}.`,
          since: null,
          about,
        },
      ]
    if (next > now + notice) return []
    return [
      {
        kind: 'source-secret-ends',
        severity: 'warning',
        text: `A secret of source ${id} expires at ${utc(next)}. Make sure that the sender signs with the other one.`,
        since: null,
        about,
      },
    ]
  })
}

function utc(time: number): string {
  return `${isoTime(time).slice(0, 16).replace('T', ' ')} UTC`
}
