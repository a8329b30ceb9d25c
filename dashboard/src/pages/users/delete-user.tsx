import type { UserDetail } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { DeleteButton } from '../delete-button.tsx'

export function DeleteUser({ user: { id, name, email } }: { user: UserDetail }) {
  return (
    <DeleteButton
      name={name ?? email ?? id}
      consequence="The account, its identities, sessions, consents and tokens are removed at once. Audit log entries and events that name this user are retained until their retention periods end. This cannot be undone."
      call={() => api.delete('/users/{id}', { params: { id } })}
      list="users"
      id={id}
    />
  )
}
