import type { ProviderSettings } from '../../config/providers.ts'

/** The parameters of an authorization request that only the flow itself may set. */
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

/** The flow's parameters that a configuration sets. */
export function protectedParametersIn({ authParams = {}, authUrl }: ProviderSettings): string[] {
  const inAddress =
    authUrl !== undefined && URL.canParse(authUrl) ? [...new URL(authUrl).searchParams.keys()] : []
  const given = new Set([...Object.keys(authParams), ...inAddress])
  return flowParameters.filter((name) => given.has(name))
}

/** Removes the flow's parameters from a discovered address. */
export function withoutFlowParameters(address: string): string {
  const url = new URL(address)
  for (const name of flowParameters) url.searchParams.delete(name)
  return url.href
}

/** A configured `response_mode` whose response never reaches the service: a browser does not send a fragment. */
export function unusableResponseMode({ authParams = {}, authUrl }: ProviderSettings): string | undefined {
  const inAddress =
    authUrl !== undefined && URL.canParse(authUrl) ? new URL(authUrl).searchParams.get('response_mode') : null
  return [authParams['response_mode'], inAddress].find(
    (mode): mode is string => typeof mode === 'string' && mode !== 'query' && mode !== 'form_post',
  )
}
