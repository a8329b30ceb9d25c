import { accessSync, constants } from 'node:fs'
import type { Consumer, JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import type { NatsSpoolSettings, NatsTls } from '../../config/spool-url.ts'
import { ensureConsumer, ensureStream } from './ensure-stream.ts'
import { NatsMisconfigured } from './nats-errors.ts'

/** Milliseconds that a connection, and a request to JetStream, may take. */
export const answerWithin = 3_000
/**
 * Codes of JetStream's permanent errors: not enabled for the account, not enough storage, configuration refused, name or subjects
 * in use, replicas without a cluster. https://github.com/nats-io/nats-server/blob/main/server/errors.json
 */
const lasting = new Set([10_039, 10_047, 10_052, 10_058, 10_065, 10_074])

/** A connection to JetStream, with the stream and its reader. */
export interface NatsLink {
  readonly connection: NatsConnection
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  readonly consumer: Consumer
}

/** Connects. The driver is loaded only when it is needed. */
export async function connectToNats({
  servers,
  tls,
  credentials,
}: NatsSpoolSettings): Promise<NatsConnection> {
  const { AuthorizationError, connect } = await import('@nats-io/transport-node')
  for (const file of Object.values(tls ?? {})) checkReadable(file)
  try {
    return await connect({
      servers: [...servers],
      ...credentials,
      ...(tls && { tls: tlsOptions(tls) }),
      name: 'postern',
      timeout: answerWithin,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 500,
      // Detects a silent path after ten seconds.
      pingInterval: 5_000,
      maxPingOut: 2,
    })
  } catch (error) {
    if (error instanceof AuthorizationError)
      throw new NatsMisconfigured('NATS rejects the credentials', error)
    const distrust = distrustOf(error)
    if (distrust !== undefined) throw new NatsMisconfigured(`TLS to NATS: ${distrust}`, error)
    throw error
  }
}

function tlsOptions({ ca, cert, key }: NatsTls): NonNullable<NodeConnectionOptions['tls']> {
  return { ...(ca && { caFile: ca }), ...(cert && { certFile: cert }), ...(key && { keyFile: key }) }
}

function checkReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw new NatsMisconfigured(`${file} cannot be read`, error)
  }
}

/**
 * Codes of node:tls for certificates of an untrusted authority or for another name. An expired one may be renewed meanwhile.
 * https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

/** Why the server cannot be trusted; undefined for other errors. */
function distrustOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; { cause } = cause)
    if (
      untrusted.has((cause as { code?: string }).code ?? '') ||
      /does not support 'tls'/.test(cause.message)
    )
      return cause.message
  return undefined
}

/** Connects, and creates the stream and its consumer unless they exist. @throws NatsMisconfigured if that is refused */
export async function openNatsLink(settings: NatsSpoolSettings): Promise<NatsLink> {
  const connection = await connectToNats(settings)
  try {
    const { JetStreamApiError, jetstreamManager } = await import('@nats-io/jetstream')
    try {
      const manager = await jetstreamManager(connection, { timeout: answerWithin })
      await ensureStream(manager, settings)
      const client = manager.jetstream()
      return { connection, client, manager, consumer: await ensureConsumer(manager, client, settings.stream) }
    } catch (error) {
      if (error instanceof JetStreamApiError && lasting.has(error.code))
        throw new NatsMisconfigured(`JetStream: ${error.message}`, error)
      throw error
    }
  } catch (error) {
    await connection.close()
    throw error
  }
}
