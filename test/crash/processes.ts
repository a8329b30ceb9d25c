import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { childEnvironment } from '../harness/child-environment.ts'
import type { Chance } from '../harness/chance.ts'
import { serviceEnvironment } from '../harness/service.ts'

/** Milliseconds from a start to a kill within it, at most. */
const longestStart = 600
/** Events that are acknowledged or ended in one life, at most, and milliseconds from there to the kill. */
const longestLife = 80
const longestRest = 50
/**
 * Every third life lasts until so many events have ended in it, and for so long behind that, which is enough for the
 * handlers that take longest: others would be cut off in each of their attempts, and are rightly given up in the end.
 */
const mostEnded = 80
const longestLongRest = 1_500
/** Milliseconds of a life in which nothing comes. */
const idleLife = 10_000

/** What tells how far a life has come. */
export interface Counts {
  readonly acknowledged: () => number
  readonly ended: () => number
}

/** Processes of the service on one database, each killed and started again at random moments. */
export class Processes {
  kills = 0
  /** When each was, in milliseconds as `performance.now` has it. */
  readonly killedAt: number[] = []
  readonly #databaseUrl: string
  readonly #chance: Chance
  readonly #counts: Counts
  readonly #environment: Readonly<Record<string, string>>
  readonly #running = new Map<number, { child: ChildProcess; baseUrl?: string }>()

  constructor(
    databaseUrl: string,
    chance: Chance,
    counts: Counts,
    environment: Readonly<Record<string, string>>,
  ) {
    this.#databaseUrl = databaseUrl
    this.#environment = environment
    this.#chance = chance
    this.#counts = counts
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
      const chance = this.#chance
      const { acknowledged, ended } = this.#counts
      if (chance.is(0.33)) {
        await until(ended, 1 + chance.below(mostEnded))
        await wait(longestLongRest * chance.next())
      } else {
        // Some at once, when what the one before left is taken up, most while events come.
        await until(() => acknowledged() + ended(), chance.below(longestLife))
        await wait(longestRest * chance.next())
      }
    }
    this.#running.delete(place)
    this.killedAt.push(performance.now())
    child.kill('SIGKILL')
    await gone
  }

  #start(place: number): { child: ChildProcess; ready: Promise<void> } {
    const child = fork(join(import.meta.dirname, 'service.ts'), {
      env: {
        ...childEnvironment(),
        ...serviceEnvironment(this.#databaseUrl),
        ...this.#environment,
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

/** Resolves when so many more were counted, or nothing comes for long. */
async function until(count: () => number, more: number): Promise<void> {
  const enough = count() + more
  for (const since = performance.now(); count() < enough && performance.now() - since < idleLife;)
    await wait(1)
}
