import type { Accounts, SignInNative } from '../accounts/index.ts'
import type { ModuleParts } from '../http/service-module.ts'
import { AuthorizationRequests } from './authorize/authorization-requests.ts'
import { Decision } from './authorize/decision.ts'
import { ClientAssertions } from './clients/client-assertions.ts'
import { ClientAuthentication } from './clients/client-authentication.ts'
import { ClientManagement } from './clients/client-management.ts'
import type { Clients } from './clients/clients.ts'
import { Consents } from './consent/consents.ts'
import { DeviceCodes } from './device/device-codes.ts'
import type { EndSessionUrl } from './logout/end-session-routes.ts'
import { AuthorizationCodes } from './token/authorization-codes.ts'
import {
  authorizationCodeGrant,
  clientCredentialsGrant,
  deviceCodeGrant,
  deviceGrantType,
  type Grant,
  refreshTokenGrant,
} from './token/grants.ts'
import type { ClaimsHook } from './token/own-claims.ts'
import type { AccountServices } from '../accounts/services.ts'

export interface OAuth2Parts extends ModuleParts {
  /** Whether an identity provider of this name is configured. */
  isProvider: (name: string) => boolean
  clients: Clients
  accounts: Accounts
  signInNative: SignInNative
  endSessionUrl: EndSessionUrl
  claimsHook: ClaimsHook | undefined
}

/** What the services of the module need of others. */
export interface OAuth2Basis extends OAuth2Parts, AccountServices {}

/** What the endpoints share, beside what accounts and the service give them. */
export type OAuth2Services = ReturnType<typeof createServices>

export function createServices(parts: OAuth2Parts) {
  const { clients, database, clock, accounts } = parts
  const basis: OAuth2Basis = { ...accounts, ...parts }
  const { refreshTokens, signingKeys: keys } = accounts
  const { record } = accounts.audit
  const consents = new Consents(database, clock)
  const requests = new AuthorizationRequests(basis)
  const codes = new AuthorizationCodes(basis)
  const deviceCodes = new DeviceCodes(basis)
  const assertions = new ClientAssertions(basis)
  return {
    ...basis,
    consents,
    requests,
    codes,
    deviceCodes,
    assertions,
    authentication: new ClientAuthentication({ ...accounts, clients, assertions }),
    decision: new Decision({ ...basis, codes, requests, consents }),
    /** By `grant_type`. */
    grants: new Map<string, Grant>([
      ['authorization_code', authorizationCodeGrant(codes)],
      ['refresh_token', refreshTokenGrant(refreshTokens)],
      [deviceGrantType, deviceCodeGrant(deviceCodes)],
      ['client_credentials', clientCredentialsGrant()],
    ]),
    management: new ClientManagement({
      database,
      clock,
      record,
      declared: clients.declared(),
      publishKeys: (algorithm) => keys.publish([algorithm]),
    }),
  }
}
