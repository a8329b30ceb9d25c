import type { OpenIdClientParameters, OpenIdClientTask, OpenIdClientWork } from './bare/openid-client.ts'
import { createDatabase, engineTitles, readNumber, type EngineName } from './harness/databases.ts'
import { startOn } from './harness/postern.ts'
import { startHelper } from './harness/processes.ts'
import { follow, signIn } from './login/browser.ts'
import type { ProviderParameters } from './login/provider.ts'
import { onEachEngine, scaled, type Bench, type BenchContext } from './measure/bench.ts'
import { cpuDuring, cpuOfService, totalOf, type Cpu } from './measure/cpu.ts'
import { figure, figureOf, ratio, type Outcome } from './measure/outcome.ts'
import { countSteps, interleave, type Side } from './measure/rounds.ts'

const logins = 250
const people = 100
const boundMs = 3
const client = { clientId: 'postern-bench', clientSecret: 'bench-client-secret-of-32-bytes!' }

export const login: Bench = {
  name: 'login',
  about:
    'CPU of a complete login by OpenID Connect, against what openid-client alone takes for the same login, and against two empty requests',
  plan(scale) {
    const steps = scale.engines.length * countSteps(3, scale)
    return { steps, seconds: steps * 1.5 * scale.size + 4 }
  },
  run: (context) =>
    onEachEngine(context, measure, [
      `${scaled(logins, context.scale)} logins a round, one after the other, each by a browser without cookies, of ${people} people in turn. CPU is that of all threads of the process, in user and in system mode; the provider, the browser and PostgreSQL are other processes.`,
      'Both sides: PKCE, nonce, state, the exchange of the code, an RS256 id_token whose signature is verified, the userinfo. Every login left a session in the database.',
    ]),
}

async function measure(engine: EngineName, context: BenchContext): Promise<Partial<Outcome>> {
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
  const empty = stack.use(await startHelper<{ port: number }, object, Cpu>('bare/empty-server.ts'))
  const database = await createDatabase(engine, context.postgresServer)
  const { origin } = stack.use(
    await startOn(database, {
      env: {
        BENCH_CLIENT_ID: client.clientId,
        BENCH_CLIENT_SECRET: client.clientSecret,
        BENCH_ISSUER: issuer,
      },
      profile: context.profile(`login ${engine}`),
    }),
  )

  const count = scaled(logins, context.scale)
  /** In milliseconds. */
  const perLogin = ({ user, system }: Cpu): Cpu => ({
    user: user / count / 1000,
    system: system / count / 1000,
  })
  const sides: Side<Cpu>[] = [
    {
      name: 'Postern',
      async run() {
        const sessions = (): Promise<number> => readNumber(database, 'select count(*) from sessions')
        const known = await sessions()
        const { cpu } = await cpuDuring(
          () => cpuOfService(origin),
          async () => {
            for (let index = 0; index < count; index += 1) await signIn(origin, 'bench')
          },
        )
        if ((await sessions()) !== known + count) throw new Error('not every login left a session')
        return perLogin(cpu)
      },
    },
    {
      name: 'openid-client alone',
      async run() {
        const { urls, cpu } = await alone.ask({ begin: count })
        const callbacks: string[] = []
        for (const url of urls) callbacks.push((await follow(url)).location)
        const { cpu: more } = await alone.ask({ finish: callbacks })
        return perLogin({ user: cpu.user + more.user, system: cpu.system + more.system })
      },
    },
    {
      name: 'two empty requests on Fastify',
      async run() {
        const bare = `http://127.0.0.1:${empty.ready.port}`
        const { cpu } = await cpuDuring(
          () => empty.ask({}),
          async () => {
            for (let index = 0; index < count; index += 1) {
              const { location, cookies } = await follow(`${bare}/begin`)
              await follow(location, cookies)
            }
          },
        )
        return perLogin(cpu)
      },
    },
  ]
  const title = engineTitles[engine]
  const results = await interleave(sides, context, title)
  const figures = results.map((side) => figureOf(side, 'ms', totalOf))
  const [ours, theirs, bare] = figures.map(({ rounds }) => rounds)
  const own = ours!.map((spent, round) => spent - theirs![round]!)
  const rest = own.map((spent, round) => spent - bare![round]!)
  const system = results.map(({ rounds }) => rounds.map((spent) => spent.system))
  const inKernel = system[0]!.map((spent, round) => spent - system[1]![round]!)
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
