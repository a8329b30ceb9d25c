export {
  createSignIn,
  type Endpoints,
  type SignIn,
  type SignInOptions,
  type SignInRequest,
} from './sign-in.ts'
export type { IdTokenClaims } from './id-token.ts'
export type { Keep } from './token-store.ts'
export * from '../errors.ts'
export { embedPortal, type EmbedOptions } from './embed-portal.ts'
