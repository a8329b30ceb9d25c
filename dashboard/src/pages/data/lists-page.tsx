import { Link } from '@tanstack/react-router'
import { Badge, DataTable, Empty, Page, ProblemNotice, Section, type Column } from '../../ui/index.ts'
import { useLists, type ListDescription } from './lists.ts'

const readers = { public: 'everyone', user: 'signed-in users', admin: 'administrators' } as const

const columns: readonly Column<ListDescription>[] = [
  {
    key: 'path',
    header: 'List',
    cell: ({ path }) => (
      <Link to="/data/$" params={{ _splat: path.slice(1) }} className="font-mono">
        {path}
      </Link>
    ),
  },
  { key: 'summary', header: 'Description', cell: ({ summary }) => <span title={summary}>{summary}</span> },
  {
    key: 'fields',
    header: 'Fields',
    align: 'right',
    width: '6rem',
    phone: 'hidden',
    cell: ({ fields }) => fields.length,
  },
  { key: 'readers', header: 'Readable by', width: '11rem', cell: ({ access }) => readers[access] },
  {
    key: 'writes',
    header: 'Editing',
    width: '8rem',
    cell: ({ writes }) => (writes ? <Badge tone="info">editable</Badge> : 'read only'),
  },
]

const example = `listing: {
  lists: [
    list({
      path: '/orders',
      table: 'orders',
      fields: { id: { type: 'integer' }, total: { type: 'numeric' } },
      key: 'id',
      sort: ['total'],
    }),
  ],
}`

/** All lists: those of the service, and those that the configuration module declares. */
export function ListsPage() {
  const { data, error, isPending, refetch } = useLists()
  return (
    <Page
      title="Data"
      description="Postern's own lists and the lists that your configuration module declares."
    >
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      <Section flush>
        <DataTable
          label="Lists"
          columns={columns}
          rows={data ?? []}
          rowKey={({ path }) => path}
          loading={isPending}
          error={error}
          empty={<Empty title="No lists you can read">Lists are declared in postern.config.ts.</Empty>}
        />
      </Section>
      <details className="rounded-lg border border-line bg-card px-4 py-2">
        <summary className="min-h-6 cursor-pointer font-medium">Add a list for your own table</summary>
        <p className="mt-2 text-soft">
          Add it to <code>postern.config.ts</code>. Its API gets pages, filters, sorting and export, and its
          rows appear here.
        </p>
        <pre
          tabIndex={0}
          aria-label="Example"
          className="my-2 overflow-auto rounded-md bg-sunken p-3 font-mono text-sm"
        >
          {example}
        </pre>
      </details>
    </Page>
  )
}
