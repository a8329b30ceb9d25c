import type { Migration } from '../migrate.ts'

/** Events of one key are processed one after the other: all but the first are `blocked`. */
const statements = (type: string): string => `
  alter table inbox add column order_key ${type};
  create index inbox_in_order on inbox (order_key, status, event) where order_key is not null;
`

export const orderKeys: Migration = {
  number: 2,
  name: 'order-keys',
  breaking: true,
  sqlite: statements('text'),
  postgres: statements('text collate "C"'),
}
