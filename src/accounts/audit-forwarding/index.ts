import { type Clock, Period } from '../../runtime/clock.ts'
import { createOutboundAgent, type OutboundAgent, errorOf } from '../../network/exchange.ts'
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { withoutBrackets } from '../../network/egress.ts'
import { auditEntriesAfter, exportEntry } from '../audit/audit-reader.ts'
import { isoTime } from '../../runtime/iso-time.ts'
import { HmacKey } from '../../crypto/secrets.ts'
import { printable } from '../../telemetry/printable.ts'
import { randomUUID } from 'node:crypto'
import { periodicWorker, type PeriodicWorker, type Worker } from '../../runtime/worker.ts'
import { whenAborted } from '../../runtime/abort-broadcast.ts'
import { ExportPosition } from './position.ts'
import type { ModuleParts } from '../../http/service-module.ts'
import type { Row } from '../../storage/tables.ts'

/** Entries of one batch. */
const batchSize = 100
/** Milliseconds between two polls for new entries. */
const interval = 1_000
/** Milliseconds for one batch. */
const timeout = 15_000
/** Milliseconds from a failure to the next attempt; doubled at each further failure, up to the longest. */
const [firstDelay, longestDelay] = [1_000, 300_000]

/** A receiver of audit entries. */
interface AuditDestination {
  /** Sends a batch, in order. @throws when the receiver does not accept it in time, or `signal` is aborted. */
  send(rows: readonly Row<'audit_log'>[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

interface AuditForwarderParts extends Pick<ModuleParts, 'database' | 'clock' | 'log' | 'metrics'> {
  /** AUDIT_EXPORT_URL. */
  url: string
  destination: AuditDestination
}

/**
 * Forwards the audit log in order and at least once: the position is stored after the destination accepted a batch, so a batch
 * may be sent again. Failures are retried with a growing delay. No entry is skipped, unless the retention of the audit log
 * deletes it first. A backlog does not affect readiness; the metric and `postern doctor` show it.
 */
export class AuditForwarder implements Worker {
  readonly name = 'audit-export'
  readonly #parts: AuditForwarderParts
  readonly #position: ExportPosition
  readonly #claim = randomUUID()
  readonly #sending = new AbortController()
  readonly #rounds: PeriodicWorker
  #stopped = false
  #failures = 0
  /** Between a failure and the next try. */
  readonly #pause = new Period()

  constructor(parts: AuditForwarderParts) {
    const { database, clock, metrics, url } = parts
    this.#parts = parts
    this.#position = new ExportPosition(database, url)
    this.#rounds = periodicWorker(this.name, clock, interval, () =>
      this.#forward().catch((error: unknown) => this.#warn(error)),
    )
    metrics.gauge(
      'postern_audit_export_behind_seconds',
      'Age of the oldest entry of the audit log that AUDIT_EXPORT_URL has not accepted',
      [],
      async (gauge) => {
        const oldest = await this.#position.oldestWaiting()
        gauge.set(oldest === undefined ? 0 : Math.max(0, clock.now() - oldest) / 1000)
      },
    )
  }

  start(): void {
    this.#rounds.start()
  }

  async stop(deadline: AbortSignal): Promise<void> {
    this.#stopped = true
    whenAborted(deadline, () => this.#sending.abort())
    await this.#rounds.stop()
    await this.#parts.destination.close()
    // If the database does not answer, the claim expires.
    await this.#position.release(this.#claim).catch((error: unknown) => this.#warn(error))
  }

  async #forward(): Promise<void> {
    const { database, clock } = this.#parts
    if (this.#pause.has(clock.now())) return
    // Checked before claiming, so that an idle log causes no writes.
    if ((await this.#position.oldestWaiting()) === undefined) return
    let position = await this.#position.claim(this.#claim, clock.now())
    while (position !== undefined && !this.#stopped) {
      const rows = await auditEntriesAfter(database, { after: position }, batchSize)
      const last = rows.at(-1)
      if (!last) return
      try {
        await this.#send(rows)
      } catch (error) {
        return this.#recordFailure(error)
      }
      this.#failures = 0
      position = last.seq
      if (!(await this.#position.advance(this.#claim, position, clock.now()))) return
    }
  }

  async #send(rows: Parameters<AuditDestination['send']>[0]): Promise<void> {
    const limit = AbortSignal.timeout(timeout)
    await this.#parts.destination.send(rows, AbortSignal.any([limit, this.#sending.signal]))
  }

  async #recordFailure(error: unknown): Promise<void> {
    if (this.#stopped) return
    const { clock } = this.#parts
    const delay = Math.min(longestDelay, firstDelay * 2 ** this.#failures)
    this.#failures += 1
    const now = clock.now()
    this.#pause.start(now, delay)
    this.#warn(error)
    const message = error instanceof Error ? error.message : String(error)
    await this.#position.recordFailure(this.#claim, message, now, now + delay)
  }

  #warn(error: unknown): void {
    this.#parts.log.warn({ err: error }, 'could not forward the audit log')
  }
}

type AuditForwardingParts = Pick<
  ModuleParts,
  'configuration' | 'metrics' | 'baseUrl' | 'database' | 'clock' | 'log'
>

/** The worker that forwards the audit log to AUDIT_EXPORT_URL; an empty list when that is not set. */
export function createAuditForwarding(parts: AuditForwardingParts): AuditForwarder[] {
  const { auditExportUrl: url } = parts.configuration
  return url === undefined
    ? []
    : [new AuditForwarder({ ...parts, url, destination: destinationOf(url, parts) })]
}

/** The operator chose the address, so private networks are allowed. Requests use EMIT_PROXY, as webhooks do. */
function destinationOf(
  url: string,
  { configuration, clock, baseUrl }: AuditForwardingParts,
): AuditDestination {
  if (url.startsWith('syslog+'))
    return syslogDestination(url, { hostname: () => new URL(baseUrl()).hostname })
  const agent = createOutboundAgent({ allowPrivateNetwork: true, proxy: configuration.emitProxy })
  return webhookDestination(url, configuration.auditExportSecrets ?? [], { agent, clock })
}

/** The priority: facility 13 (log audit) with severity 6 (informational) or 4 (warning); RFC 5424, section 6.2.1. */
const [success, failure] = [13 * 8 + 6, 13 * 8 + 4]
/** RFC 5425, section 4.1. RFC 6587 registers no port for TCP; 601 is that of RFC 3195. */
const ports: Readonly<Record<string, number>> = { 'syslog+tls:': 6514, 'syslog+tcp:': 601 }

interface SyslogOptions {
  /** The host name in the messages: that of BASE_URL. */
  hostname: () => string
  /** Trusted certificates in place of the system's, as PEM. */
  ca?: string
}

/**
 * Sends entries as syslog messages (RFC 5424) over one connection, each with its length in front (octet counting: RFC 6587,
 * section 3.4.1; RFC 5425, section 4.3). Syslog has no acknowledgements: a batch counts as accepted when the operating system
 * has its bytes and the receiver has not closed the connection.
 * @param url `syslog+tls://host:port` or `syslog+tcp://host:port`
 */
export function syslogDestination(url: string, { hostname, ca }: SyslogOptions): AuditDestination {
  const { protocol, hostname: given, port } = new URL(url)
  const address = { host: withoutBrackets(given), port: port === '' ? ports[protocol]! : Number(port) }
  let socket: Socket | undefined

  const open = async (signal: AbortSignal): Promise<Socket> => {
    const connecting =
      protocol === 'syslog+tls:'
        ? connectTls({ ...address, servername: address.host, ...(ca !== undefined && { ca }) })
        : connectTcp(address)
    const stop = (): void => void connecting.destroy(new Error('the connection was not established in time'))
    signal.addEventListener('abort', stop, { once: true })
    try {
      await once(connecting, protocol === 'syslog+tls:' ? 'secureConnect' : 'connect')
    } catch (error) {
      connecting.destroy()
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
    // Bytes that are sent after the receiver closed its side are lost, so the next batch opens a new connection.
    const discard = (): void => {
      if (socket === connecting) socket = undefined
      connecting.destroy()
    }
    connecting.on('end', discard).on('close', discard).on('error', discard)
    connecting.resume()
    return connecting
  }

  return {
    async send(rows, signal) {
      socket ??= await open(signal)
      const used = socket
      await write(used, frames(rows, hostname()), signal)
      // The receiver may not have read all bytes before it closed the connection.
      if (used.destroyed) throw new Error('the receiver closed the connection')
    },
    async close() {
      socket?.end()
    },
  }
}

/** Resolves when the operating system has all bytes. */
function write(socket: Socket, bytes: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      socket.destroy()
      reject(new Error('the receiver did not read the batch in time'))
    }
    signal.addEventListener('abort', stop, { once: true })
    socket.write(bytes, (error) => {
      signal.removeEventListener('abort', stop)
      if (error) reject(error)
      else resolve()
    })
  })
}

/** The messages of a batch, each as its length in bytes, a space and the message. */
export function frames(rows: readonly Row<'audit_log'>[], hostname: string): Buffer {
  const parts = rows.map((row) => {
    const message = syslogMessage(row, hostname)
    return `${message.length} ${message}`
  })
  return Buffer.from(parts.join(''), 'latin1')
}

/**
 * One message: version, time, host, application, no process id, the action as message id, no structured data, and the entry as
 * JSON. All characters are ASCII (others are JSON escapes), so its length in bytes is its length in characters.
 */
function syslogMessage(row: Row<'audit_log'>, hostname: string): string {
  const priority = row.code === null ? success : failure
  const time = isoTime(row.created_at)
  const json = JSON.stringify(exportEntry(row)).replace(
    /[^ -~]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `<${priority}>1 ${time} ${hostname} postern - ${row.action.slice(0, 32)} - ${json}`
}

/** Bytes of a response that are read, so that its connection can be reused. */
const answerLimit = 16 * 1024

/**
 * Posts batches as JSON, `{"type":"audit.entries","timestamp":…,"data":{"entries":[…]}}`, signed with each of the secrets
 * (Standard Webhooks). Only a 2xx response means that the batch was accepted. Redirects are not followed.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
function webhookDestination(
  url: string,
  secrets: readonly Uint8Array[],
  { agent, clock }: { agent: OutboundAgent; clock: Clock },
): AuditDestination {
  const { origin, pathname, search } = new URL(url)
  const macs = secrets.map((secret) => new HmacKey('sha256', secret))
  return {
    async send(rows, signal) {
      const now = clock.now()
      const entries = rows.map(exportEntry)
      const payload = { type: 'audit.entries', timestamp: isoTime(now), data: { entries } }
      const body = Buffer.from(printable(JSON.stringify(payload)))
      // The same entries have the same id, so that the receiver can detect a repetition.
      const id = `audit_${rows[0]!.seq}_${rows.at(-1)!.seq}`
      const timestamp = String(Math.floor(now / 1000))
      const signed = `${id}.${timestamp}.`
      const signatures = macs.map((mac) => `v1,${mac.digest(signed, body).toString('base64')}`)
      const exchange = agent.exchange({
        origin,
        path: pathname + search,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': signatures.join(' '),
        },
        body,
        responseLimit: answerLimit,
      })
      const outcome = await exchange.until(signal)
      const { status } = outcome
      if (status === null || outcome.error !== undefined) throw errorOf(outcome)
      if (status < 200 || status > 299) throw new Error(`${origin} answered ${status}`)
    },
    close: () => agent.destroy(),
  }
}
