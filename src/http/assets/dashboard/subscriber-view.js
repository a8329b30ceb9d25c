import { inPortal, readText, send } from './api.js'
import { notice, refreshDrawer } from './drawer.js'
import { code, cell, element, facts, fold, link, row, state, table, time } from './elements.js'
import { attemptsOf } from './event-view.js'
import { showKeys } from './keys.js'
import { showSubscribers } from './subscribers.js'
import { button, guarded } from './work.js'

/** One subscriber: what it gets, what became of it, and what can be done about it. */
export async function subscriberView(id) {
  const [about, list] = await Promise.all([
    readText(`/subscribers/${id}`),
    readText(`/subscribers/${id}/deliveries?limit=50`),
  ])
  const subscriber = JSON.parse(about)
  const { data, pageInfo } = JSON.parse(list)
  return {
    title: [inPortal ? 'Endpoint ' : 'Subscriber ', state(subscriber.status)],
    version: about + list,
    content: () => [
      facts({
        address: code(subscriber.url),
        description: subscriber.description,
        owner: inPortal ? undefined : subscriber.owner,
        'event types': subscriber.eventTypes.join(', '),
        conditions: conditions(subscriber),
        disabled: subscriber.disabledReason,
        signatures: subscriber.signing === 'both' ? 'v1 and v1a' : subscriber.signing,
        'public key': subscriber.publicKeys[0] && code(subscriber.publicKeys[0]),
        'failing since': time(subscriber.failingSince),
        since: time(subscriber.createdAt),
      }),
      actions(subscriber),
      fold('Change', changes(subscriber)),
      element('h3', {}, 'Deliveries'),
      data.length === 0 ? element('p', { class: 'soft' }, 'None yet.') : deliveries(data),
      pageInfo.hasNextPage ? element('p', { class: 'soft' }, `The newest ${data.length}.`) : '',
    ],
  }
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
    element('label', {}, `${label} `, element('input', { type, name, value, maxLength: 2000 }))
  const form = element(
    'form',
    { class: 'fields' },
    field('Address', 'url', url, 'url'),
    field('Event types', 'eventTypes', eventTypes.join(', ')),
    field('Description', 'description', description ?? ''),
    element('button', {}, 'Save'),
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void guarded(async () => {
      const fields = new FormData(form)
      await send('PATCH', `/subscribers/${id}`, {
        url: fields.get('url'),
        eventTypes: fields
          .get('eventTypes')
          .split(/[\s,]+/)
          .filter(Boolean),
        description: fields.get('description') || null,
      })
      await Promise.all([refreshDrawer(), showSubscribers()])
    })
  })
  return form
}

function actions({ id, status }) {
  const then = (work) => async () => {
    await work()
    await Promise.all([refreshDrawer(), showSubscribers()])
  }
  const become = (wanted) => then(() => send('PATCH', `/subscribers/${id}`, { status: wanted }))
  return element(
    'div',
    { class: 'actions' },
    status === 'active' ? button('Pause', become('paused')) : button('Resume', become('active')),
    button(
      'Send a test event',
      then(() => send('POST', `/subscribers/${id}/test`)),
    ),
    button(
      'Replay dead deliveries',
      then(async () => {
        const { total } = await send('POST', `/subscribers/${id}/replay`, {})
        notice(element('div', { class: 'message info' }, `${total} dead deliveries are sent again.`))
      }),
    ),
    button('Rotate the secret', async () => {
      if (!confirm('Make a new secret? The old one goes on signing for 24 hours beside it.')) return
      showKeys(await send('POST', `/subscribers/${id}/rotate-secret`, {}))
    }),
    button('Remove', async () => {
      if (!confirm('Remove it with its delivery log?')) return
      await send('DELETE', `/subscribers/${id}`)
      location.hash = ''
      await showSubscribers()
    }),
  )
}

function deliveries(list) {
  const rows = list.map((delivery) =>
    row(
      cell('tight', time(delivery.createdAt)),
      cell('main', link(`#deliveries/${delivery.id}`, delivery.eventType)),
      attemptsOf(delivery),
      cell('side', state(delivery.status)),
    ),
  )
  return table(['time', 'event', 'attempts', 'status'], ...rows)
}
