import { Agent } from 'undici'
import { guardedConnector, type ConnectorOptions } from './guarded-connector.ts'

/**
 * The agent for every request that the service makes to an address that somebody else chose. HTTP/1.1, connections kept
 * alive for a short while, no redirects (`request` follows none). Its own time limits are off: whoever makes a request
 * bounds the whole exchange by a signal, and the response by bytes. The caller closes it.
 */
export function createOutboundAgent(options: ConnectorOptions): Agent {
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
