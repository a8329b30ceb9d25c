// The drawer shows one event, delivery, subscriber or refused webhook. Its address is the hash, so that it can be linked to and the
// browser's Back leads from a delivery to its event.
import { $ } from './elements.js'
import { update } from './update.js'
import { guarded, onClick } from './work.js'

const address = /^#(events|deliveries|subscribers|refused)\/([\w-]+)$/

/** What the drawer is called until its content is there, and when it cannot be read. */
const names = {
  events: 'Event',
  deliveries: 'Delivery',
  subscribers: 'Subscriber',
  refused: 'Refused webhook',
}

/** What reads each kind by its id: `{ title, version, content }`, of which the version changes when anything does. */
let views = {}
let shown = ''

/** Reads again what the drawer shows. What changed is updated in place (update.js). */
export async function refreshDrawer() {
  const [hash, kind, id] = address.exec(location.hash) ?? []
  if (kind === undefined) return
  const { title, version, content } = await views[kind](id).catch((error) => {
    // What was removed meanwhile is no longer looked at.
    if (hash === location.hash) throw error
    return {}
  })
  // Meanwhile the person may have gone on.
  if (hash !== location.hash || shown === `${hash} ${version}`) return
  shown = `${hash} ${version}`
  update($('drawer-title'), ...title)
  update($('drawer-body'), ...content())
}

async function follow() {
  const [hash, kind, id] = address.exec(location.hash) ?? []
  $('drawer-notice').replaceChildren()
  $('drawer-title').replaceChildren(hash ? `${names[kind]} ${id}` : '')
  $('drawer-body').replaceChildren()
  shown = ''
  if (!hash) {
    $('drawer').close()
    return
  }
  if (!$('drawer').open) $('drawer').showModal()
  $('drawer').scrollTop = 0
  await guarded(refreshDrawer)
}

export function openDrawer(known) {
  views = known
  addEventListener('hashchange', () => void follow())
  $('drawer').addEventListener('close', () => {
    if (address.test(location.hash)) history.pushState(null, '', location.pathname)
  })
  // A click beside the drawer's content is one on the backdrop.
  $('drawer').addEventListener('click', ({ target }) => target === $('drawer') && $('drawer').close())
  onClick($('drawer-close'), () => $('drawer').close())
  return follow()
}

/** Shows something that is told once: it stays until the drawer leads elsewhere. */
export function notice(...children) {
  $('drawer-notice').replaceChildren(...children)
}
