import { read, send } from './api.js'
import { $, cell, element, keyed, link, row, state } from './elements.js'
import { showKeys } from './keys.js'
import { update } from './update.js'
import { guarded } from './work.js'

/** Its status in one word: an active one whose deliveries fail is not shown as a healthy one. */
export const subscriberState = ({ status, failingSince }) =>
  state(status === 'active' && failingSince ? 'failing' : status)

export async function showSubscribers() {
  const { data } = await read('/subscribers?limit=100')
  update(
    $('subscribers'),
    ...data.map((subscriber) => {
      const { id, url, description, eventTypes } = subscriber
      return keyed(
        id,
        row(
          cell(
            'main',
            link(`#subscribers/${id}`, url),
            description ? element('div', { class: 'soft' }, description) : '',
          ),
          eventTypes.join(', '),
          cell('side', subscriberState(subscriber)),
        ),
      )
    }),
  )
  $('subscribers-empty').hidden = data.length > 0
}

/** The form of a new subscriber. Its secret is shown in the drawer, which then tells about it. */
export function takeNewSubscribers() {
  const form = $('new-subscriber')
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void guarded(async () => {
      const fields = new FormData(form)
      const eventTypes = fields
        .get('eventTypes')
        .split(/[\s,]+/)
        .filter(Boolean)
      const made = await send('POST', '/subscribers', {
        url: fields.get('url'),
        ...(eventTypes.length > 0 && { eventTypes }),
      })
      form.reset()
      form.closest('details').open = false
      await showSubscribers()
      // The notice belongs to the drawer's new address, so it comes when that has been followed.
      addEventListener('hashchange', () => setTimeout(() => showKeys(made)), { once: true })
      location.hash = `#subscribers/${made.id}`
    })
  })
}
