import type { CustomFetch } from 'openid-client'
import type { ResolvedProvider } from '../providers/resolved-provider.ts'

/** The standard fetch. The caller provides one with limits of time and size and with address checks. */
export type ProviderFetch = (url: string, init: RequestInit) => Promise<Response>

/** Adds a User-Agent, which some providers require, and the headers of the preset to every request. */
export function withProviderHeaders(
  { quirks, presetSetting }: ResolvedProvider,
  fetch: ProviderFetch,
): ProviderFetch {
  const added = Object.entries({ 'user-agent': 'postern', ...quirks.headers?.(presetSetting) })
  return (url, init) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of added) headers.set(name, value)
    return fetch(url, { ...init, headers })
  }
}

/** openid-client's type of the options differs only in allowing `undefined`. */
export function asCustomFetch(fetch: ProviderFetch): CustomFetch {
  return (url, options) => fetch(url, options as RequestInit)
}
