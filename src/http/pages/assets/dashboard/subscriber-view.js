import { inPortal, readText, send } from './api.js'
import { refreshDrawer } from './drawer.js'
import {
  code,
  cell,
  element,
  facts,
  fold,
  heading,
  keyed,
  link,
  row,
  state,
  table,
  time,
} from './elements.js'
import { attemptsOf } from './event-view.js'
import { healthChart, readHealth } from './health-chart.js'
import { showKeys } from './keys.js'
import { replayPanel } from './replay-form.js'
import { showSubscribers, subscriberState } from './subscribers.js'
import { on } from './update.js'
import { button, confirmedButton, guarded } from './work.js'

/** One subscriber: what it gets, what became of it, and what can be done about it. */
export async function subscriberView(id) {
  const [about, list, { health, version }] = await Promise.all([
    readText(`/subscribers/${id}`),
    readText(`/subscribers/${id}/deliveries?limit=50`),
    readHealth(id),
  ])
  const subscriber = JSON.parse(about)
  const { data, pageInfo } = JSON.parse(list)
  return {
    title: [inPortal ? 'Endpoint ' : 'Subscriber ', subscriberState(subscriber)],
    version: about + list + version,
    content: () => [
      warning(subscriber),
      facts({
        address: code(subscriber.url),
        description: subscriber.description,
        owner: inPortal ? undefined : subscriber.owner,
        'event types': subscriber.eventTypes.join(', '),
        conditions: conditions(subscriber),
        signatures: subscriber.signing === 'both' ? 'v1 and v1a' : subscriber.signing,
        'public key': subscriber.publicKeys[0] && code(subscriber.publicKeys[0]),
        since: time(subscriber.createdAt),
      }),
      actions(subscriber),
      fold('Change', changes(subscriber)),
      replayPanel(id),
      heading('Health'),
      healthChart(health),
      heading('Deliveries'),
      data.length === 0 ? element('p', { class: 'soft' }, 'None yet.') : deliveries(data),
      pageInfo.hasNextPage ? element('p', { class: 'soft' }, `The newest ${data.length}.`) : '',
    ],
  }
}

/** What is wrong with it, and what comes of that. */
function warning({ status, disabledReason, failingSince, disablesAt }) {
  if (status === 'disabled')
    return element('div', { class: 'message' }, `Disabled, nothing is sent: ${disabledReason}`)
  if (!failingSince) return ''
  const end = disablesAt
    ? [' If none arrives, it is disabled by a failure from ', time(disablesAt), ' on.']
    : []
  return element('div', { class: 'message' }, 'Deliveries fail since ', time(failingSince), '.', ...end)
}

function conditions({ conditions }) {
  const texts = conditions.map(({ path, op, value }) =>
    element('div', {}, code([path || '/', op, JSON.stringify(value)].filter(Boolean).join(' '))),
  )
  return texts.length > 0 ? element('div', {}, ...texts) : undefined
}

/** The form for what is changed most. */
function changes({ id, url, eventTypes, description }) {
  const field = (label, name, value, type = 'text') =>
    element('label', {}, `${label} `, element('input', { type, name, defaultValue: value, maxLength: 2000 }))
  const form = element(
    'form',
    { class: 'fields' },
    field('Address', 'url', url, 'url'),
    field('Event types', 'eventTypes', eventTypes.join(', ')),
    field('Description', 'description', description ?? ''),
    element('button', {}, 'Save'),
  )
  // A form that is updated keeps its element, so what was typed is read from the event's.
  on(form, 'submit', (event) => {
    event.preventDefault()
    const { currentTarget } = event
    void guarded(async () => {
      const fields = new FormData(currentTarget)
      await send('PATCH', `/subscribers/${id}`, {
        url: fields.get('url'),
        eventTypes: fields
          .get('eventTypes')
          .split(/[\s,]+/)
          .filter(Boolean),
        description: fields.get('description') || null,
      })
      await Promise.all([refreshDrawer(), showSubscribers()])
      // From here on the fields follow what is stored.
      currentTarget.reset()
    })
  })
  return form
}

function actions({ id, url, status }) {
  const then = (work) => async () => {
    await work()
    await Promise.all([refreshDrawer(), showSubscribers()])
  }
  const become = (wanted) => then(() => send('PATCH', `/subscribers/${id}`, { status: wanted }))
  return element(
    'div',
    { class: 'actions' },
    status === 'active'
      ? confirmedButton(
          'Pause',
          {
            question: `Pause deliveries to ${url}?`,
            consequence: 'Nothing is sent to it until it is resumed. Its events wait and are sent then.',
          },
          become('paused'),
          '',
        )
      : button('Resume', become('active')),
    button(
      'Send a test event',
      then(() => send('POST', `/subscribers/${id}/test`)),
    ),
    confirmedButton(
      'Rotate the secret',
      {
        question: `Make a new secret for ${url}?`,
        consequence:
          'The new secret is shown once, and the receiver needs it. The old one goes on signing beside it for 24 hours.',
      },
      async () => showKeys(await send('POST', `/subscribers/${id}/rotate-secret`, {})),
    ),
    confirmedButton(
      'Remove',
      {
        question: `Remove ${url}?`,
        consequence:
          'It gets no more events, waiting ones included, and its delivery log is deleted. This cannot be undone.',
      },
      async () => {
        await send('DELETE', `/subscribers/${id}`)
        location.hash = ''
        await showSubscribers()
      },
    ),
  )
}

function deliveries(list) {
  const rows = list.map((delivery) =>
    keyed(
      String(delivery.id),
      row(
        cell('tight', time(delivery.createdAt)),
        cell('main', link(`#deliveries/${delivery.id}`, delivery.eventType)),
        attemptsOf(delivery),
        cell('side', state(delivery.status)),
      ),
    ),
  )
  return table(['time', 'event', 'attempts', 'status'], ...rows)
}
