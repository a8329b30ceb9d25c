import { Sums } from '../../runtime/delayed-writes.ts'
import type { Tx } from '../../storage/database.ts'
import { type Activity, type Companion, laterOf } from '../activity.ts'
import { createHash } from 'node:crypto'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

/** Groups that this process has stored, of which it need not insert the row. */
const mostKnown = 2_000

interface Waiting {
  readonly group: Fingerprint
  count: number
  firstAt: number
  lastAt: number
}

/**
 * Counts failures by their groups. The first failure of a group inserts its row in the transaction that records the failure; counts and
 * times follow once a second, so that many failures at once do not wait for one row (docs/adr/0045-failure-groups.md).
 */
export class FailureGroups implements Companion {
  readonly #activity: Activity
  readonly #retention: number
  readonly #known = new Set<string>()
  readonly #waiting = new Sums<Waiting>(
    ({ group }) => group.id,
    (known, { count, firstAt, lastAt }) => {
      known.count += count
      known.firstAt = Math.min(known.firstAt, firstAt)
      known.lastAt = Math.max(known.lastAt, lastAt)
    },
  )
  #written: readonly Waiting[] = []

  /** @param retention milliseconds after the last failure; Infinity: for ever */
  constructor(activity: Activity, retention: number) {
    this.#activity = activity
    this.#retention = retention
    activity.join(this)
  }

  /** Makes sure that the group of a failure is stored when the transaction commits. Returns it. */
  async enter(tx: Tx, handler: string, error: unknown, now: number): Promise<Fingerprint> {
    const group = fingerprintOf(handler, error)
    if (!this.#known.has(group.id))
      await tx
        .insertInto('failure_groups')
        .values({ ...group, first_at: now, last_at: now, count: 0 })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute()
    return group
  }

  /** Counts a failure whose transaction has committed. */
  count(group: Fingerprint, now: number): void {
    if (this.#known.size >= mostKnown) this.#known.clear()
    this.#known.add(group.id)
    this.#activity.of('failure', group.id, 'failed').add()
    this.#waiting.add({ group, count: 1, firstAt: now, lastAt: now })
    this.#activity.schedule()
  }

  get pending(): boolean {
    return this.#waiting.size > 0
  }

  async write(tx: Tx): Promise<void> {
    this.#written = this.#waiting.drain()
    for (const one of this.#written) await addToGroup(tx, one)
  }

  undo(): void {
    for (const one of this.#written) this.#waiting.add(one)
    this.#written = []
  }

  async purge(tx: Tx, now: number): Promise<void> {
    if (this.#retention === Infinity) return
    await tx
      .deleteFrom('failure_groups')
      .where('last_at', '<', now - this.#retention)
      .execute()
    this.#known.clear()
  }
}

async function addToGroup(tx: Tx, { group, count, firstAt, lastAt }: Waiting): Promise<void> {
  await tx
    .insertInto('failure_groups')
    .values({ ...group, first_at: firstAt, last_at: lastAt, count })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((eb) => ({
        count: eb('failure_groups.count', '+', count),
        last_at: laterOf('failure_groups.last_at'),
      })),
    )
    .execute()
}

/** What failures of one group have in common. */
export interface Fingerprint {
  /** 24 hexadecimal digits. */
  readonly id: string
  readonly handler: string
  readonly name: string
  /** The first line of the message, with the parts masked that differ between failures. */
  readonly message: string
  /** The function and file of the first stack frame of the user's own code. */
  readonly frame: string | null
}

const longest = { name: 100, message: 300, frame: 300 }

/** The sources of this program. In a package they are below node_modules. */
const own = dirname(dirname(import.meta.dirname))

/** Texts in quotes that stand alone: an apostrophe within a word begins none. */
const quoted = /(?<!\w)(?:"[^"]*"|'[^']*'|`[^`]*`|“[^“”]*”)(?!\w)/g
/** Words with a digit: numbers, times, and ids such as `in_1Abc` or UUIDs. */
const withDigit = /(?<![\w-])[A-Za-z_-]*\d[\w-]*(?:[.:]\d[\w-]*)*/g

/** Replaces what differs between failures with the same cause: quoted texts, numbers and ids. */
export function maskMessage(message: string): string {
  const [line = ''] = message.split('\n', 1)
  return cut(line.slice(0, 2_000).replace(quoted, '“…”').replace(withDigit, '…').trim(), longest.message)
}

/**
 * The group of a failure: handler, name of the error, masked message, first own stack frame without its line, so that an edit of the
 * file does not begin a new group.
 */
export function fingerprintOf(handler: string, error: unknown): Fingerprint {
  const read = readError(error)
  const name = cut(read.name, longest.name)
  const message = maskMessage(read.message)
  const frame = ownFrame(read.stack)
  const id = createHash('sha256')
    .update(JSON.stringify([handler, name, message, frame]))
    .digest('hex')
    .slice(0, 24)
  return { id, handler, name, message, frame }
}

/** Libraries throw errors whose fields are of any type, or cannot be read. */
function readError(error: unknown): Readonly<Record<'name' | 'message' | 'stack', string>> {
  try {
    if (!(error instanceof Error)) return { name: typeof error, message: asText(error), stack: '' }
    const { name, message, stack } = error as Partial<Record<'name' | 'message' | 'stack', unknown>>
    return { name: asText(name || 'Error'), message: asText(message ?? ''), stack: asText(stack ?? '') }
  } catch {
    return { name: 'Error', message: 'the error cannot be read', stack: '' }
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value, { depth: 1, breakLength: Infinity })
}

function ownFrame(stack: string): string | null {
  for (const line of stack.split('\n').slice(1)) {
    const found = /^\s+at (?:async )?(?:(.*?) \()?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):\d+:\d+\)?$/.exec(
      line,
    )
    if (!found) continue
    const [, name, place = ''] = found
    const path = place.startsWith('file:') ? pathOf(place) : place
    if (path.includes('node_modules') || path.startsWith(own)) continue
    const file = relative(process.cwd(), path)
    return cut(name === undefined ? file : `${name} (${file})`, longest.frame)
  }
  return null
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    return url
  }
}

/** The text as both engines can store it. */
function cut(text: string, length: number): string {
  const whole = text.replaceAll('\0', '')
  return (whole.length <= length ? whole : `${whole.slice(0, length - 1)}…`).toWellFormed()
}
