/** What is counted of one minute or hour. */
export interface Counts {
  ok: number
  failed: number
  /** Webhooks that were received before; they are among `ok`. */
  duplicates: number
}

/** A counter of the process whose values the history records. */
interface RecordedCounter {
  /** The name of the Prometheus counter. */
  readonly counter: string
  readonly series: SeriesName
  /** Which count a value adds to; undefined if it is not recorded. */
  readonly kindOf: (labels: Labels) => keyof Counts | undefined
  /** The part of the series that the value belongs to as well. */
  readonly partOf?: (labels: Labels) => string
}

export type Labels = Partial<Record<string, string | number>>

/** `oldest_due` has no counts: its durations are the ages of the oldest due work, one of each minute and process. */
export const seriesNames = [
  'webhooks',
  'spooled',
  'handlers',
  'deliveries',
  'sign_ins',
  'oldest_due',
] as const
export type SeriesName = (typeof seriesNames)[number]

export const partSeries = (series: SeriesName, part: string): string => `${series}:${part}`

/** The history takes its counts from the counters of `GET /metrics`, so that recording adds nothing to the work that it counts. */
export const recordedCounters: readonly RecordedCounter[] = [
  {
    counter: 'postern_webhooks_total',
    series: 'webhooks',
    // A challenge of a sender (`answered`) is no webhook.
    kindOf: ({ outcome }) => (outcome === 'accepted' ? 'ok' : outcome === 'answered' ? undefined : 'failed'),
    partOf: ({ source }) => String(source),
  },
  { counter: 'postern_webhook_duplicates_total', series: 'webhooks', kindOf: () => 'duplicates' },
  {
    counter: 'postern_spool_webhooks_total',
    series: 'spooled',
    kindOf: ({ outcome }) => (outcome === 'stored' ? 'ok' : 'failed'),
  },
  {
    counter: 'postern_handler_attempts_total',
    series: 'handlers',
    // Events that were given back or taken over run again, and are counted then.
    kindOf: ({ outcome }) =>
      outcome === 'processed' ? 'ok' : outcome === 'retry' || outcome === 'failed' ? 'failed' : undefined,
  },
  {
    counter: 'postern_delivery_attempts_total',
    series: 'deliveries',
    kindOf: ({ outcome }) => (outcome === 'delivered' ? 'ok' : 'failed'),
  },
  {
    counter: 'postern_sign_ins_total',
    series: 'sign_ins',
    kindOf: ({ outcome }) => (outcome === 'ok' ? 'ok' : 'failed'),
  },
]
