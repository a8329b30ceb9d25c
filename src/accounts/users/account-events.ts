import { Type } from 'typebox'
import { closedObject } from '../../http/schemas/schemas.ts'
import type { Tx } from '../../storage/database.ts'
import type { IdentityKey } from './roles.ts'
import type { User } from './users.ts'

/** The events about accounts that `login.events` of the configuration can enable. */
export const accountEventTypes = [
  'user.created',
  'user.signed_in',
  'identity.linked',
  'identity.unlinked',
] as const

export type AccountEventType = (typeof accountEventTypes)[number]

/** All events, none, or the listed ones. */
export type AccountEventChoice = boolean | readonly AccountEventType[]

export function chosenAccountEvents(choice: AccountEventChoice): readonly AccountEventType[] {
  return choice === true ? accountEventTypes : choice === false ? [] : choice
}

/** Emits events within a transaction; create-modules.ts passes it in. */
export type EmitEvents = (
  tx: Tx,
  events: readonly { type: string; data: unknown; id?: string | undefined; audience?: string | undefined }[],
) => Promise<unknown>

/**
 * Emits the enabled events about accounts. They contain names and e-mail addresses and go to every subscriber without a type
 * filter, so they are disabled by default. The audit log always has them.
 */
export function createAccountEvents(choice: AccountEventChoice, emit: EmitEvents) {
  const chosen = new Set(chosenAccountEvents(choice))
  const wants = (type: AccountEventType): boolean => chosen.has(type)
  return {
    wants,
    /** Emits an event, if it is enabled. True: the caller has to wake the dispatcher after the commit. */
    async emit(tx: Tx, type: AccountEventType, user: User, identity: IdentityKey): Promise<boolean> {
      if (!wants(type)) return false
      const { id, email, name, role } = user
      const { provider, providerId } = identity
      await emit(tx, [
        { type, data: { user: { id, email, name, role }, identity: { provider, providerId } } },
      ])
      return true
    },
  }
}

/** The errors in `login.events`, as messages for the operator. */
export function validateAccountEvents(choice: AccountEventChoice): string[] {
  if (typeof choice === 'boolean') return []
  const known = new Set<string>(accountEventTypes)
  return choice
    .filter((type) => !known.has(type))
    .map(
      (type) => `login.events: ${JSON.stringify(type)} is not an event; use ${accountEventTypes.join(', ')}`,
    )
}

const NullableText = Type.Unsafe<string | null>({ type: ['string', 'null'] })

/** The JSON schema of the `data` of all account events. */
const schema = closedObject({
  user: closedObject({
    id: Type.String(),
    email: NullableText,
    name: NullableText,
    role: Type.Enum(['user', 'admin']),
  }),
  identity: closedObject({ provider: Type.String(), providerId: Type.String() }),
})

const sample = {
  user: { id: '0197d2a4-5b1c-7000-9c3e-2f6a1b0c4d5e', email: 'ada@example.com', name: 'Ada', role: 'user' },
  identity: { provider: 'github', providerId: '583231' },
}

const descriptions: Record<AccountEventType, string> = {
  'user.created': 'A person signed in for the first time.',
  'user.signed_in': 'A user signed in.',
  'identity.linked': 'A user linked another identity to their account.',
  'identity.unlinked': 'A user unlinked an identity from their account.',
}

/** The catalogue entries of these account events. */
export function describeAccountEvents(types: readonly AccountEventType[]) {
  return Object.fromEntries(
    types.map((type) => [type, { description: descriptions[type], schema, samples: [sample] }]),
  )
}
