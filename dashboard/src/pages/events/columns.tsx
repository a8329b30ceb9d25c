import { Link } from '@tanstack/react-router'
import type { EventRow } from '../../api/answers.ts'
import { Status, Time, type Column } from '../../ui/index.ts'

/** The columns of a table of events. */
export const eventColumns = (onPeek: (id: number) => void): Column<EventRow>[] => [
  { key: 'time', header: 'Time', width: '11rem', cell: ({ createdAt }) => <Time value={createdAt} /> },
  {
    key: 'type',
    header: 'Type',
    cell: ({ id, type }) => (
      <Link to="/events/$id" params={{ id: String(id) }} className="font-medium hover:underline">
        {type}
      </Link>
    ),
  },
  { key: 'status', header: 'Status', width: '8.5rem', cell: ({ status }) => <Status value={status} /> },
  {
    key: 'source',
    header: 'From',
    width: '10rem',
    cell: ({ source }) => source ?? <span className="text-soft">sent</span>,
  },
  {
    key: 'id',
    header: 'ID',
    cell: ({ eventId }) => <span className="font-mono text-sm">{eventId}</span>,
  },
  {
    key: 'peek',
    header: <span className="sr-only">Preview</span>,
    width: '7.5rem',
    cell: ({ id, eventId }) => (
      <button
        type="button"
        className="min-h-6 rounded px-1.5 text-sm text-soft hover:bg-sunken hover:text-ink"
        aria-label={`Preview ${eventId}`}
        onClick={() => onPeek(id)}
      >
        Preview
      </button>
    ),
  },
]
