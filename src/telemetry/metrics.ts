import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** One registry per service, so that two services in one process (tests, embedding) do not share numbers. */
export class Metrics {
  readonly registry = new Registry()

  /** Counters, gauges and histograms are made where they are used; names begin with `postern_`. */
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
          return collect(this)
        },
      }),
    })
  }

  histogram<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    buckets: number[],
  ): Histogram<L> {
    return new Histogram({ name, help, labelNames: [...labelNames], buckets, registers: [this.registry] })
  }

  /** CPU, memory, event loop lag and garbage collection of this process. */
  collectProcess(): void {
    collectDefaultMetrics({ register: this.registry, prefix: 'postern_' })
  }
}
