// The log of events, the newest first, followed live.
import { read } from './api.js'
import { $, cell, code, keyed, link, row, state, time } from './elements.js'
import { update } from './update.js'
import { guarded } from './work.js'

const pageSize = 20
/** Rows that may come on top of those that were asked for, before the oldest of these are let go. */
const mostNewer = 200
/** The events on the page, the newest first, and how they were answered. */
let shown = []
let version = ''
/** Rows that stay when new ones come: one page, until older ones are asked for. */
let most = pageSize
/** The status that is asked for; all of them when empty. */
let status = ''
/** Below this event the log goes on; null when there is none. */
let older = null

function rowOf(event) {
  const line = row(
    cell('tight', time(event.createdAt)),
    cell('main', link(`#events/${event.id}`, event.type)),
    event.source ? `received from ${event.source}` : event.direction,
    cell('id', code(event.eventId)),
    cell('side', state(event.status)),
  )
  line.className = 'opens'
  return keyed(String(event.id), line)
}

function draw(events) {
  $('events-older').hidden = older === null
  const newVersion = JSON.stringify([status, events])
  if (newVersion === version) return
  shown = events
  version = newVersion
  update($('events'), ...events.map(rowOf))
  $('events-empty').hidden = events.length > 0
  $('events-empty').textContent = status
    ? 'No event has this status.'
    : 'No event yet. Send the signed webhook that the console printed.'
}

const readPage = (cursor) =>
  read(
    `/events?${new URLSearchParams({ order: 'desc', limit: String(pageSize), ...(status && { status }), ...cursor })}`,
  )

/** Reads the newest events: new ones appear on top, and statuses change. Costs one small page however long the log is. */
export async function refreshEvents() {
  const asked = status
  const { data, nextCursor } = await readPage()
  // Meanwhile the person may have asked for others.
  if (asked !== status) return
  const lowest = data.at(-1)?.id ?? 0
  // After a burst there may be a gap below the page. Then what was shown is let go, and can be asked for again.
  const known = new Set(shown.map(({ id }) => id))
  const meets = nextCursor !== null && data.some(({ id }) => known.has(id))
  if (!meets) most = pageSize
  const below = meets ? shown.filter(({ id }) => id < lowest) : []
  const kept = below.slice(0, Math.max(0, most - data.length))
  if (kept.length === 0) older = nextCursor
  else if (kept.length < below.length) older = kept.at(-1).id
  draw([...data, ...kept])
}

export async function showOlderEvents() {
  const asked = status
  const { data, nextCursor } = await readPage({ cursor: String(older) })
  if (asked !== status) return
  older = nextCursor
  most = shown.length + data.length + mostNewer
  draw([...shown, ...data])
}

export function takeEventFilter() {
  $('events-status').addEventListener('change', ({ target }) => {
    status = target.value
    shown = []
    void guarded(refreshEvents)
  })
}
