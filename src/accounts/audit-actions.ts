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
  'session.revoked': 'A session was ended from elsewhere.',
  'tokens.revoked': "An app's tokens were ended, by somebody or because a used one came back.",
  'tokens.refused':
    "An app's code or refresh token was refused, since it was wrong, used, over or of another app.",
  'tokens.reused': 'A refresh token that was just used came again, from another address, and was taken.',
  'call.refused': 'A page of another site tried to change something with the cookie of a session.',
  'key.created': 'An API key was made.',
  'key.revoked': 'An API key was revoked.',
  'portal.link_created': 'A link to the portal of an owner was made.',
  'portal.opened': 'A link to the portal was opened.',
  'portal.revoked': 'All links and sessions of an owner were ended.',
  'signing_key.rotated': 'A new key for access tokens was made, which is to take over.',
  'signing_key.withdrawn': 'A key for access tokens was withdrawn: what it signed is refused.',
} as const

export type AuditAction = keyof typeof auditActions

export function isAuditAction(text: string): text is AuditAction {
  return Object.hasOwn(auditActions, text)
}
