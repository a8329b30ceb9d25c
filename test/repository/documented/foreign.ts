/**
 * Packages that pages import and this checkout does not have, as far as the pages use them. Only what the pages pass to the client library
 * and get from it has an exact type: a fault in the use of these packages themselves can only be found with them.
 */
export const foreign: Readonly<Record<string, string>> = {
  'next/headers': 'export function headers(): Promise<Headers>',
  'next/navigation': 'export function redirect(url: string): never',
  'next-auth': `
    interface Provider { id: string; name: string; type: 'oidc'; issuer: string; clientId: string; clientSecret: string | undefined }
    export default function NextAuth(config: { providers: Provider[] }): Record<'handlers' | 'auth' | 'signIn' | 'signOut', unknown>`,
  hono: `
    interface Context<V> {
      req: { raw: Request; url: string }
      get<K extends keyof V>(key: K): V[K]
      set<K extends keyof V>(key: K, value: V[K]): void
      json(body: unknown): Response
      redirect(location: string): Response
    }
    type Handler<V> = (c: Context<V>, next: () => Promise<void>) => Response | Promise<Response | undefined>
    export class Hono<E extends { Variables: object }> {
      fetch(request: Request): Promise<Response>
      request(path: string, init?: RequestInit): Promise<Response>
      get(path: string, ...handlers: Handler<E['Variables']>[]): this
    }`,
  '@hono/node-server': `
    export function serve(options: { fetch(request: Request): Promise<Response>; hostname: string; port: number }): void`,
  '@sveltejs/kit': `
    interface Event { request: Request; url: URL; locals: App.Locals }
    export type Handle = (input: { event: Event; resolve(event: Event): Response | Promise<Response> }) => Response | Promise<Response>
    export function redirect(status: number, location: string): never
    export function json(body: unknown): Response`,
  '@sveltejs/kit/vite': 'export function sveltekit(): Promise<never[]>',
  '$env/dynamic/private':
    'export const env: Record<`${string}`, string | undefined> & { POSTERN_URL?: string }',
  '$app/navigation': 'export function invalidateAll(): Promise<void>',
  vitest: `
    interface Matchers { toEqual(wanted: unknown): void; toThrow(wanted: unknown): void }
    export const expect: { (value: unknown): Matchers; objectContaining(part: object): unknown }
    export function test(name: string, run: () => void | Promise<void>): void`,
}

/** What SvelteKit generates beside each route. */
export const routeTypes = `
  interface Event { request: Request; url: URL; locals: App.Locals }
  export type LayoutServerLoad = (event: Event) => unknown
  export type PageServerLoad = (event: Event) => unknown
  export type RequestHandler = (event: Event) => Response | Promise<Response>
`
