import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import {
  actionColumn,
  Ago,
  Badge,
  Button,
  type Column,
  DataTable,
  Empty,
  Page,
  ProblemNotice,
  Section,
  statusWord,
  Time,
  toast,
  useConfirm,
} from '../../ui/index.ts'
import { InviteDialog } from './invite-dialog.tsx'

type Invitation = RowOf<'GET /invitations'>

const anyone = 'Anyone with the link'
const nameOf = ({ email }: Invitation): string => email ?? anyone

/** Invitations: create, see who used them, revoke. */
export function InvitationsPage() {
  const [inviting, setInviting] = useState(false)
  const pages = usePages({
    key: ['invitations'],
    read: (cursor, signal) => api.get('/invitations', { query: { cursor, limit: '50' }, signal }),
    idOf: ({ id }) => id,
  })
  return (
    <Page
      title="Invitations"
      description="An invitation lets one person create an account."
      primary={
        <Button kind="primary" icon={<Plus size={17} aria-hidden />} onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      {pages.error && <ProblemNotice error={pages.error} retry={pages.retry} />}
      <Section flush>
        <InvitationTable {...pages} />
      </Section>
      <InviteDialog open={inviting} onClose={() => setInviting(false)} />
    </Page>
  )
}

type TableProps = Pick<
  ReturnType<typeof usePages<Invitation>>,
  'rows' | 'error' | 'loading' | 'onMore' | 'loadingMore'
>

function InvitationTable({ rows, loading, error, onMore, loadingMore }: TableProps) {
  const ask = useConfirm()
  const queryClient = useQueryClient()
  const revoke = useMutation({
    mutationFn: ({ id }: Invitation) => api.delete('/invitations/{id}', { params: { id } }),
    onSuccess: () => toast('Invitation revoked'),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['invitations'] }),
  })
  const confirmRevoke = async (invitation: Invitation): Promise<void> => {
    const { email } = invitation
    const yes = await ask({
      title: email === null ? 'Revoke the invitation?' : `Revoke the invitation of ${email}?`,
      consequence: 'The link stops working immediately. This cannot be undone.',
      action: 'Revoke',
    })
    if (yes) revoke.mutate(invitation)
  }
  return (
    <>
      {revoke.error && (
        <div className="p-3">
          <ProblemNotice error={revoke.error} />
        </div>
      )}
      <DataTable
        label="Invitations"
        columns={columnsOf((invitation) => void confirmRevoke(invitation))}
        rows={rows}
        rowKey={({ id }) => id}
        loading={loading}
        error={error}
        onMore={onMore}
        loadingMore={loadingMore}
        empty={
          <Empty title="No invitations yet">
            Everyone can create an account unless login.admission says otherwise. Invitations also grant a
            role and groups.
          </Empty>
        }
      />
    </>
  )
}

const columnsOf = (revoke: (invitation: Invitation) => void): readonly Column<Invitation>[] => [
  {
    key: 'for',
    header: 'For',
    cell: (invitation) => (
      <span className="font-medium break-words whitespace-normal">{nameOf(invitation)}</span>
    ),
  },
  {
    key: 'grants',
    header: 'Role and groups',
    phone: 'secondary',
    width: '11rem',
    cell: ({ role, groups }) => (
      <span className="flex flex-wrap gap-1 whitespace-normal">
        {role === 'admin' ? <Badge tone="info">admin</Badge> : <Badge>user</Badge>}
        {groups.map((group) => (
          <Badge key={group}>{group}</Badge>
        ))}
      </span>
    ),
  },
  {
    key: 'used',
    header: 'Used by',
    width: '9.5rem',
    cell: ({ usedBy, usedByName, usedAt }) =>
      usedBy !== null && (
        <>
          <Link to="/users/$id" params={{ id: usedBy }} className="block truncate hover:underline">
            {usedByName ?? usedBy}
          </Link>
          <span className="text-sm text-soft">
            <Ago value={usedAt} />
          </span>
        </>
      ),
  },
  {
    key: 'expires',
    header: 'Expires',
    width: '9.5rem',
    cell: ({ expiresAt }) => <Time value={expiresAt} />,
  },
  {
    key: 'created',
    header: 'Created',
    width: '10.5rem',
    cell: ({ createdAt, createdBy, createdByName }) => (
      <>
        <Time value={createdAt} />
        <span title={createdBy} className="block truncate text-sm text-soft">
          by {createdByName ?? createdBy}
        </span>
      </>
    ),
  },
  {
    key: 'state',
    header: 'State',
    width: '6.5rem',
    cell: ({ status }) => <Badge tone={status === 'open' ? 'ok' : 'plain'}>{statusWord(status)}</Badge>,
  },
  actionColumn({
    action: 'Revoke',
    nameOf,
    isOffered: ({ status }) => status === 'open' || status === 'suspended',
    onAction: revoke,
  }),
]
