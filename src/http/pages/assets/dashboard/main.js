// What the dashboard starts with. Each part reads the public API for itself; a failure of one leaves the others be.
import { showActivity, showIdentities, showLinks, showOwnApps, showSessions } from './account.js'
import { showAuditAnew, showMoreAudit, showMoreUsers } from './administration.js'
import { send } from './api.js'
import { showApps, showMoreApps, takeNewApps } from './apps.js'
import { deliveryView } from './delivery-view.js'
import { openDrawer, refreshDrawer } from './drawer.js'
import { $ } from './elements.js'
import { eventView } from './event-view.js'
import { refreshEvents, showOlderEvents, takeEventFilter } from './events.js'
import { showFailed, showFailedAtFirst } from './failed-list.js'
import { refusedView, showMoreRefused, showRefused } from './refused.js'
import { hasRunRecently } from './run-again.js'
import { isAdmin, me, stepUp } from './session.js'
import { showSpool } from './spool.js'
import { subscriberView } from './subscriber-view.js'
import { showSubscribers, takeNewSubscribers } from './subscribers.js'
import { guarded, onClick, show } from './work.js'

/** Milliseconds between looks at the log, when the page is seen and when it is not. */
const [often, seldom] = [2_000, 15_000]

const parts = [showSessions, showOwnApps, showIdentities, showLinks, showActivity]

$('who').textContent = `${me.name ?? me.email ?? me.id}${isAdmin ? ' (admin)' : ''}`
if (stepUp !== undefined) {
  const link = document.createElement('a')
  link.href = `${stepUp}&return_to=${location.pathname}`
  link.textContent = 'Sign in with a second factor to use your rights as an admin'
  $('who').append(' ', link)
}
onClick($('sign-out'), async () => {
  await send('POST', '/auth/logout')
  location.assign('login')
})
onClick($('events-older'), showOlderEvents)
takeEventFilter()

if (isAdmin) {
  for (const part of document.querySelectorAll('.for-admins')) part.hidden = false
  onClick($('apps-more'), showMoreApps)
  onClick($('users-more'), showMoreUsers)
  onClick($('audit-more'), showMoreAudit)
  $('audit-failed').addEventListener('change', () => void guarded(showAuditAnew))
  onClick($('refused-more'), showMoreRefused)
  onClick($('refused-refresh'), showRefused)
  takeNewSubscribers()
  takeNewApps()
  parts.push(showFailedAtFirst, showRefused, showSubscribers, showApps, showMoreUsers, showAuditAnew)
}

const views = {
  events: eventView,
  deliveries: deliveryView,
  subscribers: subscriberView,
  refused: refusedView,
}
let failing = false

// The log is open to admins, and in demo mode to all: others are not bothered with a refusal.
async function follow() {
  try {
    // First, since the others fail while the database is away.
    if (isAdmin) await showSpool()
    await refreshEvents()
    if ($('drawer').open) await refreshDrawer()
    if (hasRunRecently()) await showFailed()
    if (failing) $('problems').replaceChildren()
    failing = false
  } catch (error) {
    if (error.status === 403) {
      $('events-empty').textContent = 'The event log is for admins.'
      $('events-status').parentElement.hidden = true
      return
    }
    show(error)
    failing = true
  }
  setTimeout(follow, document.hidden || failing ? seldom : often)
}

await Promise.all([follow(), openDrawer(views), ...parts.map(guarded)])
