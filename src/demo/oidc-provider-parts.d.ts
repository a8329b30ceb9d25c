// The library's entry point warns about Node releases that are not LTS yet, so its parts are imported directly. The version
// is pinned.
declare module 'oidc-provider/lib/provider.js' {
  export { Provider } from 'oidc-provider'
}
declare module 'oidc-provider/lib/helpers/errors.js' {
  import type { errors } from 'oidc-provider'
  export const OIDCProviderError: typeof errors.OIDCProviderError
}
declare module 'oidc-provider/lib/helpers/interaction_policy/index.js' {
  import type { interactionPolicy } from 'oidc-provider'
  export const Check: typeof interactionPolicy.Check
  export const base: typeof interactionPolicy.base
}
