import { adminKey } from '../harness/postern.ts'

/** In no body of the filled tables. */
const absent = 'this text is in no body'

interface End {
  type: string
  reason: string
  scanned: number
}

/** Searches all bodies for a text that none has, and returns the events a second. */
export async function measureBodySearch(port: number): Promise<number> {
  const query = new URLSearchParams({ text: absent })
  const began = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}/events/search?${query.toString()}`, {
    headers: { authorization: `Bearer ${adminKey}` },
  })
  const lines = (await response.text()).trim().split('\n')
  const seconds = (performance.now() - began) / 1_000
  const end = JSON.parse(lines.at(-1)!) as End
  if (end.type !== 'end' || end.reason !== 'complete' || lines.some((line) => line.includes('"match"')))
    throw new Error(`the search of bodies ended with ${lines.at(-1)!}`)
  return end.scanned / seconds
}
