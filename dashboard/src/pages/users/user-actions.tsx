import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Ban, CircleCheck, LogOut, UserCog } from 'lucide-react'
import type { UserDetail } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { Button, ProblemNotice, toast, useConfirm } from '../../ui/index.ts'
import { ActForUser } from './act-for-user.tsx'
import { DeleteUser } from './delete-user.tsx'

/** Which sessions end, as the first sentence of a consequence; empty without sessions. */
const endOfSessions = ({ counts }: UserDetail): string => {
  const count = counts.browsers + counts.apps
  if (count === 0) return ''
  return count === 1
    ? "This user's session ends at once. "
    : `All ${count} of this user's sessions end at once. `
}

/** Block, change the role, end all sessions, delete: each says first what it will do. */
export function UserActions({ user }: { user: UserDetail }) {
  const ask = useConfirm()
  const client = useQueryClient()
  const me = useSession().user.id
  const after = (said: string) => async (): Promise<void> => {
    toast(said)
    await client.invalidateQueries({ queryKey: ['users'] })
  }
  const change = useMutation({
    mutationFn: ({ body }: { body: { blocked?: boolean; role?: 'user' | 'admin' }; said: string }) =>
      api.patch('/users/{id}', { params: { id: user.id }, body }),
    onSuccess: (_answer, { said }) => after(said)(),
  })
  const end = useMutation({
    mutationFn: () => api.delete('/users/{id}/sessions', { params: { id: user.id } }),
    onSuccess: after('All sessions ended'),
  })
  const name = user.name ?? user.email ?? user.id
  const isMe = me === user.id
  const isBlocked = user.blockedAt !== null
  const sessions = user.counts.browsers + user.counts.apps
  const block = async (): Promise<void> => {
    const yes = await ask({
      title: `Block ${name}?`,
      consequence: `${endOfSessions(user)}The user cannot sign in until you unblock them. Nothing is deleted.`,
      action: 'Block',
    })
    if (yes) change.mutate({ body: { blocked: true }, said: `${name} is blocked` })
  }
  const unblock = async (): Promise<void> => {
    const yes = await ask({
      title: `Unblock ${name}?`,
      consequence: 'The user can sign in again. Ended sessions are not restored.',
      action: 'Unblock',
      kind: 'primary',
    })
    if (yes) change.mutate({ body: { blocked: false }, said: `${name} is unblocked` })
  }
  const changeRole = async (): Promise<void> => {
    const role = user.role === 'admin' ? 'user' : 'admin'
    const yes = await ask({
      title: role === 'admin' ? `Grant ${name} the admin role?` : `Remove the admin role from ${name}?`,
      consequence:
        role === 'admin'
          ? `${endOfSessions(user)}After the next sign-in, the user can view and change everything in this dashboard.`
          : `${endOfSessions(user)}After the next sign-in, the user can view only their own account.`,
      action: role === 'admin' ? 'Grant admin role' : 'Remove admin role',
    })
    if (yes)
      change.mutate({ body: { role }, said: `${name} is now ${role === 'admin' ? 'an admin' : 'a user'}` })
  }
  const endAll = async (): Promise<void> => {
    const yes = await ask({
      title: `End all sessions of ${name}?`,
      consequence: `${endOfSessions(user)}The user can sign in again.`,
      action: 'End all sessions',
    })
    if (yes) end.mutate()
  }
  if (isMe)
    return (
      <p className="text-sm text-soft">
        This is your account. Only another administrator can block it, change its role or delete it.
      </p>
    )
  return (
    <>
      {user.mayBeImpersonated && <ActForUser user={user} />}
      {sessions > 0 && (
        <Button icon={<LogOut size={16} aria-hidden />} busy={end.isPending} onClick={() => void endAll()}>
          End all sessions
        </Button>
      )}
      {(user.adminBy === null || user.adminBy === 'role') && (
        <Button
          icon={<UserCog size={16} aria-hidden />}
          busy={change.isPending}
          onClick={() => void changeRole()}
        >
          {user.role === 'admin' ? 'Remove admin role' : 'Grant admin role'}
        </Button>
      )}
      {isBlocked ? (
        <Button
          icon={<CircleCheck size={16} aria-hidden />}
          busy={change.isPending}
          onClick={() => void unblock()}
        >
          Unblock
        </Button>
      ) : (
        <Button
          kind="danger"
          icon={<Ban size={16} aria-hidden />}
          busy={change.isPending}
          onClick={() => void block()}
        >
          Block
        </Button>
      )}
      <DeleteUser user={user} />
      {(change.error ?? end.error) && (
        <div className="basis-full">
          <ProblemNotice error={change.error ?? end.error} />
        </div>
      )}
    </>
  )
}
