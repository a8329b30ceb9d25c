import type { Authentication } from '../../accounts/sessions/authentication.ts'
import type { ProviderIdentity } from '../../accounts/users/identities.ts'
import type { IssuedTokens } from './issued-tokens.ts'
import type { ProfileDocument } from './profile.ts'

/** The result of a code exchange whose checks all passed. */
export interface VerifiedIdentity {
  identity: ProviderIdentity
  /** Whether the groups of the identity alone decide on the role. */
  exclusiveRoles: boolean
  /** Whether a sign-in replaces the e-mail address and name of the user. Empty ones are filled in any case. */
  updateProfile: boolean
  authentication: Authentication
  /** The provider's profile as received; with OpenID Connect, the claims merged with the userinfo response. */
  profile: ProfileDocument
  /** For the provider's API. */
  tokens: IssuedTokens
}
