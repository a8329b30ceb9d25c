import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { addressOf } from '../api/client.ts'
import { Notice } from '../ui/notices.tsx'

interface Readiness {
  database: string
  spool?: { status: string; events?: number }
}

/** Milliseconds after the first view, so that it does not wait for this. */
const beginsAfter = 3_000

/** Says when the service or its database does not answer, and how many acknowledged webhooks wait for it. */
export function ReadinessNotice() {
  const [enabled, setEnabled] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setEnabled(true), beginsAfter)
    return () => clearTimeout(timer)
  }, [])
  const { data, isError } = useQuery({
    queryKey: ['readyz'],
    enabled,
    // 503 has the same body; the typed client would throw it away.
    queryFn: async ({ signal }) =>
      (await (await fetch(addressOf('/readyz'), { signal })).json()) as Partial<Readiness>,
  })
  if (isError)
    return <Notice tone="danger">Connection lost. This page shows earlier data until it reconnects.</Notice>
  const waiting = data?.spool?.events ?? 0
  const away = data?.database !== undefined && data.database !== 'ok'
  if (!away && waiting === 0) return null
  return (
    <Notice tone={away ? 'danger' : 'warn'}>
      {away && <p>The database is unavailable. This page shows earlier data.</p>}
      {waiting > 0 && (
        <p>
          {waiting === 1 ? '1 acknowledged webhook is' : `${waiting} acknowledged webhooks are`} waiting in
          the spool.{' '}
          {away
            ? 'They are stored when the database is available again.'
            : 'They are being moved to the database.'}
        </p>
      )}
    </Notice>
  )
}
