// GET /audit/export and `postern audit export`: all entries in order, none twice, none missed.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import {
  adminKey,
  each,
  engines,
  onEachEngine,
  startedService,
  temporaryFolder,
} from '#test/harness/index.ts'
import { childEnvironment } from '#test/harness/child-environment.ts'
import { mainFile } from '#test/harness/main-file.ts'
import { auditEntriesAfter } from '../../src/accounts/audit/audit-reader.ts'
import { createRecordAudit, type AuditEntry } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { newId } from '../../src/crypto/ids.ts'
import { postern, startPostern } from '../cli/command.ts'
import { until } from '../emitting/harness.ts'

/** A device of Linux on which each write fails as on a full disk. */
const skip = existsSync('/dev/full') ? false : 'there is no /dev/full'

interface Line {
  seq: number
  id: string
  at: string
  action: string
  actor: string | null
  userAgent: string | null
  detail: Record<string, unknown> | null
}

onEachEngine('the export of the audit log', (engine) => {
  const folder = temporaryFolder()
  const service = startedService(engine)

  const record = createRecordAudit(systemClock)
  const write = (detail: AuditEntry['detail'], more: Partial<AuditEntry> = {}): Promise<void> =>
    service.database.transaction((tx) =>
      record(tx, { action: 'key.created', actor: 'test', detail, ...more }),
    )
  const read = async (query = ''): Promise<Line[]> => {
    const answer = await service.admin(`/audit/export${query}`)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    return parse(await answer.text())
  }
  const env = {
    POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
    WEBHOOK_SECRET: 'x',
  }
  const command = (...args: string[]) =>
    postern(folder, ['audit', 'export', ...args], { ...env, DATABASE_URL: service.databaseUrl })

  test('every entry once, oldest first; the last seq continues the export', async () => {
    for (let n = 0; n < 3; n += 1) await write({ n })
    const all = await read()
    assert.deepEqual(
      all.map(({ detail }) => detail?.['n']).filter((n) => n !== undefined),
      [0, 1, 2],
    )
    assert.deepEqual(
      each(all, 'seq'),
      all.map(({ seq }) => seq).toSorted((one, other) => one - other),
    )
    const last = all.at(-1)!.seq
    assert.deepEqual(await read(`?after=${last}`), [])
    await until(async () => Date.now() > Date.parse(all.at(-1)!.at), 'the clock has moved on')
    const time = new Date().toISOString()
    await write({ n: 3 })
    assert.deepEqual(each(await read(`?after=${last}`), 'detail'), [{ n: 3 }])
    assert.deepEqual(each(await read(`?since=${time}`), 'detail'), [{ n: 3 }])
    assert.deepEqual(await read('?since=2200-01-01T00:00:00Z'), [])
  })

  test('only for admins, and only with valid parameters', async () => {
    assert.equal((await service.fetch('/audit/export')).status, 401)
    for (const query of ['?after=-1', '?after=x', '?since=yesterday'])
      assert.equal((await service.admin(`/audit/export${query}`)).status, 400, query)
    const head = await service.admin('/audit/export', { method: 'HEAD' })
    assert.equal(await head.text(), '')
  })

  test('an entry that is committed late is not skipped', async () => {
    const start = (await read()).at(-1)?.seq ?? 0
    const slow = service.database.begin()
    await slow.within(() => record(slow.tx, { action: 'key.created', detail: { which: 'slow' } }))
    const quick = write({ which: 'quick' })
    // On SQLite one transaction writes at a time: the quick one waits.
    if (engine.name === 'postgres') await quick
    assert.deepEqual(await auditEntriesAfter(service.database, { after: start }, 10), [])
    await slow.commit()
    await quick
    const rows = await auditEntriesAfter(service.database, { after: start }, 10)
    assert.deepEqual(each(rows, 'detail'), ['{"which":"slow"}', '{"which":"quick"}'])
  })

  test('text from a browser cannot start a line or control a terminal', async () => {
    const hostile = 'x\n{"forged":1}\u001b[2J\u009b31m\u202e\u2028y'
    await write({ n: 9 }, { userAgent: hostile })
    const answer = await service.admin('/audit/export')
    const text = await answer.text()
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/)
    assert.equal(parse(text).at(-1)!.userAgent, hostile)
  })

  test('many entries are read as the client takes them, and all arrive', async () => {
    const rows = 4_000
    const start = (await read()).at(-1)?.seq ?? 0
    const filler = 'x'.repeat(2_000)
    for (let n = 0; n < rows; n += 500) {
      const some = Array.from({ length: 500 }, (_, index) => ({
        id: newId(Date.now()),
        created_at: Date.now(),
        action: 'key.created',
        detail: JSON.stringify({ n: n + index, filler }),
      }))
      await service.database.transaction((tx) => tx.insertInto('audit_log').values(some).execute())
    }
    const { hostname, port } = new URL(service.baseUrl)
    const accepted = once(service.app.server, 'connection') as Promise<[Socket]>
    const socket = connect(Number(port), hostname)
    const [peer] = await accepted
    socket.pause()
    const head = `host: ${hostname}:${port}\r\nauthorization: Bearer ${adminKey}\r\n`
    socket.write(`GET /audit/export?after=${start} HTTP/1.1\r\n${head}\r\n`)
    // Entries that come while the reader stands still are read late, so they are in it.
    await until(async () => peer.writableNeedDrain, 'the export waits for its reader')
    await write({ n: rows, late: true })
    const text = await new Promise<string>((resolve) => {
      const pieces: string[] = []
      socket.setEncoding('latin1').on('data', (piece: string) => {
        pieces.push(piece)
        // The end may be cut into two pieces. Joining all of them each time would take seconds.
        if (pieces.slice(-5).join('').endsWith('0\r\n\r\n')) resolve(pieces.join(''))
      })
      socket.resume()
    })
    socket.destroy()
    assert.equal(text.match(/"seq":/g)!.length, rows + 1)
    assert.ok(text.includes('"late":true'))
  })

  /** Runs the command in a shell, by the end of its command line. */
  async function commandIn(shell: string): Promise<{ code: number; told: string }> {
    const child = spawn('/bin/sh', ['-c', shell, 'sh', process.execPath, mainFile, 'audit', 'export'], {
      cwd: folder,
      env: { ...childEnvironment(), HOME: folder, ...env, DATABASE_URL: service.databaseUrl },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const [told, [code]] = await Promise.all([
      new Response(Readable.toWeb(child.stderr) as ReadableStream).text(),
      once(child, 'exit') as Promise<[number]>,
    ])
    return { code, told }
  }

  // The command reads by the function whose lines the tests above compare on both engines.
  if (engine === engines[0]) {
    test('the command writes the same lines to standard output and the count to standard error', async () => {
      const from = (await read()).at(-6)!.seq
      const expected = await read(`?after=${from}`)
      const all = await command('--after', String(from))
      assert.equal(all.code, 0, all.stderr)
      assert.deepEqual(parse(all.stdout), expected)
      assert.equal(all.stderr, `${expected.length} entries; continue with --after ${expected.at(-1)!.seq}\n`)
      const none = await command('--after', String(expected.at(-1)!.seq))
      assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', '0 entries\n'])
    })

    test('the command with --follow runs until it is interrupted', async () => {
      const last = (await read()).at(-1)!.seq
      const { child, ended } = startPostern(
        folder,
        ['audit', 'export', '--follow', '--after', String(last)],
        {
          ...env,
          DATABASE_URL: service.databaseUrl,
        },
      )
      let output = ''
      child.stdout!.on('data', (piece: string) => (output += piece))
      for (const n of [100, 101]) {
        await write({ n })
        await until(async () => output.includes(`"n":${n}`), `${n} was followed`)
      }
      child.kill('SIGINT')
      const { code, stdout } = await ended
      assert.equal(code, 0)
      assert.deepEqual(each(parse(stdout), 'detail'), [{ n: 100 }, { n: 101 }])
    })

    test('invalid options are rejected', async () => {
      for (const [option, value] of [
        ['--since', 'yesterday'],
        ['--after', 'x'],
      ] as const) {
        const refused = await command(option, value)
        assert.equal(refused.code, 2)
        assert.match(refused.stderr, new RegExp(`${option} takes`))
      }
    })

    test('a reader that has enough ends the export, and that is no failure', async () => {
      await write({ n: 'enough' })
      const { code, told } = await commandIn('{ "$@"; echo "ended: $?" >&2; } | head -n 1')
      assert.deepEqual([code, told], [0, 'ended: 0\n'])
    })

    test('an output that cannot be written is a failure, and nothing of it counts', { skip }, async () => {
      await write({ n: 'full' })
      for (const [shell, error] of [
        ['exec "$@" > /dev/full', 'ENOSPC'],
        ['exec "$@" --follow > /dev/full', 'ENOSPC'],
        // The file may have 300 KiB, so the system writes a part of the first entries, and reports no error for it.
        [`trap '' XFSZ; ulimit -f 600; exec "$@" > entries`, 'EFBIG'],
      ] as const) {
        const { code, told } = await commandIn(shell)
        assert.equal(code, 1, told)
        assert.match(
          told,
          new RegExp(`^0 entries\\nThe entries could not be written to standard output: ${error}`),
          shell,
        )
      }
    })
  }
})

function parse(text: string): Line[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}
