import { read } from './api.js'
import { $, cell, code, link, row, state, time } from './elements.js'

const pageSize = 20
/** Rows that may come on top of those that were asked for, before the oldest of these are let go. */
const mostNewer = 200
/** The rows on the page by the event's number, the newest first. */
let shown = new Map()
/** Rows that stay when new ones come: one page, until older ones are asked for. */
let most = pageSize

function rowOf(event) {
  const line = row(
    cell('tight', time(event.createdAt)),
    cell('main', link(`#events/${event.id}`, event.type)),
    event.source ? `received from ${event.source}` : event.direction,
    cell('id', code(event.eventId)),
    cell('side', state(event.status)),
  )
  line.className = 'opens'
  return line
}

function draw(events) {
  const rows = new Map()
  for (const event of events) {
    const version = JSON.stringify(event)
    const known = shown.get(event.id)
    rows.set(event.id, known?.version === version ? known : { event, version, line: rowOf(event) })
  }
  shown = rows
  $('events').replaceChildren(...[...rows.values()].map(({ line }) => line))
  $('events-empty').hidden = rows.size > 0
}

const onPage = () => [...shown.values()].map(({ event }) => event)

/** Reads the newest events: new ones appear on top, and statuses change. Costs one small page however long the log is. */
export async function refreshEvents() {
  const { data, nextCursor } = await read(`/events?order=desc&limit=${pageSize}`)
  const lowest = data.at(-1)?.id ?? 0
  // After a burst there may be a gap below the page. Then what was shown is let go, and can be asked for again.
  const meets = data.some(({ id }) => shown.has(id))
  if (!meets) most = pageSize
  const older = meets ? onPage().filter(({ id }) => id < lowest) : []
  const kept = older.slice(0, most - data.length)
  draw([...data, ...kept])
  if (kept.length === 0) $('events-older').hidden = nextCursor === null
  else if (kept.length < older.length) $('events-older').hidden = false
}

export async function showOlderEvents() {
  const last = onPage().at(-1)
  const { data, nextCursor } = await read(`/events?order=desc&limit=${pageSize}&cursor=${last.id}`)
  draw([...onPage(), ...data])
  most = shown.size + mostNewer
  $('events-older').hidden = nextCursor === null
}
