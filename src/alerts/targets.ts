import type { Keyring } from '../crypto/keyring.ts'
import { sealedColumns } from '../crypto/sealed-columns.ts'
import { Problem } from '../errors.ts'
import { faultOfDestination } from '../network/destination.ts'
import type { Egress } from '../network/egress.ts'
import type { AlertDestinationsTable } from '../storage/tables.ts'

/** Where a destination's messages go. */
export type Target = { kind: 'email'; to: string[] } | { kind: 'slack' | 'discord' | 'teams'; url: string }

const { context } = sealedColumns.alertTarget

export function sealTarget(keyring: Keyring, id: string, target: Target): Buffer {
  const { kind: _kind, ...rest } = target
  return keyring.seal(JSON.stringify(rest), context({ id }))
}

export function openTarget(
  keyring: Keyring,
  { id, kind, target }: Pick<AlertDestinationsTable, 'id' | 'kind' | 'target'>,
): Target {
  const rest = JSON.parse(keyring.open(target, context({ id })).toString()) as object
  return { kind, ...rest } as Target
}

/**
 * The target of a request's body.
 * @throws Problem `invalid-body` for an address of the wrong form, or one that must not be called
 */
export function readTarget(
  kind: AlertDestinationsTable['kind'],
  { url, to }: { url?: string | undefined; to?: string[] | undefined },
  { egress, hasMail }: { egress: Egress; hasMail: boolean },
): Target {
  if (kind === 'email') {
    if (!to || url !== undefined) throw invalid('An e-mail destination needs `to`, and no `url`.', '/to')
    if (!hasMail)
      throw new Problem('unprocessable', { detail: 'E-mail needs the settings SMTP_URL and MAIL_FROM.' })
    return { kind, to }
  }
  if (url === undefined || to) throw invalid('This destination needs `url`, and no `to`.', '/url')
  const fault = faultOfDestination(url, egress)
  if (fault !== undefined) throw invalid(fault, '/url')
  return { kind, url }
}

function invalid(detail: string, pointer: string): Problem {
  return new Problem('invalid-body', { detail, pointer })
}
