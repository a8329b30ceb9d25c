import type { Metrics } from '../telemetry/metrics.ts'

export interface DeliveryMetrics {
  attempted(outcome: 'delivered' | 'retry' | 'dead', durationMs: number): void
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
  return {
    attempted(outcome, durationMs) {
      attempts.inc({ outcome })
      duration.observe({ outcome }, durationMs / 1000)
    },
  }
}
