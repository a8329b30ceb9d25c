import type { ListDeclaration } from '../list.ts'

export const users: ListDeclaration = {
  name: 'users',
  path: '/users',
  table: 'users',
  summary: 'Local users, in the order in which they were created',
  fields: {
    id: { column: 'id', type: 'text', description: 'Local id' },
    email: {
      column: 'email',
      type: 'text',
      nullable: true,
      description: "The provider's first e-mail address",
    },
    name: { column: 'name', type: 'text', nullable: true, description: "The provider's display name" },
    provider: { column: 'provider', type: 'text', description: 'The identity provider' },
    providerId: { column: 'provider_id', type: 'text', description: "The provider's id of the user" },
    role: {
      column: 'role',
      type: 'text',
      description: 'user or admin; admin too when an identity of theirs is in ADMIN_IDENTITIES',
    },
    createdAt: { column: 'created_at', type: 'milliseconds', description: 'First sign-in' },
  },
  key: 'id',
  filters: [],
  sort: [],
  // Ids are UUIDs of version 7: they ascend with time.
  order: ['id'],
  pages: ['offset'],
  limit: { default: 20, max: 100 },
  count: 'exact',
  maintainCounts: true,
  choices: false,
  expand: [],
  exports: false,
  access: 'admin',
  scope: 'users:read',
  openInDemo: true,
}
