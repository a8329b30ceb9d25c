import { readText, send } from './api.js'
import { notice, refreshDrawer } from './drawer.js'
import { code, cell, element, facts, link, row, state, table, time } from './elements.js'
import { attemptsOf } from './event-view.js'
import { showKeys } from './keys.js'
import { showSubscribers } from './subscribers.js'
import { button } from './work.js'

/** One subscriber: what it gets, what became of it, and what can be done about it. */
export async function subscriberView(id) {
  const [about, list] = await Promise.all([
    readText(`/subscribers/${id}`),
    readText(`/subscribers/${id}/deliveries?limit=50`),
  ])
  const subscriber = JSON.parse(about)
  const { data, pageInfo } = JSON.parse(list)
  return {
    title: ['Subscriber ', state(subscriber.status)],
    version: about + list,
    content: () => [
      facts({
        address: code(subscriber.url),
        description: subscriber.description,
        'event types': subscriber.eventTypes.join(', '),
        disabled: subscriber.disabledReason,
        signatures: subscriber.signing === 'both' ? 'v1 and v1a' : subscriber.signing,
        since: time(subscriber.createdAt),
      }),
      actions(subscriber),
      element('h3', {}, 'Deliveries'),
      data.length === 0 ? element('p', { class: 'soft' }, 'None yet.') : deliveries(data),
      pageInfo.hasNextPage ? element('p', { class: 'soft' }, `The newest ${data.length}.`) : '',
    ],
  }
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
      if (!confirm('Remove this subscriber with its delivery log?')) return
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
