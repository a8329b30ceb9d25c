// The log of an SQLite file is written back beside the commits.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Clock } from '../../src/runtime/clock.ts'
import type { SqliteDatabase } from '../../src/storage/database.ts'
import { Checkpointer } from '../../src/storage/sqlite/checkpointer.ts'
import {
  fewLogPages,
  logPageBytes,
  mostLogPages,
  SqliteConnection,
} from '../../src/storage/sqlite/connection.ts'
import { openSqlite } from '../../src/storage/sqlite/database.ts'

let folder: string
let file: string
let database: SqliteDatabase

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postern-checkpoints-'))
  file = join(folder, 'postern.db')
  database = openSqlite(file)
  await database.batch('work', (connection) => connection.exec('create table pages (bytes blob) strict'))
})
after(async () => {
  await database.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Of 4 KiB each, in one commit. */
const write = (pages: number): Promise<unknown> =>
  database.batch('work', (connection) =>
    connection.run(
      `with recursive page (number) as (values (1) union all select number + 1 from page where number < ?)
       insert into pages select randomblob(4000) from page`,
      [pages],
    ),
  )

interface Log {
  log: number
  checkpointed: number
}

function readLog(): Log {
  const connection = new SqliteConnection(file)
  try {
    return connection.get<Log>('pragma wal_checkpoint(noop)')!
  } finally {
    connection.close()
  }
}

async function until(enough: (log: Log) => boolean): Promise<Log> {
  for (;;) {
    const log = readLog()
    if (enough(log)) return log
    await wait(5)
  }
}

test('a short log needs no thread', async () => {
  const started: unknown[] = []
  const note = (worker: unknown): unknown => started.push(worker)
  process.on('worker', note)
  for (let commit = 0; commit < 5; commit += 1) {
    await write(10)
    await wait(15)
  }
  process.off('worker', note)
  assert.deepEqual(started, [])
})

test('the log is written back without a commit that does it', async () => {
  await write(mostLogPages / 2)
  const { log } = await until(({ checkpointed }) => checkpointed >= mostLogPages / 2)
  assert.ok(log < mostLogPages, `the log has ${log} pages: a commit would have written it back`)
})

test('a log that was written back completely is restarted', async () => {
  await until(({ log, checkpointed }) => checkpointed === log)
  await write(10)
  const { log } = readLog()
  assert.ok(log < 100, `the log has ${log} pages`)
})

test('a few pages are not written back', async () => {
  const { checkpointed } = readLog()
  for (let commit = 0; commit < 20; commit += 1) {
    await write(10)
    await wait(2)
  }
  assert.equal(readLog().checkpointed, checkpointed)
})

test(
  'its thread has a low priority',
  {
    skip:
      (process.platform !== 'linux' && 'only Linux shows the priority of a thread') ||
      (getPriority() >= 10 && 'this process has a low priority already'),
  },
  async () => {
    await write(fewLogPages)
    const tasks = '/proc/self/task'
    /** The nice value of each thread, by its name (proc_pid_stat(5), field 19). */
    const read = (): Map<string, number> =>
      new Map(
        readdirSync(tasks).map((id) => {
          const [, name, rest] = /\((.*)\) (.*)$/s.exec(readFileSync(join(tasks, id, 'stat'), 'utf8'))!
          return [id === String(process.pid) ? 'main' : name!, Number(rest!.split(' ')[16])]
        }),
      )
    let nice = read()
    for (let turn = 0; turn < 10_000 && nice.get('checkpointer') !== 10; turn += 1) {
      await wait(5)
      nice = read()
    }
    assert.deepEqual([nice.get('checkpointer'), nice.get('main')], [10, getPriority()])
  },
)

test('failures in a row are reported once, and it tries again', async () => {
  const errors: Error[] = []
  const failing = Promise.withResolvers<() => void>()
  const again = Promise.withResolvers<void>()
  const file = join(folder, 'later.db')
  const connection = new SqliteConnection(file)
  const { opened } = connection
  connection.close()
  renameSync(file, `${file}.away`)
  // Long enough to be looked at. SQLite ignores a log without a header.
  writeFileSync(`${file}-wal`, '')
  truncateSync(`${file}-wal`, fewLogPages * logPageBytes)
  const clock: Clock = {
    now: () => 0,
    after(delay, run) {
      // The pause after a failure ends when the test says so.
      if (delay > 100) failing.resolve(run)
      else setTimeout(run, 0)
      return () => undefined
    },
  }
  const checkpointer = new Checkpointer(
    opened,
    (error) => {
      errors.push(error)
      // In a later turn, when the failure has been recorded.
      setImmediate(() => checkpointer.noteWritten())
    },
    clock,
  )
  // The thread alone does not keep the process running.
  const running = setInterval(() => {
    // The index of the log, which its connection creates.
    if (existsSync(`${file}-shm`)) again.resolve()
  }, 20)
  checkpointer.noteWritten()
  const tryAgain = await failing.promise
  assert.match(errors[0]!.message, /commits will do it/)
  renameSync(`${file}.away`, file)
  tryAgain()
  await again.promise
  await checkpointer.close()
  clearInterval(running)
  assert.equal(errors.length, 1)
})

test('a process with nothing else to do closes the file before it ends', async () => {
  const opener = new URL('../../src/storage/sqlite/database.ts', import.meta.url).href
  // Before the thread has started, while it starts, and after its first task.
  const program = `
    const { openSqlite } = await import(${JSON.stringify(opener)})
    for (const pause of [0, 12, 15, 20, 100]) {
      const database = openSqlite(${JSON.stringify(join(folder, 'short-'))} + pause)
      await database.batch('work', (connection) => {
        connection.exec('create table one (a blob) strict')
        for (let page = 0; page < ${fewLogPages}; page += 1)
          connection.run('insert into one values (zeroblob(4000))')
      })
      await new Promise((resolve) => setTimeout(resolve, pause))
      await database.close()
      console.log('closed')
    }`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  assert.equal(stdout, 'closed\n'.repeat(5))
})
