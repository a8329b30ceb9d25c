// What is used of the rivals' packages, so that the types can be checked where those are not installed.
declare module 'bullmq' {
  export interface Connection {
    host: string
    port: number
  }
  export class Queue {
    constructor(name: string, options: { connection: Connection })
    pause(): Promise<void>
    resume(): Promise<void>
    addBulk(
      jobs: { name: string; data: unknown; opts?: { jobId?: string; attempts?: number } }[],
    ): Promise<unknown>
    close(): Promise<void>
  }
  export class Worker<Data> {
    constructor(
      name: string,
      process: (job: { data: Data }) => Promise<void>,
      options: {
        connection: Connection
        concurrency: number
        removeOnComplete: { count: number }
        autorun: false
      },
    )
    run(): Promise<void>
    on(event: 'completed', listener: () => void): this
    on(event: 'failed', listener: (job: unknown, error: Error) => void): this
    on(event: 'error', listener: (error: Error) => void): this
    close(): Promise<void>
  }
}

declare module 'graphile-worker' {
  import type { PoolClient } from 'pg'
  export interface WorkerOptions {
    connectionString: string
    concurrentJobs?: number
    maxPoolSize?: number
    localQueue?: { size: number }
    completeJobBatchDelay?: number
  }
  export interface Helpers {
    withPgClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T>
  }
  export interface Logger {
    info(message: string): void
  }
  export const Logger: new (factory: () => (level: string, message: string) => void) => Logger
  export function run(options: {
    preset: { worker: WorkerOptions & { logger?: Logger } }
    taskList: Record<string, (payload: unknown, helpers: Helpers) => Promise<void>>
    noHandleSignals: true
  }): Promise<{ stop(): Promise<void> }>
  export function makeWorkerUtils(options: { connectionString: string }): Promise<{
    migrate(): Promise<void>
    withPgClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T>
    addJobs(jobs: { identifier: string; payload: unknown }[]): Promise<unknown>
    release(): Promise<void>
  }>
}

declare module 'pg-boss' {
  export interface Job<Data> {
    id: string
    data: Data
  }
  export interface WorkOptions {
    batchSize: number
    localConcurrency: number
    pollingIntervalSeconds: number
    burstWhenBatchFull: true
    transactional: boolean
  }
  export interface TransactionDb {
    executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[]; rowCount?: number | null }>
  }
  export class PgBoss {
    constructor(options: { connectionString: string; max: number })
    on(event: 'error', listener: (error: Error) => void): this
    start(): Promise<unknown>
    stop(options: { graceful: boolean; close: boolean }): Promise<void>
    getDb(): TransactionDb
    createQueue(name: string): Promise<void>
    insert(name: string, jobs: { data: unknown }[]): Promise<unknown>
    work<Data>(
      name: string,
      options: WorkOptions,
      handle: (jobs: Job<Data>[], db: TransactionDb | undefined) => Promise<void>,
    ): Promise<string>
    offWork(name: string, options?: { id?: string; wait?: boolean }): Promise<void>
  }
}
