import { countedOrder } from '../maintained-counts/counted-order.ts'
import { createCounts } from '../maintained-counts/statements.ts'
import type { Migration } from '../migrate.ts'

const users = countedOrder({ table: 'users', columns: ['id'], descending: false })

/** The number of users, in total and in buckets by id, so that no page of `GET /users` counts or skips them all. */
export const maintainedCounts: Migration = {
  number: 7,
  name: 'maintained-counts',
  breaking: false,
  sqlite: createCounts(users, 'sqlite').join(';\n'),
  postgres: createCounts(users, 'postgres').join(';\n'),
}
