import { type Static, Type } from 'typebox'
import { invalidParameter, readChoice, readTimeParameter } from '../../paging/parameters.ts'
import type { Clock } from '../../runtime/clock.ts'
import { quantiles, Tally } from '../../telemetry/history/tally.ts'
import {
  mostPoints,
  partSeries,
  type Recorder,
  type SeriesName,
  stepOf,
} from '../../telemetry/history/recorder.ts'
import { hour, type Period, retention, steps } from '../../telemetry/history/store.ts'
import { SharedAnswers } from '../caching/tagged-answer.ts'
import { type App, route } from '../app.ts'
import { DateTime, nullable, optionalText } from '../schemas/schemas.ts'
import { isoTime } from '../../runtime/iso-time.ts'

/** Milliseconds. */
const ranges = { '1h': hour, '6h': 6 * hour, '24h': 24 * hour, '7d': 7 * 24 * hour, '30d': 30 * 24 * hour }
const rangeNames = Object.keys(ranges) as (keyof typeof ranges)[]
/** The series by their names in the API. */
const names = {
  webhooks: 'webhooks',
  handlers: 'handlers',
  deliveries: 'deliveries',
  signIns: 'sign_ins',
  oldestDue: 'oldest_due',
} as const satisfies Record<string, SeriesName>
type Name = keyof typeof names
const allNames = Object.keys(names) as Name[]
const sourceForm = /^[a-z0-9][a-z0-9_-]{0,63}$/i
const hourRetention = retention[steps.hour]
/** Milliseconds for which an answer is given again, so that many viewers cost as much as one. */
const cachedFor = 2_000

const Milliseconds = nullable(Type.Number())
const counts = {
  ok: 'Webhooks that were acknowledged, runs of handlers that succeeded, deliveries that arrived, sign-ins',
  failed: 'Rejected webhooks, failed runs, failed attempts of deliveries, failed sign-ins',
  duplicates: 'Webhooks among `ok` that had arrived before',
}
const durations = {
  p50: 'Milliseconds within which half of them were done; null without any. Off by at most 5 %',
  p99: 'The same for 99 of 100',
}
const Series = Type.Object({
  total: Type.Object(
    {
      ok: Type.Integer(),
      failed: Type.Integer(),
      duplicates: Type.Integer(),
      p50: Milliseconds,
      p99: Milliseconds,
    },
    { description: 'Of the whole period' },
  ),
  ok: Type.Array(Type.Integer(), { description: counts.ok }),
  failed: Type.Array(Type.Integer(), { description: counts.failed }),
  duplicates: Type.Array(Type.Integer(), { description: counts.duplicates }),
  p50: Type.Array(Milliseconds, { description: durations.p50 }),
  p99: Type.Array(Milliseconds, { description: durations.p99 }),
})

const History = Type.Object({
  from: Type.String({ format: 'date-time', description: 'The beginning of the first step' }),
  until: DateTime,
  step: Type.Integer({ description: 'Seconds of each step; all arrays have one entry for each' }),
  series: Type.Object(
    {
      webhooks: Type.Optional(Series),
      handlers: Type.Optional(Series),
      deliveries: Type.Optional(Series),
      signIns: Type.Optional(Series),
      oldestDue: Type.Optional(Series),
    },
    {
      description:
        'Durations: of webhooks until they are acknowledged, of runs of handlers with their commit, of attempts of deliveries. `oldestDue` has as durations the ages of the oldest due work, read once a minute, and no counts',
    },
  ),
})

