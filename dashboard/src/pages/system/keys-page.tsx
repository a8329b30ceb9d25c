import { commandLine } from '../../api/boot.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { RowOf } from '../../api/answers.ts'
import { api } from '../../api/client.ts'
import { usePages } from '../../api/use-pages.ts'
import {
  Ago,
  Badge,
  Button,
  DataTable,
  Empty,
  Page,
  ProblemNotice,
  Section,
  Status,
  Time,
  toast,
  useConfirm,
  type Column,
  actionColumn,
} from '../../ui/index.ts'
import { CreateKeyDialog } from './create-key-dialog.tsx'
import { wide } from './scopes.ts'

type Key = RowOf<'GET /keys'>

const week = 7 * 86_400_000

function stateOf({ revokedAt, expiresAt }: Key): 'revoked' | 'expired' | 'expiring' | 'active' {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt === null) return 'active'
  const left = Date.parse(expiresAt) - Date.now()
  return left <= 0 ? 'expired' : left < week ? 'expiring' : 'active'
}

/** API keys: create, see the use, revoke. */
export function KeysPage() {
  const [creating, setCreating] = useState(false)
  const { rows, error, retry, loading, onMore, loadingMore } = usePages({
    key: ['keys'],
    read: (cursor, signal) => api.get('/keys', { query: { cursor, limit: '50' }, signal }),
    idOf: ({ id }) => id,
  })
  const create = (
    <Button kind="primary" icon={<Plus size={17} aria-hidden />} onClick={() => setCreating(true)}>
      Create API key
    </Button>
  )
  return (
    <Page
      title="API keys"
      description="API keys authenticate programs. Scopes limit what a key can do."
      primary={create}
    >
      {error && <ProblemNotice error={error} retry={retry} />}
      <Section flush>
        <KeyTable keys={rows} loading={loading} error={error} onMore={onMore} loadingMore={loadingMore} />
      </Section>
      <CreateKeyDialog open={creating} onClose={() => setCreating(false)} />
    </Page>
  )
}

interface KeyTableProps {
  keys: readonly Key[]
  loading: boolean
  error: unknown
  onMore: (() => void) | undefined
  loadingMore: boolean
}

function KeyTable({ keys, loading, error, onMore, loadingMore }: KeyTableProps) {
  const ask = useConfirm()
  const queryClient = useQueryClient()
  const revoke = useMutation({
    mutationFn: ({ id }: Key) => api.delete('/keys/{id}', { params: { id } }),
    onSuccess: (_answer, { name }) => toast(`Revoked ${name}`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['keys'] }),
  })
  const confirmRevoke = async (key: Key): Promise<void> => {
    const yes = await ask({
      title: `Revoke ${key.name}?`,
      consequence: 'Programs that use this key lose access immediately. This cannot be undone.',
      action: 'Revoke',
    })
    if (yes) revoke.mutate(key)
  }
  return (
    <>
      {revoke.error && (
        <div className="p-3">
          <ProblemNotice error={revoke.error} />
        </div>
      )}
      <DataTable
        label="API keys"
        columns={columnsOf((key) => void confirmRevoke(key))}
        rows={keys}
        rowKey={({ id }) => id}
        loading={loading}
        error={error}
        onMore={onMore}
        loadingMore={loadingMore}
        empty={
          <Empty
            title="No API keys yet"
            command={commandLine('keys create shop --scope events:write --expires 90d')}
          >
            Create one here or on the command line. ADMIN_API_KEY is a setting, so it is not listed.
          </Empty>
        }
      />
    </>
  )
}

const columnsOf = (revoke: (key: Key) => void): readonly Column<Key>[] => [
  {
    key: 'name',
    header: 'Key',
    cell: ({ name, prefix }) => (
      <>
        <span className="block font-medium break-words whitespace-normal">{name}</span>
        <code className="font-mono text-sm text-soft">{prefix}…</code>
      </>
    ),
  },
  {
    key: 'scopes',
    header: 'Scopes',
    // The times say nothing without their headers.
    phone: 'secondary',
    width: '11.5rem',
    cell: ({ scopes }) => (
      <span className="flex flex-wrap gap-1 whitespace-normal">
        {scopes.map((scope) => (
          <Badge key={scope} tone={scope === wide ? 'warn' : 'plain'}>
            {scope}
          </Badge>
        ))}
      </span>
    ),
  },
  {
    key: 'used',
    header: 'Last used',
    width: '8.5rem',
    cell: ({ lastUsedAt }) => <Ago value={lastUsedAt} />,
  },
  {
    key: 'expires',
    header: 'Expires',
    width: '13.5rem',
    cell: ({ expiresAt }) => <Time value={expiresAt} />,
  },
  {
    key: 'created',
    header: 'Created',
    width: '10.5rem',
    cell: ({ createdAt, createdBy, createdByName }) => (
      <>
        <Time value={createdAt} />
        {(createdByName ?? createdBy) && (
          <span title={createdBy ?? undefined} className="block truncate text-sm text-soft">
            by {createdByName ?? createdBy}
          </span>
        )}
      </>
    ),
  },
  {
    key: 'state',
    header: 'State',
    width: '6.5rem',
    cell: (key) => <Status value={stateOf(key)} />,
  },
  actionColumn({
    action: 'Revoke',
    nameOf: ({ name }) => name,
    isOffered: ({ revokedAt }) => revokedAt === null,
    onAction: revoke,
  }),
]
