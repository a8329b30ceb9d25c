import { readText } from './api.js'
import { notice, refreshDrawer } from './drawer.js'
import {
  block,
  code,
  element,
  facts,
  fold,
  headerBlock,
  heading,
  keyed,
  link,
  row,
  state,
  table,
  time,
  cell,
} from './elements.js'
import { indented, lastMember } from './json-text.js'
import { canRun, dryRun, runNow } from './run-again.js'
import { isAdmin } from './session.js'
import { subscriberName } from './subscriber-name.js'
import { button } from './work.js'

/** One event: what it holds, how it was processed, and to whom it was delivered. */
export async function eventView(id) {
  const text = await readText(`/events/${id}`)
  const event = JSON.parse(text)
  const names = await Promise.all(event.deliveries.map(({ subscriberId }) => subscriberName(subscriberId)))
  return {
    title: [event.type, state(event.status)],
    version: text,
    content: () => [
      facts({
        number: String(event.id),
        'event id': code(event.eventId),
        [event.direction]: time(event.createdAt),
        source: event.source,
        'content type': event.contentType,
        verified: verified(event.verification),
        'caused by': event.causedBy
          ? link(`#events/${event.causedBy}`, `event ${event.causedBy}`)
          : undefined,
      }),
      ...(event.processing ? processing(event) : []),
      ...(event.emitted.length > 0 ? emitted(event.emitted) : []),
      ...(event.direction === 'emitted' ? deliveries(event.deliveries, names) : []),
      heading('Payload'),
      block(payloadOf(text, event)),
      ...asItCame(text, event),
      ...(event.headers ? [fold('Headers', headerBlock(event.headers))] : []),
    ],
  }
}

function verified(verification) {
  if (!verification) return undefined
  const { scheme, secret, signedAt } = verification
  const parts = [`by ${scheme}`, secret && `with secret ${secret}`].filter(Boolean).join(' ')
  return signedAt ? element('span', {}, `${parts}, signed at `, time(signedAt)) : parts
}

function emitted(list) {
  const rows = list.map(({ id, eventId, type }) =>
    keyed(
      String(id),
      row(cell('main', link(`#events/${id}`, type ?? 'no longer kept')), cell('id', code(eventId))),
    ),
  )
  return [heading('Emitted'), table(['type', 'event id'], ...rows)]
}

/** The bytes are shown with line breaks of their own where that is easier to read. */
function asItCame(text, event) {
  const raw = lastMember(text, 'payload')
  return raw === undefined || raw === payloadOf(text, event) ? [] : [fold('Raw body', block(raw))]
}

function payloadOf(text, { payloadBase64 }) {
  if (payloadBase64 !== undefined) return `${payloadBase64}\n\n(no JSON: its bytes in base64)`
  return indented(lastMember(text, 'payload') ?? '')
}

function runButtons(event) {
  const now = button(
    'Run now',
    async () => {
      await runNow(event.id)
      await refreshDrawer()
    },
    'primary',
  )
  const dry = button('Dry run', async () => {
    const result = await dryRun(event)
    if (result) notice(result)
  })
  return element('div', { class: 'actions' }, now, dry)
}

function processing(event) {
  const { attempts, processedAt, nextAttemptAt, failures } = event.processing
  return [
    heading('Processing'),
    attempts === 0 && processedAt
      ? element('p', { class: 'soft' }, 'No handler is declared for it: it was recorded.')
      : '',
    facts({
      attempts: attempts > 0 ? String(attempts) : '',
      processed: time(processedAt),
      'next attempt': time(nextAttemptAt),
    }),
    isAdmin && canRun(event) ? runButtons(event) : '',
    ...failures
      .toReversed()
      .map(({ number, at, durationMs, error }) =>
        element(
          'div',
          { class: 'attempt', 'data-key': String(number) },
          element('p', {}, `Attempt ${number} `, state('failed'), ' ', time(at), ` · ${durationMs} ms`),
          block(error),
        ),
      ),
  ]
}

function deliveries(list, names) {
  if (list.length === 0) return [element('p', { class: 'soft' }, 'No subscriber was to get it.')]
  const rows = list.map((delivery, index) =>
    keyed(
      String(delivery.id),
      row(
        cell('main', isAdmin ? link(`#deliveries/${delivery.id}`, names[index]) : names[index]),
        cell('side', state(delivery.status)),
        attemptsOf(delivery),
      ),
    ),
  )
  return [heading('Deliveries'), table(['to', 'status', 'attempts'], ...rows)]
}

/** How many attempts there were, and what the newest met. */
export function attemptsOf({
  attempts,
  attemptCount = attempts,
  lastStatus,
  lastError,
  nextAttemptAt,
  status,
}) {
  const number = `${attemptCount} attempt${attemptCount === 1 ? '' : 's'}`
  const failed = status !== 'delivered' && attemptCount > 0
  const reason = failed ? (lastError ?? (lastStatus ? `status ${lastStatus}` : undefined)) : undefined
  return element(
    'span',
    {},
    number,
    reason && ' · ',
    reason && element('span', { class: 'bad' }, reason),
    nextAttemptAt && attemptCount > 0 ? ' · next ' : undefined,
    attemptCount > 0 ? time(nextAttemptAt) : undefined,
  )
}
