import { getRouteApi, Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { addressOf } from '../../api/client.ts'
import { Button, CheckField, DownloadLink, Page, ReadState } from '../../ui/index.ts'
import { NotFoundPage } from '../../layout/faults.tsx'
import { Filters } from './filters.tsx'
import { rowQuery, type ListSearch } from './list-search.ts'
import { useLists, type ListDescription } from './lists.ts'
import { ListsPage } from './lists-page.tsx'
import { RowForm } from './row-form.tsx'
import { CursorTable, NumberedTable } from './rows.tsx'
import { Summary } from './summary.tsx'

const route = getRouteApi('/data/$')

/** One list as a table, with all that it declares. */
export function ListPage() {
  const { _splat = '' } = route.useParams()
  return _splat === '' ? <ListsPage /> : <ListOf path={`/${_splat}`} />
}

function ListOf({ path: wanted }: { path: string }) {
  const query = useLists()
  const { data } = query
  if (!data)
    return (
      <Page title="Data">
        <ReadState {...query} />
      </Page>
    )
  const list = data.find(({ path }) => path === wanted)
  return list ? <OneList key={list.path} list={list} /> : <NotFoundPage />
}

function OneList({ list }: { list: ListDescription }) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const [creating, setCreating] = useState(false)
  const change = (next: ListSearch): void => void navigate({ search: next as never })
  const Table = list.pages[0] === 'offset' ? NumberedTable : CursorTable
  return (
    <Page
      title={list.path}
      description={list.summary}
      up={<Link to="/data">Data</Link>}
      actions={list.exports.map((format) => (
        <ExportLink key={format} list={list} search={search} format={format} />
      ))}
      primary={
        list.writes && (
          <Button kind="primary" icon={<Plus size={16} aria-hidden />} onClick={() => setCreating(true)}>
            Add row
          </Button>
        )
      }
    >
      <Filters list={list} />
      <Expansions list={list} search={search} onChange={(expand) => change({ ...search, expand })} />
      {list.summaries && list.summaries.by.length > 0 && <Summary list={list} search={search} />}
      <Table list={list} search={search} onChange={change} />
      {creating && <RowForm list={list} onClose={() => setCreating(false)} />}
    </Page>
  )
}

/** A download of all rows that the filters leave, in their order. */
function ExportLink({
  list,
  search,
  format,
}: {
  list: ListDescription
  search: ListSearch
  format: 'csv' | 'ndjson'
}) {
  const query = new URLSearchParams(rowQuery(search)).toString()
  return (
    <DownloadLink href={addressOf(`${list.path}.${format}${query === '' ? '' : `?${query}`}`)}>
      Export {format.toUpperCase()}
    </DownloadLink>
  )
}

/** What can be shown within each row. */
function Expansions({
  list,
  search,
  onChange,
}: {
  list: ListDescription
  search: ListSearch
  onChange: (expand: string | undefined) => void
}) {
  if (list.expansions.length === 0) return null
  const chosen = new Set(search.expand?.split(',') ?? [])
  return (
    <fieldset className="mb-4 flex flex-wrap gap-4">
      <legend className="sr-only">Show with each row</legend>
      {list.expansions.map(({ name, description }) => (
        <CheckField
          key={name}
          label={`with ${name}`}
          title={description}
          checked={chosen.has(name)}
          onChange={() => {
            const next = new Set(chosen)
            if (!next.delete(name)) next.add(name)
            onChange(next.size === 0 ? undefined : [...next].join(','))
          }}
        />
      ))}
    </fieldset>
  )
}
