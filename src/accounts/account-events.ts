import type { Tx } from '../storage/database.ts'
import type { IdentityKey } from './roles.ts'
import type { User } from './users.ts'

/** What accounts can tell subscribers, when the configuration switches it on (`login.events`). */
export const accountEventTypes = [
  'user.created',
  'user.signed_in',
  'identity.linked',
  'identity.unlinked',
] as const

export type AccountEventType = (typeof accountEventTypes)[number]

/** All of them, none, or those that are listed. */
export type AccountEventChoice = boolean | readonly AccountEventType[]

export function chosenAccountEvents(choice: AccountEventChoice): readonly AccountEventType[] {
  return choice === true ? accountEventTypes : choice === false ? [] : choice
}

/** Emits events within a transaction; service.ts passes it in. */
export type EmitEvents = (
  tx: Tx,
  events: readonly { type: string; data: unknown; id?: string | undefined; audience?: string | undefined }[],
) => Promise<unknown>

/**
 * Events about accounts. They hold names and addresses of people and go to whoever subscribes to everything, so they are
 * off unless they are asked for; the audit log has all of it in any case.
 */
export class AccountEvents {
  readonly #chosen: ReadonlySet<string>
  readonly #emit: EmitEvents

  constructor(choice: AccountEventChoice, emit: EmitEvents) {
    this.#chosen = new Set(chosenAccountEvents(choice))
    this.#emit = emit
  }

  wants(type: AccountEventType): boolean {
    return this.#chosen.has(type)
  }

  /** Whether the dispatcher is to be woken after the commit. */
  async emit(tx: Tx, type: AccountEventType, user: User, identity: IdentityKey): Promise<boolean> {
    if (!this.wants(type)) return false
    const { id, email, name, role } = user
    const { provider, providerId } = identity
    await this.#emit(tx, [
      { type, data: { user: { id, email, name, role }, identity: { provider, providerId } } },
    ])
    return true
  }
}

/** What is wrong with the choice, as sentences for the operator. */
export function validateAccountEvents(choice: AccountEventChoice): string[] {
  if (typeof choice === 'boolean') return []
  const known = new Set<string>(accountEventTypes)
  return choice
    .filter((type) => !known.has(type))
    .map((type) => `login.events: ${JSON.stringify(type)} is none of ${accountEventTypes.join(', ')}`)
}
