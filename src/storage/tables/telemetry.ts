/** Counts and durations of a minute, ten minutes or an hour, of all processes together. */
export interface MetricHistoryTable {
  /** Seconds: 60, 600 or 3600. */
  step: number
  /** A name of telemetry/history/series.ts, or that of one of its parts, such as `webhooks:github`. */
  series: string
  /** Its first millisecond. */
  at: number
  ok: number
  failed: number
  duplicates: number
  /** See telemetry/history/encoded-buckets.ts; null without durations. */
  durations: Uint8Array | null
}
