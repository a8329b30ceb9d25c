// How the attempts to one subscriber went in the last seven days: a bar for every six hours, and a sentence.
import { readText } from './api.js'
import { element } from './elements.js'

const hour = 3_600_000
const [perBar, bars] = [6 * hour, 28]
const [barWidth, gap, height] = [10, 2, 56]
const width = bars * (barWidth + gap)

const svg = (name, attributes, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children)
  return made
}

/** What the chart shows, and a text that changes only when that does. */
export async function readHealth(id) {
  const health = JSON.parse(await readText(`/subscribers/${id}/health`))
  return { health, version: JSON.stringify(health.hours) }
}

export function healthChart(health) {
  const { delivered, failed, successRate, p50, p99 } = health
  if (successRate === null) return element('p', { class: 'soft' }, 'No attempt in the last seven days.')
  // Never rounded up to all of them.
  const share = `${Math.floor(successRate * 1000) / 10} %`
  const words = `${share} of ${(delivered + failed).toLocaleString()} attempts in seven days succeeded; half within ${duration(p50)}, 99 of 100 within ${duration(p99)}.`
  return element('figure', { class: 'health' }, chart(health.hours, words), element('figcaption', {}, words))
}

function chart(hours, words) {
  const end = Math.ceil(Date.now() / perBar) * perBar
  const begin = end - bars * perBar
  const slots = Array.from({ length: bars }, (_, index) => ({
    from: begin + index * perBar,
    delivered: 0,
    failed: 0,
  }))
  for (const { hour: at, delivered, failed } of hours) {
    const slot = slots[Math.floor((Date.parse(at) - begin) / perBar)]
    if (!slot) continue
    slot.delivered += delivered
    slot.failed += failed
  }
  const most = Math.max(...slots.map(({ delivered, failed }) => delivered + failed), 1)
  const drawn = svg('svg', {
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': words,
  })
  drawn.append(...slots.map((slot, index) => bar(slot, index * (barWidth + gap), most)))
  return drawn
}

function bar({ from, delivered, failed }, x, most) {
  const scale = (count) => (count === 0 ? 0 : Math.max(2, (count / most) * height))
  const [good, bad] = [scale(delivered), scale(failed)]
  // Together never higher than the chart.
  const shrink = Math.min(1, height / Math.max(good + bad, 1))
  const piece = (kind, above, high) =>
    svg('rect', { class: kind, x, width: barWidth, y: height - above - high, height: high })
  const label = `${new Date(from).toLocaleString(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' })}: ${delivered} succeeded, ${failed} failed`
  return svg(
    'g',
    {},
    svg('title', {}, label),
    svg('rect', { class: 'none', x, width: barWidth, y: 0, height }),
    piece('good', 0, good * shrink),
    piece('bad', good * shrink, bad * shrink),
  )
}

const duration = (ms) => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`)
