import { inPortal, readText, send } from './api.js'
import { refreshDrawer } from './drawer.js'
import { block, code, element, facts, fold, headerBlock, heading, link, state, time } from './elements.js'
import { subscriberName } from './subscriber-name.js'
import { button } from './work.js'

/** One delivery with its attempts, the newest first. */
export async function deliveryView(id) {
  const text = await readText(`/deliveries/${id}`)
  const delivery = JSON.parse(text)
  const name = await subscriberName(delivery.subscriberId)
  return {
    title: ['Delivery ', state(delivery.status)],
    version: text,
    content: () => [
      facts({
        event: inPortal ? delivery.eventType : link(`#events/${delivery.event}`, delivery.eventType),
        'event id': code(delivery.eventId),
        to: link(`#subscribers/${delivery.subscriberId}`, name),
        created: time(delivery.createdAt),
        finished: time(delivery.finishedAt),
        'next attempt': time(delivery.nextAttemptAt),
      }),
      element(
        'div',
        { class: 'actions' },
        button(delivery.status === 'pending' ? 'Send now' : 'Replay', async () => {
          await send('POST', `/deliveries/${id}/replay`)
          await refreshDrawer()
        }),
      ),
      heading('Attempts'),
      ...(delivery.attempts.length === 0 ? [element('p', { class: 'soft' }, 'None yet.')] : []),
      ...delivery.attempts.toReversed().map(attempt),
    ],
  }
}

function attempt(made) {
  const { number, at, status, durationMs, phases, error, advice } = made
  const { requestHeaders, responseHeaders, responseBody } = made
  const good = status !== null && status >= 200 && status < 300
  const pill = element('span', { class: `state ${good ? 'good' : 'bad'}` }, status ?? 'no answer')
  return element(
    'div',
    { class: good ? 'attempt' : 'attempt failed', 'data-key': String(number) },
    element('p', {}, `Attempt ${number} `, pill, ' ', time(at), ` · ${durationMs} ms`),
    phases ? phasesLine(phases) : undefined,
    error ? element('p', { class: 'bad' }, error) : undefined,
    advice ? element('p', { class: 'advice' }, advice) : undefined,
    responseBody ? fold('Answer', block(responseBody)) : undefined,
    responseHeaders ? fold('Headers of the answer', headerBlock(responseHeaders)) : undefined,
    fold('Headers of the request', headerBlock(requestHeaders)),
  )
}

const phaseNames = { dns: 'name', connect: 'connection', tls: 'TLS', firstByte: 'first byte' }

/** How long each part took, as a bar and in words. */
function phasesLine(phases) {
  const parts = Object.entries(phaseNames).filter(([part]) => phases[part] !== null)
  const known = parts.reduce((sum, [part]) => sum + phases[part], 0)
  const rest = Math.max(0, phases.total - known)
  const bar = element('div', { class: 'phases' })
  for (const [part, width] of [...parts.map(([part]) => [part, phases[part]]), ['rest', rest]]) {
    if (width <= 0) continue
    const piece = element('span', { class: `phase ${part}` })
    piece.style.flexGrow = String(width)
    bar.append(piece)
  }
  const words = parts.map(([part, name]) => `${name} ${phases[part]} ms`)
  if (phases.reused) words.unshift('connection reused')
  if (rest >= 0.1) words.push(`rest ${Math.round(rest * 10) / 10} ms`)
  return element('div', {}, bar, element('p', { class: 'soft small' }, words.join(' · ')))
}
