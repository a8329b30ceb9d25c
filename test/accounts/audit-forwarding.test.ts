// AUDIT_EXPORT_URL: every entry arrives, in order, at a webhook or a syslog receiver that may be away for a while.
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { selfSigned } from '#test/harness/certificate.ts'
import { listening, onEachEngine, type ReceivedCall, started, startReceiver } from '#test/harness/index.ts'
import { clockWith } from '#test/harness/manual-clock.ts'
import { startTestService, type TestService } from '#test/harness/service.ts'
import { temporaryFolder } from '#test/harness/temporary-folder.ts'
import { frames, syslogDestination } from '../../src/accounts/audit-forwarding/index.ts'
import { createRecordAudit } from '../../src/accounts/audit/audit.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { readEnvironment } from '../../src/config/environment.ts'
import { postern } from '../cli/command.ts'
import { until } from '../emitting/harness.ts'
import type { Row } from '../../src/storage/tables.ts'

interface Entry {
  seq: number
  action: string
  detail: { n?: number } | null
}

const key = randomBytes(32)
const secret = `whsec_${key.toString('base64')}`
const record = createRecordAudit(systemClock)
const write = ({ database }: TestService, n: number): Promise<void> =>
  database.transaction((tx) => record(tx, { action: 'key.created', actor: 'test', detail: { n } }))

/** The entries of a call, whose signature must verify. */
function entriesOf({ headers, body }: ReceivedCall): Entry[] {
  const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']] as string[]
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  assert.equal(headers['webhook-signature'], `v1,${mac}`)
  assert.equal(headers['content-type'], 'application/json')
  const { type, data } = JSON.parse(body.toString()) as { type: string; data: { entries: Entry[] } }
  assert.equal(type, 'audit.entries')
  assert.equal(id, `audit_${data.entries[0]!.seq}_${data.entries.at(-1)!.seq}`)
  return data.entries
}
const numbers = (entries: readonly Entry[]): number[] =>
  entries.map(({ detail }) => detail?.n).filter((n) => n !== undefined)

