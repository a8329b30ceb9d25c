// The thread that searches bodies on SQLite, so that the statements do not block the event loop.
import { workerData } from 'node:worker_threads'
import { SqliteConnection } from '../../storage/sqlite/connection.ts'
import type { OpenFile } from '../../storage/sqlite/file-in-place.ts'
import { serveTasks } from '../../storage/sqlite/thread-server.ts'
import { columns, type EventRow } from '../store.ts'
import { needlesOf } from './body-query.ts'
import { matchBody, type StoredBody } from './match-body.ts'
import type { Match, Scanned, Step } from './scan.ts'

const connection = new SqliteConnection(workerData as OpenFile, { readOnly: true, cache: 50 })

const boundary = 'select id from events where id < ? order by id desc limit 1 offset ?'
const extent =
  'select count(*) as scanned, max(created_at) as newest, min(created_at) as oldest from events where id < ? and id >= ?'
const body = 'select content_type as contentType, headers, payload from events where id = ?'
const one = `select ${columns} from events e where e.id = ?`

const tasks = {
  scan({ query, conditions, before, rows }: Step): Scanned {
    const through = connection.get<{ id: number }>(boundary, [before, rows - 1])?.id
    const needles = needlesOf(query)
    const candidates = connection.all<{ id: number }>(
      `select e.id from events e where e.id < ? and e.id >= ? and ${conditions.text}${' and instr(e.payload, ?) > 0'.repeat(needles.length)} order by e.id desc`,
      [before, through ?? 0, ...conditions.parameters, ...needles],
    )
    const matches: Match[] = []
    for (const { id } of candidates) {
      // It may have been deleted since.
      const stored = connection.get<StoredBody & Record<string, never>>(body, [id])
      const excerpt = stored && matchBody(query, stored)
      const row =
        excerpt === undefined ? undefined : connection.get<EventRow & Record<string, never>>(one, [id])
      if (row && excerpt !== undefined) matches.push({ ...row, excerpt })
    }
    const read = connection.get<Omit<Scanned, 'matches' | 'through'>>(extent, [before, through ?? 0])!
    return { ...read, matches, through }
  },
  close: () => connection.close(),
}

export type ScanTasks = typeof tasks

serveTasks(tasks)
