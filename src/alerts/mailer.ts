import type { Configuration } from '../config/environment.ts'

/** Sends mail; the connection ends with each message. */
export type SendMail = (mail: { to: readonly string[]; subject: string; text: string }) => Promise<void>

/** Milliseconds for each step of the conversation with the server. */
const patience = 10_000

/**
 * Sends by SMTP_URL. With a password and a server elsewhere, TLS is required. `undefined` without SMTP_URL and MAIL_FROM.
 * The library is loaded with the first mail.
 */
export function createMailer({
  smtpUrl,
  mailFrom,
}: Pick<Configuration, 'smtpUrl' | 'mailFrom'>): SendMail | undefined {
  if (smtpUrl === undefined || mailFrom === undefined) return undefined
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const isLocal = host === 'localhost' || host === '::1' || host.startsWith('127.')
  const options = {
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
      requireTLS: !isLocal,
    }),
    connectionTimeout: patience,
    greetingTimeout: patience,
    socketTimeout: patience,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return async ({ to, subject, text }) => {
    const { createTransport } = await import('nodemailer')
    const transport = createTransport(options)
    try {
      await transport.sendMail({
        from: mailFrom,
        to: [...to],
        subject,
        text,
        // RFC 3834, section 5: no automatic answers.
        headers: { 'Auto-Submitted': 'auto-generated' },
      })
    } finally {
      transport.close()
    }
  }
}
