// TLS to NATS by an authority of one's own, with and without a certificate of the service.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { selfSigned } from '../harness/certificate.ts'
import { startNats, type NatsServers } from '../harness/nats.ts'
import { createEffects } from './harness.ts'
import { deliver, drained, oneEffectEach, plain, ready, skip, stage } from './nats-scene.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-nats-tls-'))

/** Writes a certificate with its key. */
function certify(name: string, host: string): { cert: string; key: string } {
  const { cert, key } = selfSigned(host)
  const files = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) }
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key, { mode: 0o600 })
  return files
}

const server = certify('server', 'localhost')
const elsewhere = certify('elsewhere', 'nats.example')
const client = certify('client', 'postern')

const startSecured = ({ cert, key }: { cert: string; key: string }, more = ''): Promise<NatsServers> =>
  startNats(1, { configuration: `tls { cert_file: "${cert}", key_file: "${key}" ${more} }` })
const secured = ({ servers }: NatsServers, parameters = ''): string =>
  `tls://${servers[0]!.replace('127.0.0.1', 'localhost')}?replicas=1${parameters}`

/** The start fails with this. */
async function refuses(spoolUrl: string, reason: RegExp): Promise<void> {
  const { start, close } = await stage(spoolUrl)
  try {
    await assert.rejects(start(), reason)
  } finally {
    await close()
  }
}

/** Webhooks of an outage lie in the stream, and each has one effect afterwards. */
async function bridgesAnOutage(spoolUrl: string): Promise<void> {
  const { link, direct, start, close } = await stage(spoolUrl)
  try {
    const service = await start()
    assert.equal((await ready(service)).spool?.status, 'ok')
    await createEffects(direct)
    const ids = await deliver(service, 'before', 5)
    link.cut()
    ids.push(...(await deliver(service, 'away', 20)))
    link.mend()
    await drained(service)
    await oneEffectEach(direct, ids)
  } finally {
    await close()
  }
}

describe('TLS to NATS', { skip }, () => {
  let nats: NatsServers
  before(async () => (nats = await startSecured(server)))
  after(() => {
    nats?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('a private certificate authority is trusted with ?ca=', () =>
    bridgesAnOutage(secured(nats, `&ca=${server.cert}`)))

  test('an untrusted server stops the start', async () => {
    await refuses(secured(nats), /SPOOL_URL cannot be used: TLS to NATS: .*self-signed/)
    await refuses(secured(nats, `&ca=${elsewhere.cert}`), /SPOOL_URL cannot be used: TLS to NATS/)
    await refuses(secured(nats, `&ca=${folder}/missing.pem`), /missing\.pem cannot be read/)
    // Servers that ask for it get it, by the default authorities.
    await refuses(plain(nats, '?replicas=1'), /TLS to NATS/)
    const other = await startSecured(elsewhere)
    try {
      await refuses(secured(other, `&ca=${elsewhere.cert}`), /TLS to NATS: .*altnames/)
    } finally {
      other.close()
    }
  })

  test('tls:// never connects to a server without TLS', async () => {
    const bare = await startNats(1)
    try {
      await refuses(secured(bare, `&ca=${server.cert}`), /TLS to NATS: server does not support 'tls'/)
    } finally {
      bare.close()
    }
  })

  test('a server that requests a certificate gets that of ?cert= and ?key=', async () => {
    const asking = await startSecured(server, `, ca_file: "${client.cert}", verify: true`)
    try {
      const own = `&cert=${client.cert}&key=${client.key}`
      await bridgesAnOutage(secured(asking, `&ca=${server.cert}${own}`))
    } finally {
      asking.close()
    }
  })
})
