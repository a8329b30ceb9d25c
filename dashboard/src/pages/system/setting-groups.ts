import { durationInWords, scheduleInWords } from '../../ui/duration-words.ts'

/** The sections of the settings page. A setting belongs to the first whose pattern its name matches. */
const groups: readonly [title: string, pattern: RegExp][] = [
  ['Retention', /RETENTION/],
  ['Webhooks in and handlers', /^(?:WEBHOOK_|HANDLER_|INBOX_|SPOOL_)/],
  ['Webhooks out', /^(?:EMIT_|ALLOW_PRIVATE_NETWORK)/],
  ['Sign-in and sessions', /^(?:SESSION|RECENT_SIGN_IN|SIGNING_KEY|CLIENT_REGISTRATION)/],
  ['Administrators and audit log', /^(?:ADMIN_|AUDIT_|IMPERSONATION)/],
  ['Pages and branding', /^(?:BRAND_|PORTAL_|API_DOCS|CORS_)/],
  ['Email', /^(?:SMTP_|MAIL_)/],
  ['Database', /^DATABASE_/],
  [
    'Service',
    /^(?:NODE_ENV|HOST|PORT|BASE_URL|POSTERN_SECRET|POSTERN_CONFIG|RATE_LIMIT|TRUSTED_PROXIES|SHUTDOWN_DELAY|LOG_)/,
  ],
]
const others = 'Identity providers and others'

export const groupTitles: readonly string[] = [...groups.map(([title]) => title), others]

export const groupOf = (name: string): string =>
  groups.find(([, pattern]) => pattern.test(name))?.[0] ?? others

const schedules = new Set(['EMIT_RETRY_SCHEDULE', 'HANDLER_RETRY_SCHEDULE'])
const inSeconds = new Set([
  'DATABASE_REPLICA_MAX_AGE',
  'EMIT_TIMEOUT',
  'HANDLER_TIMEOUT',
  'HANDLER_TRANSACTION_TIMEOUT',
  'INBOX_MAX_AGE',
  'SHUTDOWN_DELAY',
  'SESSION_IDLE',
  'SESSION_LIFETIME',
  'SIGNING_KEY_ROTATION',
  'RECENT_SIGN_IN',
  'AUDIT_RETENTION',
])

/** A value in words where it is a time: `604800` as `7 days`. Undefined for all others. */
export function valueInWords(name: string, value: string): string | undefined {
  if (schedules.has(name)) return scheduleInWords(value)
  const isDays = name.endsWith('_DAYS')
  if (!isDays && !inSeconds.has(name)) return undefined
  if (!/^[\d.]+$/.test(value)) return undefined
  return durationInWords(Number(value) * (isDays ? 86_400 : 1))
}
