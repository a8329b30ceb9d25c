import { Link } from '@tanstack/react-router'
import type { RowOf } from '../../api/answers.ts'
import { Ago, DataTable, Empty, Time, type Column, actionColumn } from '../../ui/index.ts'

export type AllowedApp = RowOf<'GET /auth/apps'>

/** The apps that a user allowed or is signed in to. `linked` leads to the pages of the apps, for administrators. */
export function AppsTable({
  apps,
  loading,
  linked = false,
  onRemove,
}: {
  apps: readonly AllowedApp[]
  loading: boolean
  linked?: boolean
  onRemove?: (app: AllowedApp) => void
}) {
  return (
    <DataTable
      label="Apps"
      columns={columnsFor(linked, onRemove)}
      rows={apps}
      rowKey={({ id }) => id}
      loading={loading}
      empty={<Empty title="No apps yet">Apps appear here after you sign in to them with this service.</Empty>}
    />
  )
}

function columnsFor(
  linked: boolean,
  onRemove: ((app: AllowedApp) => void) | undefined,
): Column<AllowedApp>[] {
  return [
    {
      key: 'app',
      header: 'App',
      cell: ({ id, name }) =>
        linked ? (
          <Link to="/apps/$id" params={{ id }} className="font-medium hover:underline">
            {name}
          </Link>
        ) : (
          <span title={id}>{name}</span>
        ),
    },
    {
      key: 'scopes',
      header: 'Scopes',
      cell: ({ firstParty, scopes }) => (firstParty ? 'first-party app' : scopes.join(', ')),
    },
    { key: 'since', header: 'Since', width: '11rem', cell: ({ since }) => <Time value={since} /> },
    {
      key: 'used',
      header: 'Last used',
      width: '9rem',
      cell: ({ lastUsedAt }) =>
        lastUsedAt === null ? <span className="text-soft">not signed in</span> : <Ago value={lastUsedAt} />,
    },
    ...(onRemove
      ? [actionColumn({ action: 'Remove', nameOf: ({ name }: AllowedApp) => name, onAction: onRemove })]
      : []),
  ]
}
