import { completeList } from '../declaration.ts'
import type { ListDeclaration } from '../list.ts'

export const users: ListDeclaration = {
  ...completeList({
    name: 'users',
    path: '/users',
    table: 'users',
    summary: 'Local users, in the order in which they were created',
    fields: {
      id: { type: 'text', description: 'Local id' },
      email: { type: 'text', nullable: true, description: "The provider's first e-mail address" },
      name: { type: 'text', nullable: true, description: "The provider's display name" },
      provider: { type: 'text', description: 'The identity provider' },
      providerId: { column: 'provider_id', type: 'text', description: "The provider's id of the user" },
      role: {
        type: 'text',
        description: 'user or admin; also admin if one of the user’s identities is in ADMIN_IDENTITIES',
      },
      createdAt: { column: 'created_at', type: 'milliseconds', description: 'First sign-in' },
    },
    // Ids are UUIDs of version 7: they ascend with time.
    key: 'id',
    pages: ['offset'],
    keep: true,
  }),
  scope: 'users:read',
  choices: false,
  openInDemo: true,
}
