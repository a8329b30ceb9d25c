/** What the audit log tells of. The names are stable: people filter and alert by them. */
export const auditActions = {
  'user.created': 'An account was made at the first sign-in of an identity.',
  'user.signed_in': 'A sign-in succeeded.',
  'user.signed_out': 'A session or an app was signed out by its user.',
  'user.blocked': 'An account was blocked.',
  'user.unblocked': 'An account was let in again.',
  'user.role_changed': 'An account was given another role.',
  'sign_in.failed': 'A sign-in failed; the code says why.',
  'identity.linked': 'An identity was linked to an account.',
  'identity.unlinked': 'An identity was unlinked from an account.',
  'identity.link_failed': 'An identity could not be linked; the code says why.',
  'identity.unlink_failed': 'An identity could not be unlinked; the code says why.',
  'identity.issuer_moved': 'The identities of a provider were bound to another issuer, since it moved.',
  'session.revoked': 'A session was ended from elsewhere.',
  'tokens.revoked': "An app's tokens were ended, by somebody or because a used one came back.",
  'tokens.refused':
    "An app's code or refresh token was refused, since it was wrong, used, over or of another app.",
  'tokens.reused': 'A refresh token that was just used came again, from another address, and was taken.',
  'call.refused': 'A page of another site tried to change something with the cookie of a session.',
  'call.forbidden': 'A caller who is known asked for something that their role does not allow.',
  'key.created': 'An API key was made.',
  'key.revoked': 'An API key was revoked.',
  'key.refused': 'A call came with an API key that is unknown, expired or revoked.',
  'subscriber.created': 'A subscriber was registered.',
  'subscriber.changed': 'Settings of a subscriber were changed; the detail names them, without values.',
  'subscriber.paused': 'A subscriber was paused.',
  'subscriber.resumed': 'A subscriber that was paused or disabled was made active.',
  'subscriber.disabled': 'A subscriber was disabled, by a call or by the service since it did not answer.',
  'subscriber.secret_rotated': 'A subscriber got a new signing secret.',
  'subscriber.deleted': 'A subscriber was removed with its delivery log.',
  'subscriber.tested': 'A test event was sent to a subscriber.',
  'delivery.replayed': 'One delivery was sent again.',
  'replay.started': 'A job was started that sends many deliveries of a subscriber again.',
  'event.reprocessed': 'The handlers of one received event were run again.',
  'reprocess.started': 'A job was started that runs the handlers of many received events again.',
  'job.cancelled': 'A job that replays deliveries or reprocesses events was cancelled.',
  'portal.link_created': 'A link to the portal of an owner was made.',
  'portal.opened': 'A link to the portal was opened.',
  'portal.link_refused':
    'A link to the portal was refused: it is unknown or was used before, or it has expired.',
  'portal.left': 'An owner left the portal: their session ended.',
  'portal.revoked': 'All links and sessions of an owner were ended.',
  'secrets.resealed':
    'The command line sealed secrets anew under the newest POSTERN_SECRET; the detail has their number.',
  'signing_key.rotated': 'A new key for access tokens was made, which is to take over.',
  'item.created': 'A product or a post was created.',
  'item.changed': 'A product or a post was changed; the detail names the fields, without values.',
  'item.deleted': 'A product or a post was deleted.',
  'import.started': 'The command line began to import a file.',
  'import.finished': 'An import of the command line ended; the detail has the numbers of rows.',
  'list.counts_changed': 'The command line created, rebuilt or dropped the maintained counts of a list.',
  'signing_key.withdrawn': 'A key for access tokens was withdrawn: what it signed is refused.',
} as const

export type AuditAction = keyof typeof auditActions

export function isAuditAction(text: string): text is AuditAction {
  return Object.hasOwn(auditActions, text)
}
