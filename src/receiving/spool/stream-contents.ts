import type { JetStreamManager } from '@nats-io/jetstream'

/** The subjects of a stream: events, by their number in a message, and those that were set aside. */
export const subjectsOf = (stream: string) => ({
  events: (count: number | '*'): string => `${stream}.events.${count}`,
  aside: `${stream}.aside`,
})

export interface StreamContents {
  /** Waiting messages, and the events in them. */
  readonly messages: number
  readonly events: number
  /** When the oldest of them was stored, in milliseconds since 1970. */
  readonly oldest: number | undefined
  /** Events that the database refused. */
  readonly setAside: number
  /** Of the whole stream. */
  readonly bytes: number
}

/** The contents of a stream. The subjects contain the number of events in a message. */
export async function contentsOf(manager: JetStreamManager, stream: string): Promise<StreamContents> {
  const { state } = await manager.streams.info(stream, { subjects_filter: subjectsOf(stream).events('*') })
  let [events, messages] = [0, 0]
  for (const [subject, count] of Object.entries(state.subjects ?? {})) {
    messages += count
    events += count * countOf(subject)
  }
  const setAside = state.messages - messages
  let oldest: number | undefined
  if (messages > 0) {
    const first = setAside === 0 ? undefined : await firstEvent(manager, stream, state.first_seq)
    oldest = first ?? Date.parse(state.first_ts)
  }
  return { messages, events, oldest, setAside, bytes: state.bytes }
}

/** Other programs may have written subjects, too: what is no count of this service is taken for 1. */
function countOf(subject: string): number {
  const text = subject.slice(subject.lastIndexOf('.') + 1)
  return /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 1
}

/** When the first event was stored, if messages that were set aside precede it. */
async function firstEvent(
  manager: JetStreamManager,
  stream: string,
  seq: number,
): Promise<number | undefined> {
  const next = { seq, next_by_subj: subjectsOf(stream).events('*') }
  return (await manager.streams.getMessage(stream, next))?.time.getTime()
}
