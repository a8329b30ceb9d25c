import { ConfigurationError } from '../../config/environment.ts'
import type { NatsSpoolSettings, SpoolSettings } from '../../config/spool-url.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { FileInUse } from '../../storage/sqlite/owner.ts'
import { StorageUnavailable } from '../../storage/unavailable.ts'
import type { Log } from '../../telemetry/log.ts'
import { foreignFiles, openAbandoned, openFileSpool } from './file-spool.ts'
import { NatsMisconfigured } from './nats-errors.ts'
import { NatsSpool } from './nats-spool.ts'
import type { Spool } from './spool.ts'
import { aroundAnEvent } from './stream-messages.ts'

export interface OpenSpool {
  readonly spool: Spool
  /** Opens the spool of a process that ended and was not started again, if there is one. */
  readonly openAbandoned?: () => Promise<Spool | undefined>
}

export interface SpoolParts {
  keyring: Keyring
  log: Log
  /** The largest body of a webhook, in bytes. */
  bodyLimit: number
}

/**
 * Opens the spool of `SPOOL_URL`. NATS servers that do not answer now are tried again when they are needed.
 * @throws ConfigurationError if it cannot be used
 */
export async function openSpool(settings: SpoolSettings, parts: SpoolParts): Promise<OpenSpool> {
  try {
    if (settings.kind === 'nats') return { spool: await openNatsSpool(settings, parts) }
    const foreign = foreignFiles(settings.file)
    if (foreign.length > 0)
      parts.log.warn({ files: foreign }, 'files of the spool that other users made are not read')
    return { spool: await openFileSpool(settings), openAbandoned: () => openAbandoned(settings) }
  } catch (error) {
    if (error instanceof FileInUse || error instanceof NatsMisconfigured)
      throw new ConfigurationError([`SPOOL_URL cannot be used: ${error.message}`])
    if (!(error instanceof StorageUnavailable)) throw error
    const { cause } = error
    throw new ConfigurationError([
      `SPOOL_URL cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
    ])
  }
}

async function openNatsSpool(settings: NatsSpoolSettings, parts: SpoolParts): Promise<Spool> {
  const { log, bodyLimit } = parts
  const spool = new NatsSpool(settings, parts)
  try {
    const maxPayload = await spool.connect()
    if (maxPayload < bodyLimit + aroundAnEvent)
      log.warn(
        { maxPayload, bodyLimit },
        'larger webhooks than the max_payload of NATS cannot be spooled: raise it, or lower WEBHOOK_BODY_LIMIT',
      )
  } catch (error) {
    if (error instanceof NatsMisconfigured) {
      await spool.close()
      throw error
    }
    log.warn({ err: error }, 'the spool does not answer yet: it is tried again when it is needed')
  }
  return spool
}
