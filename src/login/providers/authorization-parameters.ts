import type { ProviderSettings } from '../../config/providers.ts'

/** What nothing but the flow itself may put into an authorization request. */
const flowParameters = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
]

/** The flow's own parameters that somebody tries to set by configuration. */
export function protectedParametersIn({ authParams = {}, authUrl }: ProviderSettings): string[] {
  const inAddress =
    authUrl !== undefined && URL.canParse(authUrl) ? [...new URL(authUrl).searchParams.keys()] : []
  const given = new Set([...Object.keys(authParams), ...inAddress])
  return flowParameters.filter((name) => given.has(name))
}

/** The address without the flow's own parameters: a discovered one must not bring them along. */
export function withoutFlowParameters(address: string): string {
  const url = new URL(address)
  for (const name of flowParameters) url.searchParams.delete(name)
  return url.href
}
