import type { Migration } from './index.ts'
import type { Engine } from '../query-runner.ts'
import { accounts, audit } from './0001-initial/accounts.ts'
import { alerts } from './0001-initial/alerts.ts'
import { clients, login, oauth2 } from './0001-initial/login.ts'
import { postgres, type SchemaPart, sqlite } from './0001-initial/dialect.ts'
import { emitting } from './0001-initial/emitting.ts'
import { events, receiving } from './0001-initial/receiving.ts'
import { limits } from './0001-initial/limits.ts'
import { servers } from './0001-initial/servers.ts'
import { countedOrder, createCounts } from '../maintained-counts.ts'

/** Sessions at other hosts. */
const forwardAuth: SchemaPart = {
  tables: ({ time, bytes, sortedText, strict }) => `
    -- One row for each cookie of a session at another host. The callback at that host inserts it; it ends with the session.
    create table host_sessions (
      token_hash ${bytes} primary key, session_id ${sortedText} not null references sessions (id) on delete cascade,
      host text not null, created_at ${time} not null
    ) ${strict};
    -- For the replacement of older tokens, and for the cascade.
    create index host_sessions_of_session on host_sessions (session_id);

    -- One row for each one-time code on its way to another host. The callback there ends it, and a sweeper deletes it an hour later.
    create table host_codes (
      code_hash ${bytes} primary key, session_id ${sortedText} not null references sessions (id) on delete cascade,
      host text not null, browser_hash ${bytes} not null, return_to text not null, expires_at ${time} not null
    ) ${strict};
    -- For the sweeper.
    create index host_codes_by_end on host_codes (expires_at);
    -- For the cascade.
    create index host_codes_of_session on host_codes (session_id);
  `,
}

/** The history of metrics (docs/adr/0042-metrics-history.md). */
const telemetry: SchemaPart = {
  tables: ({ time, bigint, bytes, sortedText, strictByKey }) => `
    -- One row for each minute (step 60) and hour (3600) and each series in which something happened. Each process adds its minutes.
    -- A worker writes the hours from the minutes, and deletes old rows.
    create table metric_history (
      step integer not null, series ${sortedText} not null, at ${time} not null,
      ok ${bigint} not null, failed ${bigint} not null, duplicates ${bigint} not null, durations ${bytes},
      primary key (step, series, at)
    ) ${strictByKey};
    -- For the worker, which rolls up minutes, and deletes the oldest rows.
    create index metric_history_by_time on metric_history (step, at);
  `,
}

const users = countedOrder({ table: 'users', columns: ['id'], descending: false })

/** The tables of the specified lists, which belong to the operator, and the maintained counts of users. */
const lists: SchemaPart = {
  tables: ({ engine, double, sortedText, strict }) => `
    -- One row for each product. Admins and imports write it.
    create table products (
      id ${sortedText} primary key, category ${sortedText} not null, price ${double} not null,
      stock ${double} not null, name ${sortedText} not null, created_at ${sortedText} not null
    ) ${strict};
    -- For the sort orders of GET /products, without and with a category. Each ends with the primary key.
    create index products_by_created on products (created_at, id);
    create index products_by_price on products (price, id);
    create index products_by_name on products (name, id);
    create index products_in_category_by_created on products (category, created_at, id);
    create index products_in_category_by_price on products (category, price, id);

    -- One row for each post. Admins and imports write it.
    create table posts (
      id ${sortedText} primary key, title text not null, body text not null, created_at ${sortedText} not null
    ) ${strict};
    -- For the sort order of GET /posts.
    create index posts_by_created on posts (created_at desc, id desc);

    -- The number of users, in total and in buckets by id, so that no page of GET /users counts or skips them all
    -- (docs/adr/0011-maintained-counts.md). Triggers on users write it, and a worker folds the changes.
    ${createCounts(users, engine).join(';\n')};
  `,
}

/** In the order in which tables refer to each other. storage/tables/ describes their columns. */
const parts = [
  accounts,
  login,
  clients,
  oauth2,
  forwardAuth,
  audit,
  events,
  receiving,
  emitting,
  alerts,
  lists,
  limits,
  servers,
  telemetry,
]

function statementsFor(engine: Engine): string {
  const dialect = { sqlite, postgres }[engine]
  return parts.map((part) => part.tables(dialect) + (part[engine] ?? '')).join('\n')
}

/** The whole schema of the first release. */
export const initial: Migration = {
  number: 1,
  name: 'initial',
  breaking: true,
  sqlite: statementsFor('sqlite'),
  postgres: statementsFor('postgres'),
}
