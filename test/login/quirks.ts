// Presets and the shaped servers that they lead to, for tests of what a provider does in its own way.
import { Browser } from '#test/harness/browser.ts'
import { engines } from '#test/harness/engines.ts'
import {
  client,
  startShapedProvider,
  type Reply,
  type Shape,
  type ShapedProvider,
} from '#test/harness/shaped-provider.ts'
import { startTestService, type TestService, type TestServiceOptions } from '#test/harness/service.ts'
import { providerCases } from './provider-shapes.ts'
import { signInShaped } from './shaped-sign-in.ts'

/** A name, the preset that it is an instance of, and what more is set for it. */
export type Instance = [name: string, preset: string, more?: Record<string, string>]

export interface Quirks {
  service: TestService
  provider(name: string): ShapedProvider
  /** Changes what a provider does, until `reset`. */
  change(name: string, more: Partial<Shape>): void
  /** The same for single calls of its API. */
  api(name: string, calls: Record<string, () => Reply>): void
  /** Where a sign-in ends: '/dashboard', or the failure's code. */
  outcome(name: string, browser?: Browser): Promise<string>
  reset(): void
  close(): Promise<void>
}

// The database has no part in any of it, so one engine is enough.
export async function startQuirks(
  instances: readonly Instance[],
  options: Pick<TestServiceOptions, 'login'> = {},
): Promise<Quirks> {
  const providers = new Map<string, ShapedProvider>()
  const originals = new Map<string, Shape>()
  const env: Record<string, string> = {}
  for (const [name, preset, more = {}] of instances) {
    const { shape, env: addresses } = providerCases[preset]!
    const provider = await startShapedProvider(shape)
    providers.set(name, provider)
    originals.set(name, shape)
    const prefix = name.toUpperCase()
    Object.assign(env, addresses(provider.url, prefix), {
      [`${prefix}_CLIENT_ID`]: client.id,
      [`${prefix}_CLIENT_SECRET`]: client.secret,
    })
    if (name !== preset) env[`${prefix}_PRESET`] = preset
    for (const [key, value] of Object.entries(more)) env[`${prefix}_${key}`] = value
  }
  const service = await startTestService(engines[0]!, { env, ...options })
  const provider = (name: string): ShapedProvider => providers.get(name)!
  const change = (name: string, more: Partial<Shape>): void => {
    provider(name).shape = { ...provider(name).shape, ...more }
  }
  return {
    service,
    provider,
    change,
    api: (name, calls) => change(name, { api: { ...originals.get(name)!.api, ...calls } }),
    async outcome(name, browser = new Browser()) {
      const target = new URL(await signInShaped(service, browser, name), service.baseUrl)
      return target.searchParams.get('error') ?? target.pathname
    },
    reset() {
      for (const [name, shape] of originals) {
        provider(name).shape = shape
        provider(name).requests.length = 0
      }
    },
    async close() {
      await service.close()
      for (const one of providers.values()) await one.close()
    },
  }
}
