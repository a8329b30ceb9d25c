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
