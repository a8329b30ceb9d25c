// APIs that verify access tokens with libraries of other authors, and know nothing of this service but its JWKS.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRemoteJWKSet, decodeJwt, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { Browser, onOneEngine, started, startedService, startOAuthProvider } from '#test/harness/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { callback, tokensOf } from '../harness.ts'
import { goProgram, javaProgram, pythonProgram, run, type Program } from './programs.ts'

/** The user of an accepted token. @throws for one that is refused */
type Verify = (issuer: string, audience: string, token: string) => Promise<string>
interface ResourceServer {
  verify: Verify
  stop: () => void
}

const python = pythonProgram('resource_server.py')
const go = goProgram('resource-server')
const java = javaProgram('ResourceServer.java')
const verifiers: [name: string, program: Program | undefined, args: string[]][] = [
  ['jose', undefined, []],
  ['PyJWT', python, ['pyjwt']],
  ['Authlib', python, ['authlib']],
  ['golang-jwt with keyfunc', go, ['golang-jwt']],
  ['go-oidc', go, ['go-oidc']],
  ['Nimbus', java, []],
]

/** Verifies in this process. */
function withJose(jwksUri: string): ResourceServer {
  const keys = createRemoteJWKSet(new URL(jwksUri))
  return {
    async verify(issuer, audience, token) {
      const options = { issuer, audience, typ: 'at+jwt', algorithms: ['ES256'] }
      return (await jwtVerify(token, keys, options)).payload.sub!
    },
    stop: () => undefined,
  }
}

/** Verifies in a program that answers in lines. */
function withProgram(command: readonly string[], args: string[], jwksUri: string): ResourceServer {
  const { write, nextLine, stop } = run(command, [...args, jwksUri])
  return {
    async verify(...fields) {
      write(fields.join(' '))
      const answer = await nextLine()
      const subject = /^accepted (\S+)$/.exec(answer)?.[1]
      if (subject !== undefined) return subject
      assert.match(answer, /^refused /)
      throw new Error(answer)
    },
    stop,
  }
}

onOneEngine('resource servers', (engine) => {
  let shift = 0
  const provider = started(startOAuthProvider)
  const service = startedService(engine, () => ({
    env: provider.env('ACME'),
    config: { login: { clients: [{ id: 'api', redirectUris: [callback], audience: 'api' }] } },
    parts: { clock: { ...systemClock, now: () => Date.now() + shift } },
  }))

  for (const [name, program, args] of verifiers) {
    const skip = program && 'missing' in program ? program.missing : false
    test(`${name} accepts an access token and nothing else`, { skip }, async () => {
      if (program && 'missing' in program) return
      const issuer = service.baseUrl
      const jwksUri = `${issuer}/.well-known/jwks.json`
      const server = program ? withProgram(program.command, args, jwksUri) : withJose(jwksUri)
      try {
        const tokens = () => tokensOf(service, new Browser(), { client_id: 'api' })
        const body = await tokens()
        const [good, idToken] = [String(body['access_token']), String(body['id_token'])]
        assert.equal(await server.verify(issuer, 'api', good), decodeJwt(good).sub)

        shift = -2 * 3_600_000
        const expired = String((await tokens())['access_token'])
        shift = 0
        const { privateKey } = await generateKeyPair('ES256')
        const forged = await new SignJWT(decodeJwt(good))
          .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
          .sign(privateKey)
        assert.equal(decodeJwt(idToken).aud, 'api', 'the id_token differs by its type only')
        const wrong: [why: string, ...Parameters<Verify>][] = [
          ['audience', issuer, 'another-api', good],
          ['issuer', 'https://other.example.com', 'api', good],
          ['expiry', issuer, 'api', expired],
          ['type', issuer, 'api', idToken],
          ['signature', issuer, 'api', forged],
        ]
        for (const [why, ...fields] of wrong) await assert.rejects(server.verify(...fields), Error, why)
        assert.equal(await server.verify(issuer, 'api', good), decodeJwt(good).sub, 'it still answers')
      } finally {
        server.stop()
      }
    })
  }
})
