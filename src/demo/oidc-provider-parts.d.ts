// The library's entry warns on the console about every Node release that is not LTS yet, so its parts are imported
// from where the entry takes them. The version is pinned.
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
