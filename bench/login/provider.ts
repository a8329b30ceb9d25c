// An OpenID Connect provider that agrees to everything at once and keeps nothing: who signs in and the nonce travel in the
// code, so that one process does for every side that is measured.
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { parametersOf, ready } from '../harness/child-process.ts'

/** What it must know of its client, and how many people sign in there, one after the other. */
export interface ProviderParameters {
  clientId: string
  people: number
}

const { clientId, people } = parametersOf<ProviderParameters>()
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'RS256', use: 'sig' }] }
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const header = encode({ alg: 'RS256', kid: 'bench' })
let issuer = ''
let arrived = 0

function idToken(person: string, nonce: string): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = encode({ iss: issuer, aud: clientId, sub: person, nonce, iat: now, exp: now + 300 })
  const signature = sign('sha256', Buffer.from(`${header}.${claims}`), privateKey)
  return `${header}.${claims}.${signature.toString('base64url')}`
}

function authorize({ searchParams }: URL): string {
  const back = new URL(searchParams.get('redirect_uri')!)
  back.searchParams.set('code', `${arrived++ % people}.${searchParams.get('nonce')}`)
  back.searchParams.set('state', searchParams.get('state')!)
  back.searchParams.set('iss', issuer)
  return back.href
}

function token(form: URLSearchParams): object {
  if (!form.get('code_verifier')) throw new Error('no code_verifier came')
  const [person, nonce] = form.get('code')!.split('.', 2)
  return { access_token: person, token_type: 'Bearer', expires_in: 300, id_token: idToken(person!, nonce!) }
}

function userinfo(authorization: string): object {
  const sub = authorization.replace('Bearer ', '')
  return { sub, name: `Person ${sub}`, email: `person${sub}@example.com`, email_verified: true }
}

const discovery = (): object => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
})

const server = createServer((request, response) => {
  const respond = async (): Promise<void> => {
    const url = new URL(request.url!, issuer)
    if (url.pathname === '/authorize') {
      response.writeHead(302, { location: authorize(url), 'content-length': 0 }).end()
      return
    }
    const answers: Record<string, () => object | Promise<object>> = {
      '/.well-known/openid-configuration': discovery,
      '/jwks': () => keys,
      '/token': async () => token(new URLSearchParams(await text(request))),
      '/userinfo': () => userinfo(request.headers.authorization!),
    }
    const body = Buffer.from(JSON.stringify(await answers[url.pathname]!()))
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  }
  respond().catch((error: unknown) => {
    console.error(error)
    response.writeHead(500, { 'content-length': 0 }).end()
  })
})
server.listen(0, '127.0.0.1', () => {
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  ready({ issuer })
})
