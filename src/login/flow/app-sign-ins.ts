import type { SignedInUser } from '../../accounts/sessions/authentication.ts'
import type { AppLink } from '../../http/pages/error-page.ts'
import type { Tx } from '../../storage/database.ts'

/** An app's request at GET /auth/{provider}, validated. */
export interface AppRequest {
  clientId: string
  redirectUri: string
  challenge: string
  state: string | null
}

/** What sign-ins of apps need of the OpenID Provider, which knows the apps and issues their codes. */
export interface AppSignIns {
  /**
   * The request of an app in the query of GET /auth/{provider}; `undefined` when a browser made it for itself.
   * @throws Problem `invalid-parameter`
   */
  parseRequest: (query: Readonly<Record<string, string | undefined>>) => Promise<AppRequest | undefined>
  /** The name of the app that a sign-in with this return path is for; `undefined` when it is for this service. */
  nameFor: (returnTo: string) => Promise<string | undefined>
  /** Stores a code for an app. */
  issueCode: (tx: Tx, app: Omit<AppRequest, 'state'> & { code: string }, user: SignedInUser) => Promise<void>
  /** Whether an app can still exchange this code. */
  isOpen: (code: string) => Promise<boolean>
  /** The way back to an app; `undefined` for one that is not known, or that has no page. */
  linkTo: (clientId: string) => Promise<AppLink | undefined>
}
