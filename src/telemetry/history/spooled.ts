import { countOf, type Attention } from '../../http/attention.ts'
import { minute, steps } from './rows.ts'
import type { HistoryStore } from './store.ts'
import { isoTime } from '../../runtime/iso-time.ts'

/** Milliseconds after its last webhook for which an outage needs attention. */
const toldFor = 15 * minute
/** Milliseconds of an outage that are counted: for so long, processes keep the counts that they cannot write. */
const counted = 60 * minute

/**
 * Webhooks that went to the spool, or that it did not take. Processes that have no database can tell nobody, so this tells of it when
 * the database is back, from what all processes counted meanwhile.
 */
export async function spooledWebhooks(store: HistoryStore, now: number): Promise<Attention[]> {
  const period = { from: now - toldFor - counted, until: now + 1 }
  const rows = await store.rows(steps.minute, ['spooled'], period)
  const last = Math.max(...rows.map(({ at }) => at))
  if (last < now - toldFor) return []
  const until = `${isoTime(last + minute).slice(11, 16)} UTC`
  const told = (kind: 'spooling' | 'spool-full', text: string, since: number): Attention => {
    return { kind, severity: 'error', text, since, about: { topic: 'spool', id: 'spool' } }
  }
  const sum = (which: 'ok' | 'failed') => {
    const some = rows.filter((row) => row[which] > 0)
    const webhooks = some.reduce((total, row) => total + row[which], 0)
    return { webhooks, since: Math.min(...some.map(({ at }) => at)) }
  }
  const [stored, refused] = [sum('ok'), sum('failed')]
  return [
    ...(stored.webhooks > 0
      ? [
          told(
            'spooling',
            `The database was unavailable: ${countOf(stored.webhooks, 'webhook')} went to the spool until ${until}.`,
            stored.since,
          ),
        ]
      : []),
    ...(refused.webhooks > 0
      ? [
          told(
            'spool-full',
            `The database was unavailable and the spool was full or did not respond: ${countOf(refused.webhooks, 'webhook')} got HTTP 503 until ${until}.`,
            refused.since,
          ),
        ]
      : []),
  ]
}
