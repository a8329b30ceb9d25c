import type { Migration } from './migration.ts'
import type { Engine } from '../query-runner.ts'
import { accounts } from './0001-initial/accounts.ts'
import { alerts } from './0001-initial/alerts.ts'
import { audit } from './0001-initial/audit.ts'
import { clients } from './0001-initial/clients.ts'
import { postgres, sqlite } from './0001-initial/dialect.ts'
import { emitting } from './0001-initial/emitting.ts'
import { events } from './0001-initial/events.ts'
import { forwardAuth } from './0001-initial/forward-auth.ts'
import { limits } from './0001-initial/limits.ts'
import { lists } from './0001-initial/lists.ts'
import { login } from './0001-initial/login.ts'
import { oauth2 } from './0001-initial/oauth2.ts'
import { receiving } from './0001-initial/receiving.ts'
import { servers } from './0001-initial/servers.ts'
import { telemetry } from './0001-initial/telemetry.ts'

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
