import { Agent } from 'undici'
import { guardedConnector, type ConnectorOptions } from './guarded-connector.ts'

/** Keeps the connections of an outbound agent. */
export function openPooledAgent(options: ConnectorOptions): Agent {
  return new Agent({
    allowH2: false,
    connect: guardedConnector(options),
    pipelining: 1,
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 60_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 32 * 1024,
  })
}
