// A notice while acknowledged webhooks wait in the spool, since the database was away.
import { $, element } from './elements.js'

let isThere = true

/** Asks nothing any more where there is no spool. */
export async function showSpool() {
  if (!isThere) return
  // 503 is an answer as well, so this is no call of api.js.
  const response = await fetch('readyz?for=webhooks', { headers: { accept: 'application/json' } })
  const { status, spool } = await response.json()
  isThere = spool !== undefined
  const lines = spool?.events > 0 ? [element('div', { class: 'message' }, describe(status, spool))] : []
  $('spool').replaceChildren(...lines)
}

function describe(status, { events, oldestSeconds }) {
  const waiting =
    events === 1 ? '1 acknowledged webhook waits' : `${events.toLocaleString()} acknowledged webhooks wait`
  const [first, last] =
    status === 'spooling'
      ? ['The database does not answer.', 'They are moved into it when it is back.']
      : ['The database is back.', 'They are being moved into it.']
  return `${first} ${waiting} in the spool, the oldest for ${duration(oldestSeconds)}. ${last}`
}

const duration = (seconds) =>
  seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60).toLocaleString()} min`
