import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Ban, CircleCheck, LogOut, UserCog } from 'lucide-react'
import type { UserDetail } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { Button, ProblemNotice, toast, useConfirm } from '../../ui/index.ts'
import { DeleteUser } from './delete-user.tsx'

const devicesOf = ({ counts }: UserDetail): string => {
  const count = counts.browsers + counts.apps
  return count === 1 ? 'The session of this user ends' : `All ${count} sessions of this user end`
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
      consequence: `${devicesOf(user)} at once, and this user cannot sign in until you lift the block. Nothing is deleted.`,
      action: 'Block',
    })
    if (yes) change.mutate({ body: { blocked: true }, said: `${name} is blocked` })
  }
  const unblock = async (): Promise<void> => {
    const yes = await ask({
      title: `Lift the block of ${name}?`,
      consequence: 'This user can sign in again. Ended sessions do not come back.',
      action: 'Unblock',
      kind: 'primary',
    })
    if (yes) change.mutate({ body: { blocked: false }, said: `${name} may sign in again` })
  }
  const changeRole = async (): Promise<void> => {
    const role = user.role === 'admin' ? 'user' : 'admin'
    const yes = await ask({
      title: role === 'admin' ? `Make ${name} an admin?` : `Make ${name} an ordinary user?`,
      consequence:
        role === 'admin'
          ? `An admin sees and changes everything here. ${devicesOf(user)}; the next sign-in has the new role.`
          : `This user then sees only their own account. ${devicesOf(user)}.`,
      action: role === 'admin' ? 'Make admin' : 'Make user',
    })
    if (yes)
      change.mutate({ body: { role }, said: `${name} is now ${role === 'admin' ? 'an admin' : 'a user'}` })
  }
  const endAll = async (): Promise<void> => {
    const yes = await ask({
      title: `End all sessions of ${name}?`,
      consequence: `${devicesOf(user)} at once, in browsers and apps. The user may sign in again.`,
      action: 'End all sessions',
    })
    if (yes) end.mutate()
  }
  if (isMe)
    return (
      <p className="text-sm text-soft">
        This is you: another admin can block you, change your role or delete your account.
      </p>
    )
  return (
    <>
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
          {user.role === 'admin' ? 'Make user' : 'Make admin'}
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
