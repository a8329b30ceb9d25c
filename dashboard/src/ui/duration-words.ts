const units: readonly [name: string, seconds: number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

/** `604800` as `7 days`: in the largest unit that has no rest. */
export function durationInWords(seconds: number): string {
  const [unit, size] = units.find(([, size]) => seconds >= size && seconds % size === 0) ?? ['second', 1]
  return counted(seconds / size, unit)
}

/** How long something has lasted, in its largest unit: `7 minutes`. */
export function elapsedInWords(since: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(since)) / 1000)
  const [unit, size] = units.find(([, size]) => seconds >= size) ?? ['second', 1]
  return counted(Math.floor(seconds / size), unit)
}

/** A retry schedule such as `0,5,300`, seconds before each attempt: what happens when. */
export function scheduleInWords(schedule: string): string {
  const [first = 0, ...waits] = schedule.split(',').map(Number)
  const begin = first === 0 ? 'Immediately' : `After ${durationInWords(first)}`
  if (waits.length === 0) return `${begin}. No retries.`
  return `${begin}, then ${waits.length === 1 ? 'once more' : 'again'} after ${waits.map(durationInWords).join(', ')}. ${waits.length + 1} attempts.`
}
