import type { ProviderCase } from './provider-shapes/case.ts'
import { oauthProviders } from './provider-shapes/oauth.ts'
import { openIdProviders } from './provider-shapes/openid.ts'

/** What the provider of each preset answers. */
export const providerCases: Record<string, ProviderCase> = { ...openIdProviders, ...oauthProviders }
