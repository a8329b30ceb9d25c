import { UsageFailure, exitCodes } from './command-failure.ts'
import { print, printTable } from './output.ts'
import { serviceClient, type ClientOptions } from './service-client.ts'
import { parseExactly } from '../json/exact.ts'
import type { Static } from 'typebox'
import type { EventLogPage } from '../events/routes.ts'
import type { DryRunResult } from '../receiving/dry-run/dry-runs.ts'
import { printableLines } from '../telemetry/printable.ts'

interface ListEventsOptions extends ClientOptions {
  type?: string
  source?: string
  status?: string
}

/** Events of one list, the most that a page has. */
const mostListed = 100

/** Prints the newest events that match the options. */
export async function listEvents({ type, source, status, ...options }: ListEventsOptions): Promise<void> {
  const query = { order: 'desc', limit: mostListed, type, source, status }
  const { data } = await serviceClient(options).read<Static<typeof EventLogPage>>('/events', query)
  const rows = data.map((event) => [
    event.id,
    event.eventId,
    event.type,
    event.status,
    event.source,
    new Date(event.createdAt),
    event.deliverAt === undefined ? null : new Date(event.deliverAt),
  ])
  printTable(['number', 'id', 'type', 'status', 'source', 'created', 'deliver at'], rows)
}

/** Cancels a scheduled event, by its number. */
export async function cancelEvent(event: string, options: ClientOptions): Promise<void> {
  await serviceClient(options).request(`/events/${numberOf(event)}`, { method: 'DELETE' })
  print({ event: Number(event), canceled: true }, `Event ${event} is canceled.\n`)
}

/** Runs the handlers of an event without keeping their work. Exit code 1 if they failed. */
export async function dryRun(event: string, options: ClientOptions): Promise<void> {
  const { request } = serviceClient(options)
  const response = await request(`/events/${numberOf(event)}/dry-run`, { method: 'POST' })
  const done = parseExactly(await response.text()) as DryRunResult
  print(done, printableLines(textOf(done)))
  if (done.outcome === 'failed') process.exitCode = exitCodes.failed.code
}

function textOf(done: DryRunResult): string {
  const lines = [`${done.outcome} in ${done.durationMs} ms by ${done.handlers.join(', ') || 'no handler'}`]
  if (done.forwardTo !== null) lines.push(`it would be posted to ${done.forwardTo}`)
  for (const { table, inserted, updated, deleted, rows, note } of done.tables) {
    lines.push('', `${table}: ${inserted} inserted, ${updated} updated, ${deleted} deleted`)
    for (const { operation, key, before, after } of rows) {
      const changes = [before, after].map((row) => (row === null ? '' : JSON.stringify(row)))
      lines.push(`  ${operation} ${JSON.stringify(key)} ${changes.filter(Boolean).join(' → ')}`)
    }
    if (note !== null) lines.push(`  ${note}`)
  }
  if (done.emittedTotal > 0) lines.push('', `${done.emittedTotal} events would be emitted`)
  for (const { type, data } of done.emitted) lines.push(`  ${type} ${JSON.stringify(data)}`)
  if (done.log.length > 0) lines.push('', 'log')
  for (const { level, message, fields } of done.log)
    lines.push(`  ${level} ${message} ${fields ?? ''}`.trimEnd())
  if (done.error !== null) lines.push('', done.error)
  if (done.notes.length > 0) lines.push('', ...done.notes)
  return `${lines.join('\n')}\n`
}

function numberOf(event: string): string {
  if (!/^[1-9]\d*$/.test(event)) throw new UsageFailure(`${event} is not an event number`)
  return event
}
