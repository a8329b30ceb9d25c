import type { Chance } from '../harness/chance.ts'

const oddTexts = [
  '',
  'a',
  'Grüße 😀',
  '\u0000',
  '\ud800',
  '\udfff\ud83d',
  '\u202e\ufeff',
  '__proto__',
  'constructor',
  "'; drop table events; --",
  '%00%ff',
  '../../etc/passwd',
  '${jndi:x}',
  '<script>',
  'x'.repeat(257),
]
const oddNumbers = [
  '0',
  '-0',
  '1e999',
  '-1e-999',
  '9007199254740993',
  '1'.repeat(400),
  '0.1e+30',
  'NaN',
  '01',
  '+1',
  '-',
]

/** A text that is JSON or nearly so, because much of it must fail to parse; nested up to `depth`. */
export function jsonText(chance: Chance, depth = 3): string {
  const kind = chance.below(depth > 0 ? 9 : 6)
  if (kind === 0) return chance.pick(['true', 'false', 'null', 'undefined', 'tru'])
  if (kind === 1) return chance.pick(oddNumbers)
  if (kind === 2) return String(chance.below(1_000_000))
  if (kind < 6) return JSON.stringify(chance.is(0.5) ? chance.pick(oddTexts) : 't'.repeat(chance.below(40)))
  const items = Array.from({ length: chance.below(4) }, () => jsonText(chance, depth - 1))
  if (kind === 6) return `[${items.join(chance.is(0.95) ? ',' : ',,')}]`
  const keys = ['id', 'type', 'data', 'event', 'payload', '__proto__', 'constructor', '', 'a.b']
  const field = (value: string): string => `${JSON.stringify(chance.pick(keys))}:${value}`
  // The same key twice comes by itself.
  return `{${items.map(field).join(',')}}`
}

/** What is sent beside id and type where the body is made by the sender's own signer. */
export function jsonValue(chance: Chance): unknown {
  for (let tries = 0; tries < 5; tries += 1) {
    try {
      return JSON.parse(jsonText(chance)) as unknown
    } catch {
      // Most of what is tried is no JSON, and here it has to be.
    }
  }
  return {}
}

/** A body of any bytes, often nearly an event. */
export function bodyBytes(chance: Chance, id: string): Buffer {
  const event = `{"id":${JSON.stringify(id)},"type":"fuzz.${chance.below(30)}","data":${jsonText(chance)}}`
  switch (chance.below(14)) {
    case 0:
      return Buffer.alloc(0)
    case 1:
      return chance.bytes(chance.length())
    case 2:
      return Buffer.from(jsonText(chance, 6))
    case 3:
      return Buffer.from(chance.pick(['[', '{"a":', '[{"id":']).repeat(1 + chance.below(9_000)))
    case 4:
      return Buffer.from(`{"id":${jsonText(chance, 1)},"type":${jsonText(chance, 1)}}`)
    case 5:
      return Buffer.from(`${event}${jsonText(chance, 1)}`)
    case 6:
      return flipped(chance, Buffer.from(event))
    case 7:
      return Buffer.from(event, chance.pick(['utf16le', 'latin1']))
    case 8:
      return Buffer.from(`\ufeff${event}`)
    case 9:
      // Around the limit of a body.
      return Buffer.from(event.padEnd(65_536 + chance.below(3) - 1 + (chance.is(0.2) ? 40_000 : 0)))
    case 10:
      return Buffer.from(`id=${id}&type=x&payload=${encodeURIComponent(jsonText(chance))}&a=%ff&=&&`)
    default:
      return Buffer.from(event)
  }
}

/** A few bytes changed, taken away or put in. */
export function flipped(chance: Chance, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  if (copy.length === 0) return copy
  const at = chance.below(copy.length)
  switch (chance.below(4)) {
    case 0:
      copy[at] = chance.below(256)
      return copy
    case 1:
      return copy.subarray(0, at)
    case 2:
      return Buffer.concat([copy.subarray(0, at), chance.bytes(1 + chance.below(4)), copy.subarray(at)])
    default:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(at + 1 + chance.below(3))])
  }
}
