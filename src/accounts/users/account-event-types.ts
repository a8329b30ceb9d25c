import type { AccountEventType } from './account-events.ts'

const nullableText = { type: ['string', 'null'] }

/** The JSON schema of the `data` of all account events. */
const schema = {
  type: 'object',
  required: ['user', 'identity'],
  properties: {
    user: {
      type: 'object',
      required: ['id', 'email', 'name', 'role'],
      properties: {
        id: { type: 'string' },
        email: nullableText,
        name: nullableText,
        role: { enum: ['user', 'admin'] },
      },
      additionalProperties: false,
    },
    identity: {
      type: 'object',
      required: ['provider', 'providerId'],
      properties: { provider: { type: 'string' }, providerId: { type: 'string' } },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
}

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
