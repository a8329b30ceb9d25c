import type { Tx } from '../../storage/database.ts'
import type { AppLink } from '../../http/pages/error-page.ts'
import type { AuthenticationProof } from '../../storage/tables.ts'

/** How and when the provider authenticated the person, according to the provider. */
export interface Authentication {
  /** Milliseconds since 1970; never in the future. */
  at: number
  proof: AuthenticationProof
  /** `acr` of the id_token; null when it has none. */
  acr: string | null
  /** `amr` of the id_token, its values separated by spaces; null when it has none. */
  amr: string | null
}

/** A person whom a provider authenticated, and the browser of the sign-in. */
export interface SignedInUser {
  userId: string
  provider: string
  address: string
  userAgent: string | undefined
  authentication: Authentication
}

/** What the declaration of an app says about its access tokens. */
export interface AppRights {
  id: string
  name?: string | undefined
  /**
   * Whether its access tokens have the admin role when an admin signs in with it. Default false: an app acts with the
   * rights of a user, because an attacker who takes over the app has its tokens.
   */
  admin?: boolean | undefined
  /**
   * Whether its access tokens may list and revoke all sessions of their user and read the account's audit log: for an app
   * that is the product's own account page. Default false: only the sessions of this app.
   */
  managesSessions?: boolean | undefined
  /**
   * The audience of its access tokens (the claim `aud`); default this service. This service accepts only tokens with its
   * own audience.
   */
  audience?: string | readonly string[] | undefined
  /** The scopes that it may ask for. Tokens with others, from before a change, do not have them any more. */
  scopes?: readonly string[] | undefined
  /** Whether the app belongs to the product. Default true. The tokens of other apps reach only what their scopes name. */
  firstParty?: boolean | undefined
  /** Seconds that its access tokens are valid, 60 to 3600. Default 900. */
  accessTokenLifetime?: number | undefined
}

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
   * The request of an app in the query of GET /auth/{provider}.
   * @throws Problem `invalid-parameter`
   */
  parseRequest: (query: Readonly<Record<string, string | undefined>>) => Promise<AppRequest>
  /** The name of the app that a sign-in with this return path is for; `undefined` when it is for this service. */
  nameFor: (returnTo: string) => Promise<string | undefined>
  /** Stores a code for an app. */
  issueCode: (tx: Tx, app: Omit<AppRequest, 'state'> & { code: string }, user: SignedInUser) => Promise<void>
  /** Whether an app can still exchange this code. */
  isOpen: (code: string) => Promise<boolean>
  /** The way back to an app; `undefined` for one that is not known, or that has no page. */
  linkTo: (clientId: string) => Promise<AppLink | undefined>
}
