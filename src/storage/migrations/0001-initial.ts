import type { Migration } from './index.ts'
import type { Engine } from '../query-runner.ts'
import { accounts, accountsOn, audit, auditOn } from './0001-initial/accounts.ts'
import { alerts, alertsOn } from './0001-initial/alerts.ts'
import { clients, login, oauth2 } from './0001-initial/login.ts'
import { emitting, emittingOn } from './0001-initial/emitting.ts'
import { events, eventsOn, receiving, receivingOn } from './0001-initial/receiving.ts'
import { limits, limitsOn } from './0001-initial/limits.ts'
import { servers, serversOn } from './0001-initial/servers.ts'
import { createTables, type EngineSql, table, tableByKey } from './0001-initial/table.ts'
import { countedOrder, createCounts } from '../maintained-counts.ts'

/** Sessions at other hosts. */
const forwardAuth = {
  /** One row for each cookie of a session at another host. The callback at that host inserts it; it ends with the session. */
  host_sessions: table({
    /** SHA-256 of the cookie's token. */
    token_hash: 'bytes primary key',
    session_id: 'sortedText not null references sessions (id) on delete cascade',
    /** With the port, if it is not the default one. */
    host: 'text not null',
    created_at: 'time not null',
    // For the replacement of older tokens, and for the cascade.
    'index host_sessions_of_session': '(session_id)',
  }),

  /**
   * One row for each one-time code that carries a session to another host. The callback there ends it, and a sweeper deletes it an
   * hour later.
   */
  host_codes: table({
    code_hash: 'bytes primary key',
    session_id: 'sortedText not null references sessions (id) on delete cascade',
    host: 'text not null',
    /** SHA-256 of the value of the binding cookie at that host. */
    browser_hash: 'bytes not null',
    /** The path to return to. */
    return_to: 'text not null',
    expires_at: 'time not null',
    // For the sweeper.
    'index host_codes_by_end': '(expires_at)',
    // For the cascade.
    'index host_codes_of_session': '(session_id)',
  }),
}

/** The history of metrics (docs/adr/0042-metrics-history.md). */
const telemetry = {
  /**
   * Counts and durations of all processes together: one row for each minute (step 60) and hour (3600) and each series in which
   * something happened. Each process adds its minutes. A worker writes the hours from the minutes, and deletes old rows.
   */
  metric_history: tableByKey({
    /** Seconds: 60 or 3600. */
    step: 'integer not null',
    /** A name of telemetry/history/recorder.ts, or that of one of its parts, such as `webhooks:github`. */
    series: 'sortedText not null',
    /** Its first millisecond. */
    at: 'time not null',
    ok: 'bigint not null',
    failed: 'bigint not null',
    duplicates: 'bigint not null',
    /** See `encodeBuckets` in telemetry/history/tally.ts; null without durations. */
    durations: 'bytes',
    'primary key': '(step, series, at)',
    // For the worker, which rolls up minutes, and deletes the oldest rows.
    'index metric_history_by_time': '(step, at)',
  }),
}

/** The tables of the specified lists, which belong to the operator, and the maintained counts of users. */
const lists = {
  /** One row for each product. Admins and imports write it. */
  products: table({
    id: 'sortedText primary key',
    category: 'sortedText not null',
    price: 'double not null',
    stock: 'double not null',
    name: 'sortedText not null',
    /** Canonical text: UTC with six digits of fraction, `2026-01-31T08:30:00.000000Z`. Sorts by time. */
    created_at: 'sortedText not null',
    // For the sort orders of GET /products, without and with a category. Each ends with the primary key.
    'index products_by_created': '(created_at, id)',
    'index products_by_price': '(price, id)',
    'index products_by_name': '(name, id)',
    'index products_in_category_by_created': '(category, created_at, id)',
    'index products_in_category_by_price': '(category, price, id)',
  }),

  /** One row for each post. Admins and imports write it. */
  posts: table({
    id: 'sortedText primary key',
    title: 'text not null',
    body: 'text not null',
    /** As in products. */
    created_at: 'sortedText not null',
    // For the sort order of GET /posts.
    'index posts_by_created': '(created_at desc, id desc)',
  }),
}

const users = countedOrder({ table: 'users', columns: ['id'], descending: false })

/**
 * The number of users, in total and in buckets by id, so that no page of GET /users counts or skips them all
 * (docs/adr/0011-maintained-counts.md). Triggers on users write it, and a worker folds the changes.
 */
const countsOn: EngineSql = {
  sqlite: `${createCounts(users, 'sqlite').join(';\n')};`,
  postgres: `${createCounts(users, 'postgres').join(';\n')};`,
}

/** Named types, which keep the declarations of the package small. */
type Declared = typeof accounts &
  typeof login &
  typeof clients &
  typeof oauth2 &
  typeof forwardAuth &
  typeof audit &
  typeof events &
  typeof receiving &
  typeof emitting &
  typeof alerts &
  typeof lists &
  typeof limits &
  typeof servers &
  typeof telemetry

/** In the order in which they refer to each other. */
export const tables: Declared = {
  ...servers,
  ...accounts,
  ...login,
  ...clients,
  ...oauth2,
  ...forwardAuth,
  ...audit,
  ...events,
  ...receiving,
  ...emitting,
  ...alerts,
  ...lists,
  ...limits,
  ...telemetry,
}

const afterwards = [
  accountsOn,
  auditOn,
  eventsOn,
  receivingOn,
  emittingOn,
  alertsOn,
  countsOn,
  limitsOn,
  serversOn,
]

function statementsFor(engine: Engine): string {
  return [...createTables(tables, engine), ...afterwards.map((sql) => sql[engine] ?? '')].join('\n')
}

/** The whole schema of the first release. */
export const initial: Migration = {
  number: 1,
  name: 'initial',
  breaking: true,
  sqlite: statementsFor('sqlite'),
  postgres: statementsFor('postgres'),
}
