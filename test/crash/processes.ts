import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Chance } from '../harness/chance.ts'
import { webhookSecret } from '../harness/service.ts'
import { environment } from './handlers.ts'

/** Milliseconds from a start to a kill within it, at most. */
const longestStart = 600
/** Events that are acknowledged in one life, at most, and milliseconds from there to the kill. */
const longestLife = 80
const longestRest = 50
/**
 * The same of every third life: long enough for the handlers that take longest. Others would be cut off in each of their
 * attempts, and after so many of these an event is given up, as it is to be.
 */
const longestLongRest = 1_500
/** Milliseconds of a life in which nothing comes. */
const idleLife = 5_000

/** Processes of the service on one database, each killed and started again at random moments. */
export class Processes {
  kills = 0
  readonly #databaseUrl: string
  readonly #chance: Chance
  readonly #progress: () => number
  readonly #running = new Map<number, { child: ChildProcess; baseUrl?: string }>()

  /** @param progress how many events were acknowledged */
  constructor(databaseUrl: string, chance: Chance, progress: () => number) {
    this.#databaseUrl = databaseUrl
    this.#chance = chance
    this.#progress = progress
  }

  /** Where the processes answer that do so now. */
  get addresses(): string[] {
    return [...this.#running.values()].flatMap(({ baseUrl }) => baseUrl ?? [])
  }

  /** Resolves when so many processes were killed altogether, and each of these runs again. */
  async killUntil(kills: number, places: number, onKill: () => void): Promise<void> {
    const keepKilling = async (place: number): Promise<void> => {
      while (this.kills < kills) {
        this.kills += 1
        await this.#liveShortly(place)
        onKill()
      }
      await this.#ready(this.#start(place))
    }
    await Promise.all(Array.from({ length: places }, (_, place) => keepKilling(place)))
  }

  async #liveShortly(place: number): Promise<void> {
    const { child, ready } = this.#start(place)
    const gone = once(child, 'exit')
    if (this.#chance.is(0.1)) await wait(longestStart * this.#chance.next())
    else {
      await this.#ready({ child, ready })
      // Some at once, when what the one before left is taken up, most while events come.
      const until = this.#progress() + this.#chance.below(longestLife)
      for (const since = performance.now(); performance.now() - since < idleLife; await wait(1))
        if (this.#progress() >= until) break
      await wait((this.#chance.is(0.33) ? longestLongRest : longestRest) * this.#chance.next())
    }
    this.#running.delete(place)
    child.kill('SIGKILL')
    await gone
  }

  #start(place: number): { child: ChildProcess; ready: Promise<void> } {
    const child = fork(join(import.meta.dirname, 'service.ts'), {
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        DATABASE_URL: this.#databaseUrl,
        POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
        WEBHOOK_SECRET: webhookSecret,
        RATE_LIMIT: 'off',
        ...environment,
      },
    })
    const running: { child: ChildProcess; baseUrl?: string } = { child }
    this.#running.set(place, running)
    const ready = new Promise<void>((resolve) => {
      child.once('message', (message: { baseUrl: string }) => {
        running.baseUrl = message.baseUrl
        resolve()
      })
    })
    return { child, ready }
  }

  /** @throws when the process ends by itself. */
  async #ready({ child, ready }: { child: ChildProcess; ready: Promise<void> }): Promise<void> {
    const ended = once(child, 'exit').then(([code]) => {
      if (!child.killed) throw new Error(`the service ended at its start, with code ${String(code)}`)
    })
    await Promise.race([ready, ended])
  }

  async end(): Promise<void> {
    const all = [...this.#running.values()].map(({ child }) => child)
    this.#running.clear()
    await Promise.all(
      all.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
      }),
    )
  }
}
