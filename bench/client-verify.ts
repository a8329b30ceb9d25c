import { createRemoteJWKSet, customFetch, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { createVerifier, type VerifierOptions } from '../packages/client/src/tokens/index.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Figure, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const issuer = 'https://gate.example.com'
const audience = 'https://api.example.com'
const verifications = 10_000
/** Tokens in use at a time: those of a thousand people, each of which comes with many requests. */
const tokensInUse = 1_000
/** Verifications in a second of one core's time. */
const boundPerSecond = 20_000
const algorithms = ['ES256', 'RS256', 'EdDSA']

type Verify = (token: string) => Promise<unknown>

export const clientVerify: Bench = {
  name: 'client-verify',
  about: 'Access tokens that the client library verifies in a second of CPU, against jose with the same keys',
  plan(scale) {
    const steps = countSteps(3 + algorithms.length, scale)
    return { steps, seconds: steps * 0.8 * scale.size + 5 }
  },
  async run(context) {
    const figures = await measure(context)
    const [, , cold] = figures
    return {
      figures,
      ratios: [ratio('client library to jose, ES256, each signature', cold!, figures.at(-1)!, { bound: 1 })],
      notes: [
        'One call after the other in one process; CPU is that of all its threads, in user and in system mode. Each call has a string of its own, as the parser of HTTP makes one.',
        `"Seen before": ${tokensInUse} tokens in turn, which the library remembers until their keys change; the end of a token is checked at each use. "Each token twice": it remembers none of them at first. "Each signature": with \`cacheSize: 0\`.`,
        'A token that is seen for the first time costs what its signature costs. With ES256 the verification by OpenSSL alone takes more than the bound allows; the bound is kept from the second use of a token on.',
      ],
    } satisfies Outcome
  },
}

async function measure({ scale, step }: BenchContext): Promise<Figure[]> {
  const count = scaled(verifications, scale)
  const es256 = await issue('ES256', Math.min(tokensInUse, count))
  const remember = { cacheSize: tokensInUse }
  const sides: Side<number>[] = [
    sideOf('seen before, ES256', es256.tokens, count * 10, es256.warm(remember)),
    sideOf('each token twice, ES256', es256.tokens, es256.tokens.length * 2, () => es256.verify(remember)),
  ]
  for (const algorithm of algorithms) {
    const { tokens, verify } = algorithm === 'ES256' ? es256 : await issue(algorithm, Math.min(100, count))
    const each = verify({ cacheSize: 0 })
    sides.push(sideOf(`each signature, ${algorithm}`, tokens, count, () => each))
  }
  sides.push(sideOf('jose, each signature, ES256', es256.tokens, count, () => es256.jose))
  const results = await interleave(sides, scale, step)
  const figures = sides.map(({ name }, index) => figure(name, '1/s', results[index]!))
  for (const bounded of figures.slice(0, 2)) bounded.atLeast = boundPerSecond
  return figures
}

/** @param make gives what verifies in a round. */
function sideOf(
  name: string,
  tokens: readonly Buffer[],
  count: number,
  make: () => Verify | Promise<Verify>,
): Side<number> {
  return {
    name,
    async run() {
      const verify = await make()
      const before = process.cpuUsage()
      for (let index = 0; index < count; index += 1)
        await verify(tokens[index % tokens.length]!.toString('latin1'))
      const { user, system } = process.cpuUsage(before)
      return count / ((user + system) / 1e6)
    },
  }
}

async function issue(alg: string, count: number) {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'k', alg, use: 'sig' }]
  const sign = (subject: number): Promise<string> =>
    new SignJWT({ client_id: 'spa', jti: String(subject), sid: 's', scope: 'orders:read' })
      .setProtectedHeader({ alg, kid: 'k', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(String(subject))
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey)
  const texts = await Promise.all(Array.from({ length: count }, (_, index) => sign(index)))
  const tokens = texts.map((text) => Buffer.from(text))
  const fetch = async (): Promise<Response> => Response.json({ keys })
  const keySet = createRemoteJWKSet(new URL(issuer), { [customFetch]: fetch })
  const verify = (options: Partial<VerifierOptions>): Verify =>
    createVerifier({ issuer, audience, fetch, ...options }).verify
  return {
    tokens,
    verify,
    /** One that knows all tokens. */
    warm: (options: Partial<VerifierOptions>) => {
      const warm = verify(options)
      const known = Promise.all(texts.map((text) => warm(text)))
      return async (): Promise<Verify> => {
        await known
        return warm
      }
    },
    jose: (token: string) => jwtVerify(token, keySet, { issuer, audience, typ: 'at+jwt' }),
  }
}
