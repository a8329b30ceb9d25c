import type { Migration } from '../migrate.ts'

/**
 * Finds the next subscriber that is active, whoever is paused before it. On PostgreSQL nothing else has this order, and this is
 * of no use for anything else: its planner can neither take another index for it nor this one where the primary key belongs.
 */
export const nextActiveSubscriber: Migration = {
  number: 14,
  name: 'next-active-subscriber',
  breaking: false,
  sqlite: `create index subscribers_active on subscribers (id) where status = 'active';`,
  postgres: `create index subscribers_by_status on subscribers ((status || ':' || id));`,
}
