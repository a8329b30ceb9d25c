import { errorOf, type OutboundAgent } from '../network/exchange.ts'
import { isoTime } from '../runtime/iso-time.ts'
import type { Configuration } from '../config/environment.ts'
import { type Keyring, sealedColumns } from '../crypto/keyring.ts'
import { invalidBody, Problem } from '../errors.ts'
import { type Egress, faultOfDestination } from '../network/egress.ts'
import type { Row } from '../storage/tables.ts'

/** One condition in a message. */
export interface Line {
  text: string
  /** Milliseconds since 1970; null if unknown. */
  since: number | null
  /** The path of the page that shows it. */
  path: string
  /** What it is about, as `condition` of `alert_states`; absent in a test, and in messages of earlier versions. */
  condition?: string
}

export type MessageKind = 'opened' | 'repeated' | 'resolved' | 'test'

/** A message for people. */
export interface Message {
  what: MessageKind
  subject: string
  lines: readonly Line[]
}

/** Lines of one message; more are counted. */
const mostLines = 20
const longestSubject = 150
const opening: Record<MessageKind, string> = {
  opened: '',
  repeated: 'Still open: ',
  resolved: 'Resolved: ',
  test: '',
}

/** The subject names the first condition and the number of the others. */
export function subjectOf(what: MessageKind, lines: readonly Pick<Line, 'text'>[]): string {
  const more = lines.length > 1 ? ` (and ${lines.length - 1} more)` : ''
  const room = longestSubject - opening[what].length - more.length
  const first = (lines[0]?.text ?? '').replaceAll(/\s+/g, ' ')
  const text = first.length > room ? `${first.slice(0, room - 1).toWellFormed()}…` : first
  return opening[what] + text + more
}

/** The lines that are written out, and a sentence about the rest. */
function shownLines({ lines }: Message): { shown: readonly Line[]; rest: string | undefined } {
  const left = lines.length - mostLines
  return {
    shown: lines.slice(0, mostLines),
    rest: left > 0 ? `${left} more on the dashboard.` : undefined,
  }
}

/** `Started 2026-03-01 12:00 UTC`; empty if that is unknown. */
function startedInWords({ since }: Line): string {
  return since === null ? '' : `Started ${isoTime(since).slice(0, 16).replace('T', ' ')} UTC`
}

/** Joins the texts that there are. */
const joined = (separator: string, ...texts: readonly (string | undefined)[]): string =>
  texts.filter(Boolean).join(separator)

/** The receiver refused the message, and would refuse it again. */
export class Refused extends Error {}

/** Milliseconds for one request. */
const patience = 15_000
/** Bytes of an answer that are read for the error. */
const answerLimit = 1_024
const longestAnswer = 120

/** Sends one message. @throws Refused if another attempt is of no use; other errors may pass */
export type Deliver = (target: Target, message: Message) => Promise<void>

export function createDeliver(agent: OutboundAgent, mail: SendMail | undefined, sender: Sender): Deliver {
  return async (target, message) => {
    if (target.kind !== 'email') return post(agent, target.url, webhookFormats[target.kind](message, sender))
    if (!mail) throw new Refused('SMTP_URL and MAIL_FROM are not set')
    await mail({ to: target.to, ...mailOf(message, sender) })
  }
}

async function post(agent: OutboundAgent, address: string, body: object): Promise<void> {
  const { origin, pathname, search } = new URL(address)
  const exchange = agent.exchange({
    origin,
    path: pathname + search,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'postern' },
    body: Buffer.from(JSON.stringify(body)),
    responseLimit: answerLimit,
  })
  const timer = setTimeout(
    () => exchange.cut(new Error(`no response within ${patience / 1000} seconds`)),
    patience,
  )
  const outcome = await exchange.ended.finally(() => clearTimeout(timer))
  const { status, body: answer } = outcome
  if (outcome.error !== undefined || status === null) throw errorOf(outcome)
  if (status >= 200 && status < 300) return
  const said = (answer?.toString('utf8') ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, longestAnswer)
  const text = `it returned HTTP ${status}${said === '' ? '' : `: ${said}`}`
  const mayPass = status >= 500 || status === 408 || status === 429
  throw mayPass ? new Error(text) : new Refused(text)
}

/** The installation that sends alerts. */
interface Sender {
  /** Its name and host, such as `Postern (gate.example.com)`. */
  readonly name: string
  /** Makes the address of a page from its path. */
  readonly link: (path: string) => string
}
type Format = (message: Message, sender: Sender) => object

const overview = '/dashboard/alerts'

/**
 * Texts of alerts quote customers, who must not make operators follow a link, or write markup. These functions make such a text inert,
 * for each channel in its own way; every text of a message passes through one of them.
 */
