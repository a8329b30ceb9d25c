import type { Migration } from '../migrate.ts'

const failedAt = `
  alter table inbox add column failed_at bigint;
  update inbox set failed_at = (
    select max(at) from handler_failures where event = inbox.event and number > inbox.attempts_before
  ) where status = 'pending' and exists (
    select 1 from handler_failures where event = inbox.event and number > inbox.attempts_before
  );
  create index inbox_retrying on inbox (event) where status = 'pending' and failed_at is not null;
`

/**
 * Finds the events that wait for another attempt after a failed one. Only a failure writes the column, so that neither storing
 * nor claiming an event touches the index.
 */
export const retryingEvents: Migration = {
  number: 21,
  name: 'retrying-events',
  breaking: false,
  sqlite: failedAt.replace('bigint', 'integer'),
  postgres: failedAt,
}
