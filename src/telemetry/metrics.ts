import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  type Metric,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client'
import { systemClock } from '../runtime/clock.ts'
import { StorageUnavailable, withinTime } from '../storage/unavailable.ts'
import { Durations } from './history/tally.ts'
import type { SeriesName } from './history/recorder.ts'

/** Milliseconds to wait for a value from the database. A scrape ends after ten seconds by default. */
const collectWithin = 3_000

/**
 * Milliseconds between two samples of the event loop's delay, and a lower bound of the lag metrics. The default of prom-client,
 * 10, wakes an idle process a hundred times a second, which is most of its CPU time.
 */
const eventLoopMonitoringPrecision = 100

/** @param traceparent of the span, if it is traced */
type ObserveTraced = (label: string, ms: number, traceparent?: string) => void

/** The registry of one service. Several services in one process (tests, embedding) share only the metrics of the process. */
export class Metrics {
  readonly registry = new Registry()
  /** Durations for the history alone. The histograms of the registry have too few buckets for percentiles. */
  readonly durations: Readonly<
    Record<Extract<SeriesName, 'webhooks' | 'handlers' | 'deliveries'>, Durations>
  > = {
    webhooks: new Durations(),
    handlers: new Durations(),
    deliveries: new Durations(),
  }

  readonly #exemplars = new Exemplars()

  /** All metrics in the format of OpenMetrics, which has exemplars. */
  async openMetrics(): Promise<string> {
    const registry = new Registry<OpenMetricsContentType>()
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
    for (const metric of this.registry.getMetricsAsArray())
      registry.registerMetric(metric as unknown as Metric)
    return this.#exemplars.addTo(await registry.metrics())
  }

  /** Modules create their own metrics; names begin with `postern_`. */
  counter<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] })
  }

  gauge<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
    collect?: (gauge: Gauge<L>) => void | Promise<void>,
  ): Gauge<L> {
    return new Gauge<L>({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      ...(collect && {
        collect() {
          return collectAsFarAsKnown(this, collect)
        },
      }),
    })
  }

  /**
   * A histogram of durations by one label with few values: a function that observes milliseconds. In the format of OpenMetrics, each
   * bucket has its last sampled trace as an exemplar.
   */
  seconds(name: string, help: string, label: string, buckets: number[]): ObserveTraced {
    const histogram = new Histogram({ name, help, labelNames: [label], buckets, registers: [this.registry] })
    // A lookup by labels costs as much as the observation.
    const children = new Map<string, Histogram.Internal<string>>()
    return (value, ms, traceparent) => {
      let child = children.get(value)
      if (!child) children.set(value, (child = histogram.labels(value)))
      const seconds = ms / 1000
      child.observe(seconds)
      if (traceparent === undefined) return
      const le = buckets.find((bound) => seconds <= bound) ?? '+Inf'
      this.#exemplars.note(`${name}_bucket{le="${le}",${label}="${value}"}`, traceparent, seconds)
    }
  }

  /** CPU, memory, event loop lag and garbage collection of this process. */
  collectProcess(): void {
    for (const metric of metricsOfProcess()) this.registry.registerMetric(metric)
  }
}

let ofProcess: Registry | undefined

/** All services of a process share them: prom-client's timer and its observer of garbage collection never end. */
function metricsOfProcess(): Metric[] {
  if (!ofProcess) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess, prefix: 'postern_', eventLoopMonitoringPrecision })
  }
  return ofProcess.getMetricsAsArray() as unknown as Metric[]
}

/** The last traced observation of each series. */
class Exemplars {
  readonly #last = new Map<string, string>()

  /** @param series as its line begins; unsampled traces are left out: nobody could open them */
  note(series: string, traceparent: string, value: number): void {
    if (!traceparent.endsWith('1') && !traceparent.endsWith('3')) return
    const [, trace, span] = traceparent.split('-')
    this.#last.set(series, ` # {trace_id="${trace}",span_id="${span}"} ${value} ${systemClock.now() / 1000}`)
  }

  addTo(text: string): string {
    if (this.#last.size === 0) return text
    return text
      .split('\n')
      .map((line) => line + (this.#last.get(line.slice(0, line.lastIndexOf(' '))) ?? ''))
      .join('\n')
  }
}

/** Omits a metric if the database does not answer, so that a scrape still returns the others. */
async function collectAsFarAsKnown<L extends string>(
  gauge: Gauge<L>,
  collect: (gauge: Gauge<L>) => void | Promise<void>,
): Promise<void> {
  const collected = collect(gauge)
  if (collected === undefined) return
  try {
    await withinTime(systemClock, collectWithin, collected, `a metric took longer than ${collectWithin} ms`)
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error
    gauge.reset()
  }
}