onEachEngine('forwarding of the audit log', (engine) => {
  const folder = temporaryFolder()
  const database = started(() => engine.createMigratedDatabase())
  const parts = { clock: clockWith({ 1_000: 50 }) }

  test('a webhook: in order, with retries, and from the last position after a restart', async () => {
    const receiver = await startReceiver(503, 204)
    const env = { AUDIT_EXPORT_URL: `${receiver.url}?token=t`, AUDIT_EXPORT_SECRET: secret }
    const first = await startTestService(engine, { databaseUrl: database.url, env, parts })
    for (let n = 0; n < 250; n += 1) await write(first, n)
    const taken = (): number[] => numbers(receiver.calls.slice(1).flatMap((call) => entriesOf(call)))
    await until(async () => taken().length >= 250, 'all were taken')
    // The receiver has the last entries a moment before the service has its answer.
    const metrics = async (): Promise<string> => (await first.admin('/metrics')).text()
    await until(async () => /^postern_audit_export_behind_seconds 0$/m.test(await metrics()), 'nothing waits')
    await first.close()
    assert.deepEqual(
      taken(),
      Array.from({ length: 250 }, (_, n) => n),
    )
    const calls = receiver.calls.length
    const second = await startTestService(engine, { databaseUrl: database.url, env, parts })
    await write(second, 250)
    await until(async () => receiver.calls.length > calls, 'it goes on')
    assert.deepEqual(numbers(entriesOf(receiver.calls[calls]!)), [250])
    await second.close()
    await receiver.close()
  })

  test('a failing destination appears in the metric and in doctor; the service stays ready', async () => {
    const receiver = await startReceiver(500)
    const env = { AUDIT_EXPORT_URL: receiver.url, AUDIT_EXPORT_SECRET: secret }
    const service = await startTestService(engine, { databaseUrl: database.url, env, parts })
    await write(service, 1)
    await until(async () => receiver.calls.length > 1, 'it is tried again')
    const metrics = await (await service.admin('/metrics')).text()
    const [, behind] = /^postern_audit_export_behind_seconds (\S+)$/m.exec(metrics)!
    assert.ok(Number(behind) > 0)
    await until(async () => (await service.fetch('/readyz')).ok, 'it is ready')
    const { stdout } = await postern(folder, ['doctor'], {
      ...env,
      DATABASE_URL: database.url,
      POSTERN_SECRET: 'test-master-secret-of-32-bytes-or-more',
      WEBHOOK_SECRET: 'test-webhook-secret',
    })
    assert.match(
      stdout,
      /^! audit export: the destination has accepted nothing since \S+: http:\/\/127\.0\.0\.1:\d+ answered 500$/m,
    )
    await service.close()
    await receiver.close()
  })

  test('syslog over TCP: messages with their length on one connection, which is opened again after a failure', async () => {
    const receiver = await startSyslog(createServer())
    const env = { AUDIT_EXPORT_URL: `syslog+tcp://127.0.0.1:${receiver.port}` }
    const service = await startTestService(engine, { databaseUrl: database.url, env, parts })
    await write(service, 1_000)
    await until(async () => receiver.entries().some(({ detail }) => detail?.n === 1_000), 'it came')
    receiver.drop()
    await write(service, 1_001)
    await until(async () => receiver.entries().some(({ detail }) => detail?.n === 1_001), 'the next came')
    const [message] = receiver.messages()
    assert.match(
      message!,
      /^<110>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 127\.0\.0\.1 postern - [a-z_.]+ - \{"seq":1,/,
    )
    const seqs = receiver.entries().map(({ seq }) => seq)
    assert.deepEqual(
      [...new Set(seqs)],
      seqs.toSorted((one, other) => one - other).filter((seq, index, all) => all.indexOf(seq) === index),
    )
    await service.close()
    await receiver.close()
  })

  test(
    'several processes on one PostgreSQL send each entry once',
    { skip: engine.name === 'sqlite' && 'SQLite has one process' },
    async () => {
      const receiver = await startReceiver()
      const env = { AUDIT_EXPORT_URL: receiver.url, AUDIT_EXPORT_SECRET: secret }
      const services = await Promise.all(
        [1, 2, 3].map(() => startTestService(engine, { databaseUrl: database.url, env, parts })),
      )
      for (let n = 5_000; n < 5_060; n += 1) await write(services[n % 3]!, n)
      const taken = (): Entry[] => receiver.calls.flatMap((call) => entriesOf(call))
      await until(async () => numbers(taken()).includes(5_059), 'all came')
      const seqs = taken().map(({ seq }) => seq)
      assert.deepEqual(
        seqs,
        [...new Set(seqs)].toSorted((one, other) => one - other),
      )
      for (const service of services) await service.close()
      await receiver.close()
    },
  )
})

describe('syslog over TLS', () => {
  test('sends only to a receiver with a trusted certificate', async () => {
    const trusted = selfSigned('localhost')
    const receiver = await startSyslog(createTlsServer(trusted))
    const url = `syslog+tls://localhost:${receiver.port}`
    const good = syslogDestination(url, { hostname: () => 'gate', ca: trusted.cert })
    await good.send([row], AbortSignal.timeout(5_000))
    await until(async () => receiver.messages().length === 1, 'it came')
    await good.close()
    const other = syslogDestination(url, { hostname: () => 'gate', ca: selfSigned('localhost').cert })
    await assert.rejects(other.send([row], AbortSignal.timeout(5_000)), /certificate/)
    const plain = syslogDestination(url, { hostname: () => 'gate' })
    await assert.rejects(plain.send([row], AbortSignal.timeout(5_000)), /certificate/)
    assert.equal(receiver.messages().length, 1)
    await receiver.close()
  })

  test('text in an entry cannot end a message or start another one', () => {
    const bytes = frames([{ ...row, user_agent: 'x\n20 <110>1 forged\u009b\u2028é😀' }, row], 'gate')
    const messages = parseFrames(bytes)
    assert.equal(messages.length, 2)
    assert.match(bytes.toString('latin1'), /^[ -~]*$/)
    assert.ok(messages[0]!.startsWith('<108>1 '), 'a refusal is a warning')
  })
})

describe('settings of the forwarding', () => {
  const read = (url: string, given?: string) =>
    readEnvironment({ AUDIT_EXPORT_URL: url, ...(given !== undefined && { AUDIT_EXPORT_SECRET: given }) })
  test('invalid addresses and secrets are refused without showing them', () => {
    for (const url of [
      'http://siem.example.com/',
      'https://user:hush@siem.example.com/',
      'syslog://siem',
      'syslog+udp://siem:514',
      'syslog+tls://siem:6514/path',
      'syslog+tls://',
      'file:///etc/passwd',
    ])
      assert.throws(
        () => read(url, secret),
        (error: Error) => /AUDIT_EXPORT_URL/.test(error.message) && !error.message.includes('hush'),
        url,
      )
    for (const wrong of ['hush', 'whsec_hush', `${secret},whsec_`])
      assert.throws(
        () => read('https://siem.example.com/', wrong),
        (error: Error) => !error.message.includes('hush') && /AUDIT_EXPORT_SECRET/.test(error.message),
        wrong,
      )
    assert.throws(() => read('https://siem.example.com/'), /AUDIT_EXPORT_SECRET is missing/)
    assert.equal(read('syslog+tls://siem.example.com').auditExportUrl, 'syslog+tls://siem.example.com')
    assert.equal(read('https://siem.example.com/x', `${secret},${secret}`).auditExportSecrets?.length, 2)
  })
})

const row: Row<'audit_log'> = {
  seq: 1,
  id: '0198a1b2-c3d4-7e5f-8a6b-000000000000',
  created_at: 0,
  action: 'key.refused',
  user_id: null,
  actor: null,
  session_id: null,
  provider: null,
  provider_id: null,
  target: null,
  code: 'unknown-key',
  support_id: null,
  address: '192.0.2.1',
  user_agent: null,
  detail: null,
}

/** The messages of a stream in octet counting. */
function parseFrames(bytes: Buffer): string[] {
  const messages: string[] = []
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(' ', at)
    const length = Number(bytes.subarray(at, space).toString())
    assert.ok(length > 0, `no length at ${at}`)
    if (space + 1 + length > bytes.length) break
    messages.push(bytes.subarray(space + 1, space + 1 + length).toString())
    at = space + 1 + length
  }
  return messages
}

async function startSyslog(server: Server) {
  const sockets = new Set<Socket>()
  const streams: Buffer[][] = []
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection'
  server.on(event, (socket: Socket) => {
    const stream: Buffer[] = []
    streams.push(stream)
    sockets.add(socket)
    socket.on('data', (piece: Buffer) => stream.push(piece)).on('error', () => socket.destroy())
  })
  const { port, close } = await listening(server)
  const messages = (): string[] => streams.flatMap((stream) => parseFrames(Buffer.concat(stream)))
  return {
    port,
    messages,
    entries: (): Entry[] => messages().map((text) => JSON.parse(text.slice(text.indexOf('{'))) as Entry),
    drop(): void {
      for (const socket of sockets) socket.destroy()
    },
    close,
  }
}
