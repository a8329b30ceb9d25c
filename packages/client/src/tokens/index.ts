export type { AccessTokenClaims } from './claims.ts'
export { createVerifier, type TokenDemands, type Verifier, type VerifierOptions } from './verifier.ts'
export * from '../errors.ts'