const inert = {
  /** Programs make links of addresses that nobody marked. A zero-width space within one prevents that, and is not seen. */
  plain: (text: string): string =>
    text.replaceAll(/\s+/g, ' ').replaceAll(/:(?=\/\/)|[.@](?=\p{L})/gu, '$&\u200b'),

  /**
   * mrkdwn has no escapes for its markup, so similar characters replace it; an underscore within a word is no markup. `](` makes a link
   * in chats that take Slack's format and read Markdown, such as Mattermost.
   * https://docs.slack.dev/messaging/formatting-message-text
   */
  slack: (text: string): string =>
    inert
      .plain(text)
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('*', '∗')
      .replaceAll('~', '∼')
      .replaceAll('`', 'ˋ')
      .replaceAll('](', '] (')
      .replaceAll(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, 'ˍ'),

  /** Discord makes links only of addresses with a scheme. A backslash before a character makes it a character. */
  discord: (text: string): string =>
    text.replaceAll(/\s+/g, ' ').replaceAll(/[\\*_~`|<>[\]()#:/@-]/g, String.raw`\$&`),
} as const

/**
 * Slack: `text` in mrkdwn. `unfurl_links` is off, because a preview of the dashboard would be its sign-in page.
 */
const slack: Format = (message, { name, link }) => {
  const { shown, rest } = shownLines(message)
  const lines = shown.map((line) =>
    joined(' — ', `• ${inert.slack(line.text)}`, startedInWords(line), `<${link(line.path)}|View details>`),
  )
  const text = joined('\n', `*${inert.slack(message.subject)}*`, ...lines, rest, inert.slack(name))
  return { text, unfurl_links: false, unfurl_media: false }
}

/** Of Discord's 24-bit colours. */
const colours = { opened: 0xd9_2d_20, repeated: 0xd9_2d_20, resolved: 0x17_8a_50, test: 0x47_5a_8a } as const
/** Characters (https://docs.discord.com/developers/resources/message#embed-object-embed-limits). */
const discordLimits = { title: 256, description: 4_096 }

/**
 * Discord: one embed. `allowed_mentions` with an empty list mentions nobody, whatever the text says
 * (https://docs.discord.com/developers/resources/webhook#execute-webhook).
 */
const discord: Format = (message, { name, link }) => {
  const { shown, rest } = shownLines(message)
  const lines = shown.map((line) =>
    joined(
      ' — ',
      `- ${inert.discord(line.text)}`,
      startedInWords(line),
      `[View details](${link(line.path)})`,
    ),
  )
  const embed = {
    title: cut(inert.discord(message.subject), discordLimits.title),
    url: link(overview),
    color: colours[message.what],
    description: cut(joined('\n', ...lines, rest), discordLimits.description),
    footer: { text: name },
  }
  return { embeds: [embed], allowed_mentions: { parse: [] } }
}

/** Cuts a text, but not between a backslash and its character. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text
  let end = most
  while (text[end - 1] === '\\') end -= 1
  return text.slice(0, end).toWellFormed()
}

/**
 * Microsoft Teams: a message with an Adaptive Card, which Workflows ("When a Teams webhook request is received") take
 * (https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using). Its texts quote tenants, so they
 * are a RichTextBlock, whose runs are shown as they are: a TextBlock reads Markdown, links included.
 */
const teams: Format = (message, { name, link }) => {
  const { shown, rest } = shownLines(message)
  const block = (text: string, more: object = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...more }],
  })
  const lines = shown.map((line) => block(joined(' — ', inert.plain(line.text), startedInWords(line))))
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      block(inert.plain(message.subject), { weight: 'bolder', size: 'medium' }),
      ...lines,
      ...(rest === undefined ? [] : [block(rest)]),
      block(inert.plain(name), { isSubtle: true, size: 'small' }),
    ],
    actions: [
      {
        type: 'Action.OpenUrl',
        title: 'View details',
        url: link(shown.length === 1 ? shown[0]!.path : overview),
      },
    ],
  }
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }
  return { type: 'message', attachments: [attachment] }
}

/** The body of the request to an incoming webhook. */
export const webhookFormats = { slack, discord, teams } as const

/** A mail in plain text. */
export function mailOf(message: Message, { name, link }: Sender): { subject: string; text: string } {
  const { shown, rest } = shownLines(message)
  const blocks = shown.map((line) =>
    joined('\n', `${inert.plain(line.text)}.`, startedInWords(line), `Details: ${link(line.path)}`),
  )
  const foot = `Sent by ${name}\nAlert settings: ${link(overview)}`
  return {
    subject: `[${name}] ${inert.plain(message.subject)}`,
    text: `${joined('\n\n', ...blocks, rest, foot)}\n`,
  }
}

/** Sends mail; the connection ends with each message. */
type SendMail = (mail: { to: readonly string[]; subject: string; text: string }) => Promise<void>

/** Milliseconds for each step of the conversation with the server. */
const smtpPatience = 10_000

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
    connectionTimeout: smtpPatience,
    greetingTimeout: smtpPatience,
    socketTimeout: smtpPatience,
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

/** Where a destination's messages go. */
export type Target = { kind: 'email'; to: string[] } | { kind: 'slack' | 'discord' | 'teams'; url: string }

const { context } = sealedColumns.alertTarget

export function sealTarget(keyring: Keyring, id: string, target: Target): Buffer {
  const { kind: _kind, ...rest } = target
  return keyring.seal(JSON.stringify(rest), context({ id }))
}

export function openTarget(
  keyring: Keyring,
  { id, kind, target }: Pick<Row<'alert_destinations'>, 'id' | 'kind' | 'target'>,
): Target {
  const rest = JSON.parse(keyring.open(target, context({ id })).toString()) as object
  return { kind, ...rest } as Target
}

/**
 * The target of a request's body.
 * @throws Problem `invalid-body` for an address of the wrong form, or one that must not be called
 */
export function readTarget(
  kind: Row<'alert_destinations'>['kind'],
  { url, to }: { url?: string | undefined; to?: string[] | undefined },
  { egress, hasMail }: { egress: Egress; hasMail: boolean },
): Target {
  if (kind === 'email') {
    if (!to || url !== undefined) throw invalidBody('/to', 'An e-mail destination needs `to`, and no `url`.')
    if (!hasMail)
      throw new Problem('unprocessable', { detail: 'E-mail needs the settings SMTP_URL and MAIL_FROM.' })
    return { kind, to }
  }
  if (url === undefined || to) throw invalidBody('/url', 'This destination needs `url`, and no `to`.')
  const fault = faultOfDestination(url, egress)
  if (fault !== undefined) throw invalidBody('/url', fault)
  return { kind, url }
}
