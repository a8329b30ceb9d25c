import { idOf } from '../crypto/ids.ts'
import type { ClientsTable, ConsentsTable, TokenFamiliesTable } from '../storage/tables.ts'
import { demoProviderName as provider } from './identity-provider.ts'
import type { SampleUser } from './sample-audit.ts'

const hour = 3_600_000
const day = 24 * hour
const scope = 'openid profile email offline_access'

/** The people who use it, by their ids at the provider, and the hours since. */
const uses: ReadonlyMap<string, number> = new Map([
  ['ada', 6],
  ['grace', 2],
  ['alan', 40],
])

interface SampleApp {
  client: ClientsTable
  families: TokenFamiliesTable[]
  consents: ConsentsTable[]
}

/** An app that does not exist, and the people who are signed in with it. Nobody has its tokens. */
export function sampleApp(now: number, users: readonly SampleUser[], lifetime: number): SampleApp {
  const made = now - 20 * day
  const settings = { redirectUris: ['https://reader.example/callback'], scopes: scope.split(' ') }
  const client: ClientsTable = {
    id: `app_${idOf(made)}`,
    name: 'Reader (sample)',
    confidential: 0,
    origin: 'api',
    settings: JSON.stringify(settings),
    created_at: made,
    updated_at: made,
    registered_from: null,
  }
  const app: SampleApp = { client, families: [], consents: [] }
  for (const { userId, account } of users) {
    const used = uses.get(account.person.id)
    const device = account.devices.at(-1)
    if (used === undefined || !device) continue
    const begun = now - 5 * day - used * hour
    app.families.push({
      id: idOf(begun, 2),
      user_id: userId,
      client_id: client.id,
      provider,
      address: device.address,
      user_agent: device.userAgent,
      created_at: begun,
      last_seen_at: now - used * hour,
      authenticated_at: begun,
      authentication_proof: 'asserted',
      acr: null,
      amr: null,
      expires_at: begun + lifetime,
      revoked_at: null,
      session_id: null,
      scope,
      resource: null,
    })
    app.consents.push({
      user_id: userId,
      client_id: client.id,
      scope,
      resource: '',
      granted_at: begun,
      updated_at: begun,
    })
  }
  return app
}
