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
