import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { request } from 'undici'
import { app } from './authorize/clients.config.ts'
import { createDatabase, engineTitles, readNumber, type EngineName } from './harness/databases.ts'
import { startOn } from './harness/postern.ts'
import { startHelper } from './harness/processes.ts'
import { follow, signIn } from './login/browser.ts'
import type { ProviderParameters } from './login/provider.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { cpuDuring, cpuOfService, totalOf, type Cpu } from './measure/cpu.ts'
import { figure, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const signIns = 500
/** Below the limit of sign-ins of one person in all rounds. */
const people = 100
const boundMs = 2
/** Sign-ins at once: a busy service wakes up less often for the same work. */
const busy = 8

export const authorize: Bench = {
  name: 'authorize',
  about:
    'CPU of a sign-in of an application by a person with a live session, authorize and token, against two empty requests',
  plan(scale) {
    const steps = scale.engines.length * countSteps(3, scale)
    return { steps, seconds: steps * 2 * scale.size + 4 }
  },
  run: (context) =>
    onEachEngine(context, measure, [
      `${scaled(signIns, context.scale)} sign-ins a round, one after the other and ${busy} at once, of ${people} people in turn, each with a session. CPU is that of all threads of the process, in user and in system mode; the application and PostgreSQL are other processes.`,
      'A confidential application with PKCE, nonce and the scopes openid, email and profile. Every sign-in left a token family in the database and brought an access token, an id_token (both ES256) and a refresh token.',
    ]),
}

async function measure(engine: EngineName, context: BenchContext): Promise<Partial<Outcome>> {
  await using stack = new AsyncDisposableStack()
  const parameters: ProviderParameters = { clientId: 'postern-bench', people }
  const provider = stack.use(await startHelper<{ issuer: string }>('login/provider.ts', parameters))
  const empty = stack.use(await startHelper<{ port: number }, object, Cpu>('bare/empty-server.ts'))
  const database = await createDatabase(engine, context.postgresServer)
  const { origin } = stack.use(
    await startOn(database, {
      env: {
        POSTERN_CONFIG: join(import.meta.dirname, 'authorize', 'clients.config.ts'),
        BENCH_CLIENT_ID: parameters.clientId,
        BENCH_CLIENT_SECRET: 'bench-client-secret-of-32-bytes!',
        BENCH_ISSUER: provider.ready.issuer,
      },
      profile: context.profile(`authorize ${engine}`),
    }),
  )
  const sessions: string[] = []
  for (let index = 0; index < people; index += 1) sessions.push(await signIn(origin, 'bench'))
  const count = scaled(signIns, context.scale)
  /** Milliseconds of CPU for one sign-in. */
  const perSignIn = async (read: () => Promise<Cpu>, work: () => Promise<unknown>): Promise<number> => {
    const { cpu } = await cpuDuring(read, work)
    return totalOf(cpu) / count / 1000
  }
  const families = (): Promise<number> => readNumber(database, 'select count(*) from token_families')
  const signInAll = async (atOnce: number): Promise<number> => {
    const known = await families()
    const one = async (first: number): Promise<void> => {
      for (let index = first; index < count; index += atOnce)
        await signInApp(origin, sessions[index % people]!)
    }
    const spent = await perSignIn(
      () => cpuOfService(origin),
      () => Promise.all(Array.from({ length: atOnce }, (_, first) => one(first))),
    )
    if ((await families()) !== known + count) throw new Error('not every sign-in left a token family')
    return spent
  }
  const sides: Side<number>[] = [
    { name: 'Postern', run: () => signInAll(1) },
    { name: `Postern, ${busy} at once`, run: () => signInAll(busy) },
    {
      name: 'two empty requests on Fastify',
      run: () =>
        perSignIn(
          () => empty.ask({}),
          async () => {
            const bare = `http://127.0.0.1:${empty.ready.port}`
            for (let index = 0; index < count; index += 1) {
              await follow(`${bare}/begin`)
              await follow(`${bare}/end`)
            }
          },
        ),
    },
  ]
  const title = engineTitles[engine]
  const results = await interleave(sides, context, title)
  const figures = results.map(({ name, rounds }, index) =>
    figure(name, 'ms', rounds, index < 2 ? boundMs : undefined),
  )
  return { figures, ratios: [ratio(`${title}: Postern / two empty requests`, figures[0]!, figures[2]!)] }
}

/** One sign-in of the application: the browser asks with its session, and the application exchanges the code. */
async function signInApp(origin: string, cookies: string): Promise<void> {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    client_id: app.id,
    redirect_uri: app.redirectUri,
    response_type: 'code',
    scope: 'openid email profile',
    state: randomBytes(16).toString('base64url'),
    nonce: randomBytes(16).toString('base64url'),
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const { location } = await follow(`${origin}/oauth2/authorize?${query.toString()}`, cookies)
  const code = new URL(location).searchParams.get('code')
  if (!code) throw new Error(`a sign-in ended at ${location}`)
  const fields = { grant_type: 'authorization_code', code, code_verifier: verifier }
  const response = await request(`${origin}/oauth2/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${app.id}:${app.secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ ...fields, redirect_uri: app.redirectUri }).toString(),
  })
  const text = await response.body.text()
  if (response.statusCode !== 200 || !text.includes('"id_token"')) throw new Error(text)
}
