import type { AppDetail } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { DeleteButton } from '../delete-button.tsx'

export function DeleteApp({ app: { id, name } }: { app: AppDetail }) {
  return (
    <DeleteButton
      name={name}
      consequence="Nobody can sign in with it any more. All its tokens and secrets are refused at once, and the consents of its users are removed. This cannot be undone."
      call={() => api.delete('/clients/{id}', { params: { id } })}
      list="apps"
      id={id}
    />
  )
}
