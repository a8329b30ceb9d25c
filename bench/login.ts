import type { OpenIdClientParameters, OpenIdClientTask, OpenIdClientWork } from './bare/openid-client.ts'
import { createDatabase, engineTitles, readNumber, type EngineName } from './harness/databases.ts'
import { cpuOfService, type Cpu } from './harness/cpu.ts'
import { production, startPostern } from './harness/postern.ts'
import { startHelper } from './harness/processes.ts'
import { follow, signIn } from './login/browser.ts'
import type { ProviderParameters } from './login/provider.ts'
import { scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { figure, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const logins = 250
const people = 100
const boundMs = 3
const none: Cpu = { user: 0, system: 0 }
const client = { clientId: 'postern-bench', clientSecret: 'bench-client-secret-of-32-bytes!' }

export const login: Bench = {
  name: 'login',
  about:
    'CPU of a complete login by OpenID Connect, against what openid-client alone takes for the same login, and against two empty requests',
  plan(scale) {
    const steps = scale.engines.length * countSteps(3, scale)
    return { steps, seconds: steps * 1.5 * scale.size + 4 }
  },
  async run(context) {
    const outcome: Outcome = { figures: [], ratios: [], notes: [] }
    for (const engine of context.scale.engines) {
      const { figures, ratios } = await measure(engine, context)
      outcome.figures.push(...figures)
      outcome.ratios.push(...ratios)
    }
    outcome.notes.push(
      `${scaled(logins, context.scale)} logins a round, one after the other, each by a browser without cookies, of ${people} people in turn. CPU is that of all threads of the process, in user and in system mode; the provider, the browser and PostgreSQL are other processes.`,
      'Both sides: PKCE, nonce, state, the exchange of the code, an RS256 id_token whose signature is verified, the userinfo. Every login left a session in the database.',
    )
    return outcome
  },
}

async function measure(engine: EngineName, context: BenchContext): Promise<Omit<Outcome, 'notes'>> {
  await using stack = new AsyncDisposableStack()
  const parameters: ProviderParameters = { clientId: client.clientId, people }
  const provider = stack.use(await startHelper<{ issuer: string }>('login/provider.ts', parameters))
  const { issuer } = provider.ready
  const alone = stack.use(
    await startHelper<object, OpenIdClientTask, OpenIdClientWork>('bare/openid-client.ts', {
      ...client,
      issuer,
    } satisfies OpenIdClientParameters),
  )
  const empty = stack.use(await startHelper<{ port: number }, object, Cpu>('bare/redirect-server.ts'))
  const database = await createDatabase(engine, context.postgresServer)
  const postern = stack.use(
    await startPostern({
      folder: database.folder,
      env: {
        ...production,
        DATABASE_URL: database.url,
        BENCH_CLIENT_ID: client.clientId,
        BENCH_CLIENT_SECRET: client.clientSecret,
        BENCH_ISSUER: issuer,
      },
      profile: context.profile(`login ${engine}`),
    }),
  )

  const count = scaled(logins, context.scale)
  /** In milliseconds. */
  const perLogin = (...spans: [from: Cpu, to: Cpu][]): Cpu => {
    const spent = (mode: keyof Cpu): number =>
      spans.reduce((sum, [from, to]) => sum + to[mode] - from[mode], 0) / count / 1000
    return { user: spent('user'), system: spent('system') }
  }
  const sides: Side<Cpu>[] = [
    {
      name: 'Postern',
      async run() {
        const origin = `http://127.0.0.1:${postern.port}`
        const sessions = (): Promise<number> => readNumber(database, 'select count(*) from sessions')
        const known = await sessions()
        const before = await cpuOfService(origin)
        for (let index = 0; index < count; index += 1) await signIn(origin, 'bench')
        const after = await cpuOfService(origin)
        if ((await sessions()) !== known + count) throw new Error('not every login left a session')
        return perLogin([before, after])
      },
    },
    {
      name: 'openid-client alone',
      async run() {
        const { urls, cpu } = await alone.ask({ begin: count })
        const callbacks: string[] = []
        for (const url of urls) callbacks.push((await follow(url)).location)
        const { cpu: more } = await alone.ask({ finish: callbacks })
        return perLogin([none, cpu], [none, more])
      },
    },
    {
      name: 'two empty requests on Fastify',
      async run() {
        const before = await empty.ask({})
        const origin = `http://127.0.0.1:${empty.ready.port}`
        for (let index = 0; index < count; index += 1) {
          const { location, cookies } = await follow(`${origin}/begin`)
          await follow(location, cookies)
        }
        return perLogin([before, await empty.ask({})])
      },
    },
  ]
  const title = engineTitles[engine]
  const rounds = await interleave(sides, context.scale, (what) => context.step(`${title}: ${what}`))
  const all = rounds.map((side) => side.map(({ user, system }) => user + system))
  const [ours, theirs, bare] = all as [number[], number[], number[]]
  const own = ours.map((spent, round) => spent - theirs[round]!)
  const rest = own.map((spent, round) => spent - bare[round]!)
  const inKernel = rounds[0]!.map(({ system }, round) => system - rounds[1]![round]!.system)
  const figures = sides.map(({ name }, index) => figure(`${title}: ${name}`, 'ms', all[index]!))
  return {
    figures: [
      ...figures,
      figure(`${title}: Postern beside openid-client`, 'ms', own, boundMs),
      figure(`${title}: of that, in the kernel`, 'ms', inKernel),
      figure(`${title}: Postern beside openid-client and the two requests`, 'ms', rest),
    ],
    ratios: [ratio(`${title}: Postern / openid-client alone`, figures[0]!, figures[1]!)],
  }
}
