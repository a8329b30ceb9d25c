import type { Counter, Histogram } from 'prom-client'
import type { Metrics } from '../telemetry/metrics.ts'

const outcomes = ['delivered', 'retry', 'dead'] as const
type Outcome = (typeof outcomes)[number]

export interface DeliveryMetrics {
  attempted(outcome: Outcome, durationMs: number): void
}

export function deliveryMetrics(metrics: Metrics): DeliveryMetrics {
  const attempts = metrics.counter(
    'postern_delivery_attempts_total',
    'Attempts of deliveries, by what followed: delivered, retry or dead (dead-lettered)',
    ['outcome'],
  )
  const duration = metrics.histogram(
    'postern_delivery_attempt_seconds',
    'Duration of attempts',
    ['outcome'],
    [0.005, 0.02, 0.1, 0.5, 2, 5, 15, 60],
  )
  // A lookup by labels costs as much as the increment, so the children are looked up once.
  const children = Object.fromEntries(
    outcomes.map((outcome) => [
      outcome,
      { attempts: attempts.labels({ outcome }), duration: duration.labels({ outcome }) },
    ]),
  ) as Record<Outcome, { attempts: Counter.Internal; duration: Histogram.Internal<'outcome'> }>
  return {
    attempted(outcome, durationMs) {
      children[outcome].attempts.inc()
      children[outcome].duration.observe(durationMs / 1000)
      metrics.durations.deliveries.observe(durationMs)
    },
  }
}
