import type { AppDetail } from '../../api/answers.ts'

export interface SignInAttempt {
  /** The authorization request to open. */
  url: string
  /** Without it nobody can use the code, not even the app. */
  verifier: string
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)))

/** An authorization request like the app's own, with PKCE values that only this page has. */
export async function newAttempt(
  issuer: string,
  { id, scopes }: Pick<AppDetail, 'id' | 'scopes'>,
  redirectUri: string,
): Promise<SignInAttempt> {
  const verifier = random()
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const query = new URLSearchParams({
    client_id: id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: ['openid', 'profile', 'email'].filter((scope) => scopes.includes(scope)).join(' '),
    state: random(),
    nonce: random(),
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  })
  return { url: `${issuer}/oauth2/authorize?${query.toString()}`, verifier }
}

/** The request that exchanges the attempt's code for tokens. */
export function exchangeCommand(
  issuer: string,
  app: Pick<AppDetail, 'id' | 'confidential' | 'jwks'>,
  redirectUri: string,
  verifier: string,
): string {
  return [
    `curl ${issuer}/oauth2/token`,
    ...authenticationOf(app),
    '-d grant_type=authorization_code',
    '-d code="$CODE"',
    `--data-urlencode redirect_uri='${redirectUri}'`,
    `-d code_verifier=${verifier}`,
  ].join(' \\\n  ')
}

function authenticationOf({
  id,
  confidential,
  jwks,
}: Pick<AppDetail, 'id' | 'confidential' | 'jwks'>): string[] {
  if (jwks)
    return [
      '-d client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      '-d client_assertion="$CLIENT_ASSERTION"',
    ]
  return [confidential ? `-u '${id}:'"$CLIENT_SECRET"` : `-d client_id='${id}'`]
}
