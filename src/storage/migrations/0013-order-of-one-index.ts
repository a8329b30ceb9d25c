import type { Migration } from '../migrate.ts'

/**
 * What is pending for a subscriber in the order of ids, where nothing but this index has it: PostgreSQL otherwise takes for the
 * same the log of the subscriber, or of all, and reads through what was delivered. SQLite is told which index to take.
 */
export const orderOfOneIndex: Migration = {
  number: 13,
  name: 'order-of-one-index',
  breaking: false,
  sqlite: '',
  postgres: `
    drop index deliveries_in_order;
    create index deliveries_in_order on deliveries (subscriber_id, (id + 0)) where status = 'pending';
  `,
}
