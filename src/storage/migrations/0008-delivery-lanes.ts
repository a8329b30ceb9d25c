import type { Migration } from '../migrate.ts'

/**
 * Deliveries are no longer claimed one by one: a dispatcher has the lanes of subscribers, and what lies in them is its
 * own. First attempts and retries are sought apart. Breaking: a program that claims deliveries would send them twice.
 */
export const deliveryLanes: Migration = {
  number: 8,
  name: 'delivery-lanes',
  breaking: true,
  sqlite: `
    drop index deliveries_due;
    create index deliveries_due on deliveries
      (subscriber_id, (case when attempts > 0 then 1 else 0 end), due_at, id) where status = 'pending';
    alter table deliveries drop column claim;
  `,
  postgres: `
    drop index deliveries_due;
    create index deliveries_due on deliveries
      (subscriber_id, (case when attempts > 0 then 1 else 0 end), due_at, id) where status = 'pending';
    alter table deliveries drop column claim;
    create table dispatchers (id serial primary key);
    create table delivery_lanes (
      subscriber_id text collate "C" primary key references subscribers (id) on delete cascade,
      dispatcher integer not null references dispatchers (id) on delete cascade
    );
    create index delivery_lanes_of_dispatcher on delivery_lanes (dispatcher);
  `,
}
