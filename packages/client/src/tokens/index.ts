export {
  createVerifier,
  type AccessTokenClaims,
  type TokenDemands,
  type Verifier,
  type VerifierOptions,
} from './verifier.ts'
export * from '../errors.ts'
