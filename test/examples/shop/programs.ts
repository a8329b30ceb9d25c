// The programs of examples/shop as processes, and what people do in a browser.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { childEnvironment } from '../../harness/child-environment.ts'
import type { Browser } from '../../harness/browser.ts'
import { eventually } from '../../receiving/harness.ts'

/** For Node.js: where imports of the packages lead. */
export const withPackages = `--import=${join(import.meta.dirname, 'use-packages.ts')}`

/** What processes get beside their own settings. */
export function programEnvironment(home: string): Record<string, string> {
  const installed = process.env['POSTERN_PACKAGE']
  return {
    ...childEnvironment(),
    HOME: home,
    NODE_OPTIONS: withPackages,
    ...(installed !== undefined && { POSTERN_PACKAGE: installed }),
  }
}

export interface Program {
  output(): string
  /** Resolves when the output matches. */
  shows(pattern: RegExp): Promise<void>
  /** Sends SIGTERM. @returns the exit code */
  stop(): Promise<number | null>
}

/** Starts a program in a process group of its own, so that a stop also reaches what it started. */
export function startProgram(
  command: readonly [string, ...string[]],
  options: { cwd: string; env: Record<string, string> },
): Program {
  const [program, ...args] = command
  const child: ChildProcess = spawn(program, args, { ...options, detached: true })
  let text = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    output: () => text,
    async shows(pattern) {
      await eventually(
        () => {
          if (pattern.test(text)) return true
          if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended:\n${text}`)
          return false
        },
        `${command.join(' ')} shows ${String(pattern)}`,
      ).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${text}`)
      })
    },
    async stop() {
      if (child.exitCode === null) process.kill(-child.pid!, 'SIGTERM')
      return ended
    },
  }
}

/** Signs in with the development provider, from the page of the shop and back to it. @returns the id of the user */
export async function signIn(browser: Browser, base: string, person: string): Promise<string> {
  const { url } = await browser.follow(`${base}/auth/demo?return_to=/`)
  const chosen = await browser.go(url, { method: 'POST', body: new URLSearchParams({ person }) })
  const end = await browser.follow(new URL(chosen.headers.get('location')!, url))
  if (end.url.href !== `${base}/`) throw new Error(`the sign-in ended at ${end.url.href}`)
  const { user } = (await (await browser.go(`${base}/auth/session`)).json()) as { user: { id: string } }
  return user.id
}

/** What the button Webhooks of the page and the form of the portal do. @returns the signing secret */
export async function addEndpoint(browser: Browser, base: string, url: string): Promise<string> {
  const post = (path: string, body?: object): Promise<Response> =>
    browser.go(base + path, {
      method: 'POST',
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
  const link = (await (await post('/portal-link')).json()) as { url: string }
  const opened = await post('/portal/session', { token: new URL(link.url).hash.slice(1) })
  if (opened.status >= 300) throw new Error(`the portal answered ${opened.status}: ${await opened.text()}`)
  const added = await post('/portal/subscribers', { url, eventTypes: ['order.paid'] })
  const { secret } = (await added.json()) as { secret?: string }
  if (secret === undefined) throw new Error(`the portal answered ${added.status}`)
  return secret
}
