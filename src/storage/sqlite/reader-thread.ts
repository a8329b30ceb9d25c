// The thread of `readerAside`.
import { workerData } from 'node:worker_threads'
import { SqliteConnection, type SqlRow, type SqlValue } from './connection.ts'
import type { OpenFile } from './files.ts'
import { serveTasks } from './thread-server.ts'

const connection = new SqliteConnection(workerData as OpenFile, { readOnly: true })

const tasks = {
  read: ({ sql, parameters }: Read): SqlRow[] => connection.all(sql, parameters),
  readWithin: ({ sql, parameters, until }: Read & { until: bigint }): SqlValue[][] =>
    connection.arraysUntil(until, sql, parameters),
  close: () => connection.close(),
}

interface Read {
  sql: string
  parameters: readonly SqlValue[]
}

export type ReaderTasks = typeof tasks

serveTasks(tasks)
