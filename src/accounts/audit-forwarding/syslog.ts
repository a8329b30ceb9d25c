import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { withoutBrackets } from '../../network/reserved-addresses.ts'
import type { AuditRow } from '../audit-log.ts'
import { exportEntry } from '../audit-entry.ts'
import type { AuditDestination } from './destination.ts'

/** Facility 13, log audit, with severity 6 (informational) or 4 (warning): RFC 5424, section 6.2.1. */
const [succeeded, refused] = [13 * 8 + 6, 13 * 8 + 4]
/** RFC 5425, section 4.1; RFC 6587 registers none for TCP, and 601 is the one of RFC 3195. */
const ports: Readonly<Record<string, number>> = { 'syslog+tls:': 6514, 'syslog+tcp:': 601 }

export interface SyslogOptions {
  /** Whose name the messages carry: the host of BASE_URL. */
  hostname: () => string
  /** Certificates to trust in place of the system's, as PEM. */
  ca?: string
}

/**
 * Sends entries as syslog messages (RFC 5424), one after the other over one connection, each with its length before it (RFC 6587,
 * section 3.4.1; RFC 5425, section 4.3). Syslog acknowledges nothing: a batch counts as taken when its bytes were handed to the
 * system and the receiver has not closed the connection.
 * @param url `syslog+tls://host:port` or `syslog+tcp://host:port`
 */
export function syslogDestination(url: string, { hostname, ca }: SyslogOptions): AuditDestination {
  const { protocol, hostname: given, port } = new URL(url)
  const address = { host: withoutBrackets(given), port: port === '' ? ports[protocol]! : Number(port) }
  let socket: Socket | undefined

  const open = async (signal: AbortSignal): Promise<Socket> => {
    const made =
      protocol === 'syslog+tls:'
        ? connectTls({ ...address, servername: address.host, ...(ca !== undefined && { ca }) })
        : connectTcp(address)
    const stop = (): void => void made.destroy(new Error('the connection was not there in time'))
    signal.addEventListener('abort', stop, { once: true })
    try {
      await once(made, protocol === 'syslog+tls:' ? 'secureConnect' : 'connect')
    } catch (error) {
      made.destroy()
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
    // A receiver says nothing; when it closes its side, what is sent then is lost.
    const forget = (): void => {
      if (socket === made) socket = undefined
      made.destroy()
    }
    made.on('end', forget).on('close', forget).on('error', forget)
    made.resume()
    return made
  }

  return {
    async send(rows, signal) {
      socket ??= await open(signal)
      const used = socket
      await written(used, frames(rows, hostname()), signal)
      // What the receiver closed while it was sent to has perhaps not been read.
      if (used.destroyed) throw new Error('the receiver closed the connection')
    },
    async close() {
      socket?.end()
    },
  }
}

/** Resolves when the system has all of it. */
function written(socket: Socket, bytes: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      socket.destroy()
      reject(new Error('the receiver did not take it in time'))
    }
    signal.addEventListener('abort', stop, { once: true })
    socket.write(bytes, (error) => {
      signal.removeEventListener('abort', stop)
      if (error) reject(error)
      else resolve()
    })
  })
}

/** Messages in octet counting: the length in bytes, a space, the message. */
export function frames(rows: readonly AuditRow[], hostname: string): Buffer {
  const parts = rows.map((row) => {
    const message = syslogMessage(row, hostname)
    return `${message.length} ${message}`
  })
  return Buffer.from(parts.join(''), 'latin1')
}

/**
 * One message: version, time, host, application, no process id, the action as message id, no structured data, and the entry as
 * JSON. All of it is ASCII: other characters are written as JSON escapes them, so that its length in bytes is that in characters.
 */
function syslogMessage(row: AuditRow, hostname: string): string {
  const priority = row.code === null ? succeeded : refused
  const time = new Date(row.created_at).toISOString()
  const json = JSON.stringify(exportEntry(row)).replace(
    /[^ -~]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `<${priority}>1 ${time} ${hostname} postern - ${row.action.slice(0, 32)} - ${json}`
}
