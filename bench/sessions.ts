import { createAuthenticate } from '../src/accounts/authenticate.ts'
import type { AccessTokens } from '../src/accounts/tokens/access-tokens.ts'
import type { ApiKeys } from '../src/accounts/tokens/api-keys.ts'
import { HostCookie } from '../src/http/responses/host-cookie.ts'
import { SecondFactor } from '../src/accounts/sessions/second-factor.ts'
import { LastSeenWriter } from '../src/accounts/sessions/last-seen-writer.ts'
import { Sessions } from '../src/accounts/sessions/sessions.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { hashToken } from '../src/crypto/tokens.ts'
import type { Authenticate } from '../src/http/access/principal.ts'
import type { Database } from '../src/storage/database.ts'
import { migrate } from '../src/storage/migrate.ts'
import { openDatabase } from '../src/storage/open.ts'
import { createLog } from '../src/telemetry/log.ts'
import { createDatabase, engineTitles, type EngineName } from './harness/databases.ts'
import { signedIn } from './harness/signed-in.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Figure, type Outcome, type Ratio } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const checks = 20_000
const people = 20_000
/** Of the people, those that are asked about again and again: all of them fit in what a process keeps. */
const regulars = 1_000
const boundUs = 50

const statement = `select sessions.id, sessions.user_id, users.role, sessions.last_seen_at, sessions.expires_at
  from sessions inner join users on users.id = sessions.user_id
  where sessions.revoked_at is null and users.blocked_at is null and sessions.token_hash = `

/** Who asks, and with what: the part of a request that the check reads. */
type Asking = Parameters<Authenticate>[0]

export const sessions: Bench = {
  name: 'sessions',
  about:
    'The check of the session cookie of one request, against hashing the token and the one prepared read that it takes at least',
  plan(scale) {
    const sides = scale.engines.reduce((sum, engine) => sum + (engine === 'sqlite' ? 2 : 3), 0)
    const steps = countSteps(sides, scale)
    return { steps, seconds: steps * 2 * scale.size + 8 }
  },
  async run(context) {
    const figures: Figure[] = []
    const ratios: Ratio[] = []
    for (const engine of context.scale.engines) {
      const measured = await measure(engine, context)
      figures.push(...measured.figures)
      ratios.push(measured.ratio)
    }
    const notes = [
      'In one process, one check after the other: cookie, hash, read, role, times, limits of idle time. A round trip to PostgreSQL is waited for.',
      'On PostgreSQL a session that was read is kept for as long as no process has taken it back; "read each time" asks about more people than are kept.',
    ]
    return { figures, ratios, notes } satisfies Outcome
  },
}

async function measure(
  engine: EngineName,
  { scale, postgresServer, step }: BenchContext,
): Promise<{ figures: Figure[]; ratio: Ratio }> {
  const { url } = await createDatabase(engine, postgresServer)
  const database = await openDatabase(url)
  try {
    await migrate(database)
    const tokens = await signedIn(database, scaled(people, scale))
    const few = tokens.slice(0, Math.min(regulars, tokens.length))
    const authenticate = createCheck(database)
    const bare = createBare(database)
    const title = engineTitles[engine]
    const count = scaled(checks, scale)
    const check = async (of: readonly string[]): Promise<number> =>
      perCall(count, of, async (token) => {
        if (!(await authenticate(asking(token)))) throw new Error('a session was not found')
      })
    const sides: Side<number>[] = [
      { name: `${title}, session check`, run: () => check(few) },
      { name: `${title}, hash and read alone`, run: () => perCall(count, few, bare) },
    ]
    if (engine === 'postgres')
      sides.push({ name: `${title}, session check, read each time`, run: () => check(tokens) })
    const results = await interleave(sides, scale, step)
    const limit = engine === 'sqlite' ? boundUs : undefined
    const figures = sides.map(({ name }, index) =>
      figure(name, 'µs', results[index]!, index === 0 ? limit : undefined),
    )
    return { figures, ratio: ratio(`${title}: check to hash and read`, figures[0]!, figures[1]!) }
  } finally {
    await database.close()
  }
}

/** Microseconds of one call, on average over `count`. */
async function perCall(
  count: number,
  tokens: readonly string[],
  work: (token: string) => Promise<unknown>,
): Promise<number> {
  const began = performance.now()
  for (let index = 0; index < count; index += 1) await work(tokens[index % tokens.length]!)
  return ((performance.now() - began) * 1000) / count
}

function createCheck(database: Database): Authenticate {
  const limits = { idle: 7 * 86_400_000, perUser: 50, lifetime: 30 * 86_400_000 }
  const log = createLog('warn')
  const sessionCookie = new HostCookie('postern_session', () => 'https://gate.example.com')
  const found = new Sessions({
    database,
    clock: systemClock,
    log,
    limits,
    admins: [],
    record: async () => undefined,
    lastSeen: new LastSeenWriter(database, log, limits.idle),
  })
  const secondFactor = new SecondFactor({ required: false, amrValues: [], acrValues: [] })
  // Requests with an Authorization header go to these two; the bench makes none.
  const others = {} as { keys: ApiKeys; accessTokens: AccessTokens }
  const noteRefusal = async () => undefined
  return createAuthenticate({ ...others, sessions: found, sessionCookie, secondFactor, noteRefusal })
}

/** As many cookies as a browser brings on an ordinary day. */
function asking(token: string): Asking {
  const cookie = `theme=dark; __Host-flow=${token}; __Host-postern_session=${token}`
  return {
    method: 'GET',
    headers: { cookie },
    routeOptions: { config: {} },
    server: { basePath: '' },
  } as Asking
}

function createBare(database: Database): (token: string) => Promise<unknown> {
  if (database.engine === 'sqlite') {
    const { readConnection } = database
    return async (token) => readConnection.get(`${statement}?`, [hashToken(token)])
  }
  const { pool } = database
  const text = `${statement}$1`
  return async (token) => pool.query({ name: 'bare', text, values: [hashToken(token)] })
}
