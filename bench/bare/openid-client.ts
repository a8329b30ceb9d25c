// What a sign-in takes of openid-client and no more: no server, no database, nothing checked that it does not check.
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretPost,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'
import { answer, parametersOf, ready } from '../harness/child-process.ts'

export interface OpenIdClientParameters {
  issuer: string
  clientId: string
  clientSecret: string
}

/** The first half of so many sign-ins; or their second, by the addresses that the provider sent the browser to. */
export type OpenIdClientTask = { begin: number } | { finish: readonly string[] }

export interface OpenIdClientWork {
  /** Where the browsers go; none from the second half. */
  urls: string[]
  /** Of all threads, between question and answer, in microseconds. */
  cpu: NodeJS.CpuUsage
}

const { issuer, clientId, clientSecret } = parametersOf<OpenIdClientParameters>()
const configuration = await discovery(new URL(issuer), clientId, {}, ClientSecretPost(clientSecret), {
  execute: [allowInsecureRequests, enableNonRepudiationChecks],
})

interface Begun {
  url: string
  checks: { expectedState: string; expectedNonce: string; pkceCodeVerifier: string }
}
let begun: Begun[] = []

async function begin(): Promise<Begun> {
  const pkceCodeVerifier = randomPKCECodeVerifier()
  const [expectedState, expectedNonce] = [randomState(), randomNonce()]
  const url = buildAuthorizationUrl(configuration, {
    redirect_uri: 'http://127.0.0.1/callback',
    scope: 'openid email profile',
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  return { url: url.href, checks: { expectedState, expectedNonce, pkceCodeVerifier } }
}

async function finish(callback: string, checks: Begun['checks']): Promise<void> {
  const grant = { ...checks, idTokenExpected: true }
  const tokens = await authorizationCodeGrant(configuration, new URL(callback), grant)
  await fetchUserInfo(configuration, tokens.access_token, tokens.claims()!.sub)
}

answer(async (task: OpenIdClientTask): Promise<OpenIdClientWork> => {
  const before = process.cpuUsage()
  if ('begin' in task) {
    begun = []
    for (let count = 0; count < task.begin; count += 1) begun.push(await begin())
  } else {
    for (const [index, callback] of task.finish.entries()) await finish(callback, begun[index]!.checks)
  }
  const cpu = process.cpuUsage(before)
  return { urls: 'begin' in task ? begun.map(({ url }) => url) : [], cpu }
})
ready()
