// What an owner can do: manage their own endpoints, look at deliveries, send them again, change secrets.
import { read, send } from '../dashboard/api.js'
import { deliveryView } from '../dashboard/delivery-view.js'
import { openDrawer, refreshDrawer } from '../dashboard/drawer.js'
import { $, block, element, fold } from '../dashboard/elements.js'
import { subscriberView } from '../dashboard/subscriber-view.js'
import { showSubscribers, takeNewSubscribers } from '../dashboard/subscribers.js'
import { guarded, onClick, show } from '../dashboard/work.js'

/** Milliseconds between looks at what the drawer shows, when the page is seen and when it is not. */
const [often, seldom] = [2_000, 15_000]

const { owner } = await read('/session')
$('who').textContent = owner
$('leave').hidden = false
$('subscribers-section').hidden = false
onClick($('leave'), async () => {
  await send('DELETE', '/session')
  location.reload()
})

async function showTypes() {
  const response = await fetch('event-types')
  const { data } = await response.json()
  const declared = data.filter(({ builtIn }) => !builtIn)
  $('types').replaceChildren(...declared.map(typeLine))
  $('types-section').hidden = declared.length === 0
}

function typeLine({ type, description, samples, schema }) {
  const details = [
    description ? element('p', { class: 'soft' }, description) : undefined,
    ...samples.map((sample) => block(JSON.stringify(sample, undefined, 2))),
    schema ? fold('JSON Schema of the data', block(JSON.stringify(schema, undefined, 2))) : undefined,
  ]
  return fold(type, element('div', {}, ...details))
}

async function follow() {
  try {
    if ($('drawer').open) await refreshDrawer()
    setTimeout(follow, document.hidden ? seldom : often)
  } catch (error) {
    // The session is over: nothing more is asked, and what to do is told.
    if (error.status === 401) location.reload()
    else {
      show(error)
      setTimeout(follow, seldom)
    }
  }
}

takeNewSubscribers()
const views = { deliveries: deliveryView, subscribers: subscriberView }
await Promise.all([openDrawer(views), guarded(showSubscribers), guarded(showTypes), follow()])
$('add').open = $('subscribers').childElementCount === 0
