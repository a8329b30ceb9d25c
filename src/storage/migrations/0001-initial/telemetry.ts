import type { SchemaPart } from './dialect.ts'

/** The history of metrics (docs/adr/0042-metrics-history.md). */
export const telemetry: SchemaPart = {
  tables: ({ time, bigint, bytes, sortedText, strictByKey }) => `
    -- One row for each minute (step 60), ten minutes (600) and hour (3600) and each series in which something happened. Each process
    -- adds its minutes. The worker writes the longer steps from the minutes, and deletes old rows.
    create table metric_history (
      step integer not null, series ${sortedText} not null, at ${time} not null,
      ok ${bigint} not null, failed ${bigint} not null, duplicates ${bigint} not null, durations ${bytes},
      primary key (step, series, at)
    ) ${strictByKey};
    -- For the worker, which rolls up minutes, and deletes the oldest rows.
    create index metric_history_by_time on metric_history (step, at);
  `,
}
