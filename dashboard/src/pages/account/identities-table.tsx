import type { RowOf } from '../../api/answers.ts'
import { Ago, Badge, DataTable, Empty, Time, type Column, actionColumn } from '../../ui/index.ts'

export type Identity = RowOf<'GET /auth/identities'>

/** Distinguishes two identities of one provider. */
export const nameOfIdentity = ({ name, email, providerId }: Identity): string => name ?? email ?? providerId

/** The identities of a user. With `onUnlink` all but the last one can be unlinked. */
export function IdentitiesTable({
  identities,
  loading,
  onUnlink,
}: {
  identities: readonly Identity[]
  loading: boolean
  onUnlink?: (identity: Identity) => void
}) {
  return (
    <DataTable
      label="Identities"
      columns={columnsFor(identities.length > 1 ? onUnlink : undefined)}
      rows={identities}
      rowKey={({ provider, providerId }) => `${provider} ${providerId}`}
      loading={loading}
      empty={<Empty title="No identities" />}
    />
  )
}

function columnsFor(onUnlink: ((identity: Identity) => void) | undefined): Column<Identity>[] {
  return [
    { key: 'provider', header: 'Provider', width: '9rem', phone: 'aside', cell: ({ provider }) => provider },
    {
      key: 'name',
      header: 'Identity',
      phone: 'primary',
      cell: (identity) => (
        <span title={identity.providerId}>
          {nameOfIdentity(identity)}
          <span className="block truncate text-sm text-soft">ID {identity.providerId}</span>
        </span>
      ),
    },
    {
      key: 'email',
      header: 'Email address',
      phone: 'secondary',
      cell: ({ email, emailVerified }) =>
        email === null ? (
          <span className="text-soft">none</span>
        ) : (
          <>
            {email} {emailVerified && <Badge tone="ok">verified</Badge>}
          </>
        ),
    },
    { key: 'linked', header: 'Linked', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
    {
      key: 'used',
      header: 'Last used',
      width: '10.5rem',
      cell: ({ lastUsedAt }) => <Ago value={lastUsedAt} />,
    },
    ...(onUnlink
      ? [
          actionColumn({
            action: 'Unlink',
            nameOf: (identity: Identity) => `${nameOfIdentity(identity)} of ${identity.provider}`,
            onAction: onUnlink,
          }),
        ]
      : []),
  ]
}
