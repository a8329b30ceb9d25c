import type { AppDetail } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { DeleteButton } from '../delete-button.tsx'

export function DeleteApp({ app: { id, name } }: { app: AppDetail }) {
  return (
    <DeleteButton
      name={name}
      consequence="Users can no longer sign in with it. Its tokens and secrets stop working immediately, and its users’ consents are removed. This cannot be undone."
      call={() => api.delete('/clients/{id}', { params: { id } })}
      list="apps"
      id={id}
    />
  )
}
