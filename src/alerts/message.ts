import { isoTime } from '../runtime/iso-time.ts'

/** One condition in a message. */
export interface Line {
  text: string
  /** Milliseconds since 1970; null if unknown. */
  since: number | null
  /** The path of the page that shows it. */
  path: string
  /** What it is about, as `AlertStatesTable.condition`; absent in a test, and in messages of earlier versions. */
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
export function shownLines({ lines }: Message): { shown: readonly Line[]; rest: string | undefined } {
  const left = lines.length - mostLines
  return {
    shown: lines.slice(0, mostLines),
    rest: left > 0 ? `${left} more on the dashboard.` : undefined,
  }
}

/** `Started 2026-03-01 12:00 UTC`; empty if that is unknown. */
export function startedInWords({ since }: Line): string {
  return since === null ? '' : `Started ${isoTime(since).slice(0, 16).replace('T', ' ')} UTC`
}
