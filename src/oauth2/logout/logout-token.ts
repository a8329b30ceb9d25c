import { randomUUID } from 'node:crypto'
import type { SigningKeys } from '../../accounts/tokens/signing-keys.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { BackchannelLogoutsTable } from '../../storage/tables.ts'
import type { Client } from '../clients/client.ts'

/** Seconds that a logout token is valid: recipients read it at once (section 2.4: preferably at most two minutes). */
const lifetime = 120

export interface LogoutTokenParts {
  keys: SigningKeys
  clock: Clock
  baseUrl: () => string
}

/** Signs the logout token of a sign-in that ended (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
export function logoutToken(
  { keys, clock, baseUrl }: LogoutTokenParts,
  client: Pick<Client, 'id' | 'idTokenAlgorithm'>,
  { user_id: userId, family_id: familyId }: Pick<BackchannelLogoutsTable, 'user_id' | 'family_id'>,
): Promise<string> {
  const now = Math.floor(clock.now() / 1000)
  return keys.sign(
    {
      iss: baseUrl(),
      sub: userId,
      aud: client.id,
      iat: now,
      exp: now + lifetime,
      jti: randomUUID(),
      sid: familyId,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    },
    { typ: 'logout+jwt', algorithm: client.idTokenAlgorithm },
  )
}
