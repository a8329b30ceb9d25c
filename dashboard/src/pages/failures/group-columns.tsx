import { Link } from '@tanstack/react-router'
import type { RowOf } from '../../api/answers.ts'
import { Ago, formatNumber, type Column } from '../../ui/index.ts'
import { Hours } from './hours.tsx'

export type Group = RowOf<'GET /failures'>

export const groupColumns: Column<Group>[] = [
  {
    key: 'error',
    header: 'Error',
    width: '36%',
    cell: ({ id, name, message, handler }) => (
      <>
        <Link to="/failures/$id" params={{ id }} className="block min-h-6 truncate font-medium">
          {name}: {message}
        </Link>
        <span className="text-sm text-soft">in {handler}</span>
      </>
    ),
  },
  {
    key: 'hours',
    header: 'Last 24 hours',
    width: '11rem',
    phone: 'hidden',
    cell: ({ hours }) => <Hours hours={hours} length={24} />,
  },
  { key: 'waiting', header: 'Events', align: 'right', width: '10rem', cell: (group) => waitingOf(group) },
  { key: 'last', header: 'Last failure', width: '9rem', cell: ({ lastAt }) => <Ago value={lastAt} /> },
]

/** How many events of a group have failed or will be retried. */
export function waitingOf({ failed, retrying }: Pick<Group, 'failed' | 'retrying'>): string {
  const of = (count: number): string => (count >= 1_000 ? `${formatNumber(count)}+` : String(count))
  const parts = [
    ...(failed > 0 ? [`${of(failed)} failed`] : []),
    ...(retrying > 0 ? [`${of(retrying)} retrying`] : []),
  ]
  return parts.length === 0 ? 'none' : parts.join(', ')
}
