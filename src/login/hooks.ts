import type { Clock } from '../runtime/clock.ts'
import type { EmitEvents } from '../accounts/account-events.ts'
import type { User } from '../accounts/users.ts'
import type { Tx } from '../storage/database.ts'
import { StorageUnavailable } from '../storage/unavailable.ts'
import type { LoginConfig } from './config.ts'
import type { DeclaredHook, Hook, HookContext } from './hook-context.ts'
import { SignInFailure } from './failures.ts'
import type { Vouched } from './issued-tokens.ts'

export type HookName = 'onSignUp' | 'onSignIn' | 'onLink'

/** Milliseconds that one hook may take: the browser waits, and on SQLite so does everybody who writes. */
const timeout = 5_000
const longestMessage = 300

export interface HookSubject {
  user: User
  vouched: Vouched
  client: string | undefined
}

/** The configuration's hooks, run within the transaction of a sign-in. */
export class Hooks {
  readonly #config: LoginConfig
  readonly #emit: EmitEvents
  readonly #clock: Clock

  constructor(parts: { config: LoginConfig; emit: EmitEvents; clock: Clock }) {
    this.#config = parts.config
    this.#emit = parts.emit
    this.#clock = parts.clock
  }

  has(name: HookName): boolean {
    return this.#config[name] !== undefined
  }

  /**
   * Runs one hook, if there is one, and emits what it emitted, in the same transaction. Gives the number of events.
   * @throws SignInFailure `refused` with the hook's message, or `hook-failed`.
   */
  async run(name: HookName, tx: Tx, subject: HookSubject): Promise<number> {
    const declared = this.#config[name]
    if (!declared) return 0
    const { handle, providerTokens } = declaration(declared)
    const { identity, profile, tokens } = subject.vouched
    const emitted: Parameters<HookContext['emit']>[0][] = []
    let refusal: SignInFailure | undefined
    const context: HookContext = {
      user: subject.user,
      identity,
      profile,
      client: subject.client,
      // The service's own tables are not the hook's business: it sees the user's.
      tx: tx as unknown as HookContext['tx'],
      emit: (event) => void emitted.push(event),
      refuse: (message) => {
        refusal ??= new SignInFailure('refused', undefined, { message: shown(message) })
        throw refusal
      },
      providerToken: providerTokens.includes(identity.provider) ? tokens.accessToken : undefined,
    }
    try {
      await this.#inTime(name, handle, context)
      // A hook may have caught it, with whatever else it was ready for: it refuses all the same.
      if (refusal) throw refusal
      if (emitted.length > 0) await this.#emit(tx, emitted)
    } catch (error) {
      if (refusal) throw refusal
      if (error instanceof SignInFailure || error instanceof StorageUnavailable) throw error
      throw new SignInFailure('hook-failed', error)
    }
    return emitted.length
  }

  /** A hook that takes too long goes on, but nobody waits for it, and its transaction is rolled back. */
  #inTime(name: HookName, handle: Hook, context: HookContext): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(timeout, () =>
        reject(new Error(`login.${name} did not end within ${timeout} ms`)),
      )
      const run = async (): Promise<void> => handle(context)
      run().then(resolve, reject).finally(cancel)
    })
  }
}

/** What is wrong with the hooks, as sentences for the operator. */
export function faultsOfHooks(config: LoginConfig): string[] {
  return (['onSignUp', 'onSignIn', 'onLink'] as const).flatMap((name) => {
    const declared = config[name]
    if (declared === undefined || typeof declaration(declared).handle === 'function') return []
    return [`login.${name} is neither a function nor { providerTokens, handle }`]
  })
}

function declaration(hook: DeclaredHook): { handle: Hook; providerTokens: readonly string[] } {
  return typeof hook === 'function' ? { handle: hook, providerTokens: [] } : hook
}

const controls = /[\p{Cc}\p{Cs}]+/gu

/** One line of text that can be shown and sent in an address. */
function shown(message: string): string {
  return message.replaceAll(controls, ' ').trim().slice(0, longestMessage).toWellFormed()
}
