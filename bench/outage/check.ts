import pg from 'pg'
import { Bits } from './bits.ts'
import { numberOf, type Checked } from './messages.ts'

/** Rows that are read at once. */
const page = 20_000
/** Of what was lost, so many numbers are told. */
const mostExamples = 10

const statements = {
  events: `select id, event_id from events where direction = 'received' and id > $1 order by id limit ${page}`,
  effects: `select id, event_id from orders where id > $1 order by id limit ${page}`,
}

/**
 * Compares what was acknowledged with the events and the effects in a database.
 * @param counts how many were sent: their numbers are below.
 */
export async function check(
  { databaseUrl, handled }: { databaseUrl: string; handled: boolean },
  acknowledged: Bits,
  counts: { sent: number; acknowledged: number },
): Promise<Checked> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const events = await read(client, statements.events)
    const effects = handled ? await read(client, statements.effects) : undefined
    const examples: number[] = []
    let [lostEvents, lostEffects] = [0, 0]
    for (let number = 0; number < counts.sent; number += 1) {
      if (!acknowledged.has(number)) continue
      const [noEvent, noEffect] = [!events.found.has(number), effects && !effects.found.has(number)]
      if (noEvent) lostEvents += 1
      if (noEffect) lostEffects += 1
      if ((noEvent || noEffect) && examples.length < mostExamples) examples.push(number)
    }
    return {
      acknowledged: counts.acknowledged,
      lostEvents,
      lostEffects,
      doubledEvents: events.doubled,
      doubledEffects: effects?.doubled ?? 0,
      examples,
    }
  } finally {
    await client.end()
  }
}

async function read(client: pg.Client, statement: string): Promise<{ found: Bits; doubled: number }> {
  const found = new Bits()
  let doubled = 0
  for (let after = '0'; ;) {
    const { rows } = await client.query<{ id: string; event_id: string }>(statement, [after])
    for (const { event_id } of rows) if (!found.add(numberOf(event_id))) doubled += 1
    if (rows.length < page) return { found, doubled }
    after = rows.at(-1)!.id
  }
}