interface Query {
  series?: string | undefined
  source?: string | undefined
  range?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

/** Declares `GET /metrics/history`. */
export function historyRoute(app: App, parts: { recorder: Pick<Recorder, 'read'>; clock: Clock }): void {
  const answers = new SharedAnswers<Static<typeof History>>(parts.clock, cachedFor)
  app.get(
    '/metrics/history',
    route(
      { scope: 'operate' },
      ['operations'],
      'Counts, failures and durations over time',
      {
        description: `Of all processes, by steps that the service chooses: at most ${mostPoints + 1} of them. Minutes are stored for two days, hours for ${hourRetention / (24 * hour)} days. What another process counted is included within about a minute.`,
        querystring: Type.Object({
          series: optionalText(`Comma-separated: ${allNames.join(', ')}; default: all`),
          source: optionalText('Count only the webhooks of this source; without durations'),
          range: optionalText(`${rangeNames.join(', ')} until now; default: 24h`),
          from: optionalText('Instead of `range`: the beginning, ISO 8601'),
          to: optionalText('The end, ISO 8601; default: now'),
        }),
        response: { 200: History },
      },
      { openInDemo: true, quiet: true },
    ),
    async ({ query }) => {
      const chosen = readNames(query)
      const source = readSource(query)
      const now = parts.clock.now()
      const period = readPeriod(query, now)
      const step = stepOf(period, now)
      const width = step * 1000
      const aligned = {
        from: Math.floor(period.from / width) * width,
        until: Math.min(now, Math.ceil(period.until / width) * width),
      }
      const key = JSON.stringify([
        chosen,
        source,
        step,
        aligned.from,
        query.to === undefined ? '' : period.until,
      ])
      return answers.get(key, () => answerHistory(parts.recorder, { chosen, source, period: aligned, step }))
    },
  )
}

interface HistoryQuery {
  chosen: readonly Name[]
  source: string | undefined
  period: Period
  step: number
}

async function answerHistory(
  recorder: Pick<Recorder, 'read'>,
  { chosen, source, period, step }: HistoryQuery,
) {
  const seriesOf = (name: Name): string =>
    name === 'webhooks' && source !== undefined ? partSeries('webhooks', source) : names[name]
  const found = await recorder.read(chosen.map(seriesOf), period, step)
  const series = Object.fromEntries(chosen.map((name) => [name, describe(found.get(seriesOf(name)) ?? [])]))
  return {
    from: isoTime(period.from),
    until: isoTime(period.until),
    step,
    series,
  }
}

function describe(tallies: readonly Tally[]): Static<typeof Series> {
  const total = new Tally()
  for (const tally of tallies) total.add(tally)
  const { ok, failed, duplicates } = total
  const [p50, p99] = shares(total)
  const each = tallies.map(shares)
  return {
    total: { ok, failed, duplicates, p50, p99 },
    ok: tallies.map((tally) => tally.ok),
    failed: tallies.map((tally) => tally.failed),
    duplicates: tallies.map((tally) => tally.duplicates),
    p50: each.map(([half]) => half),
    p99: each.map(([, most]) => most),
  }
}

function shares({ buckets }: Tally): [number | null, number | null] {
  if (!buckets) return [null, null]
  const [p50 = null, p99 = null] = quantiles(buckets, [0.5, 0.99])
  return [p50, p99]
}

function readNames({ series }: Query): Name[] {
  if (!series) return allNames
  return [...new Set(series.split(',').map((name) => readChoice(name.trim(), 'series', allNames)))]
}

function readSource({ source }: Query): string | undefined {
  if (!source) return undefined
  if (sourceForm.test(source)) return source
  throw invalidParameter('source', 'is the name of a source')
}

function readPeriod({ range, from, to }: Query, now: number): Period {
  if (from || to) {
    const until = to ? Math.min(now, readTimeParameter(to, 'to')) : now
    const begins = from ? readTimeParameter(from, 'from') : until - ranges['24h']
    if (begins >= until) throw invalidParameter('from', 'must be a time before `to` and before now')
    return { from: Math.max(begins, now - hourRetention), until: Math.max(until, now - hourRetention + 1) }
  }
  return { from: now - ranges[range ? readChoice(range, 'range', rangeNames) : '24h'], until: now }
}
