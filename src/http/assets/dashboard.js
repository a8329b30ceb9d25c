// The first dashboard: it reads the public API like any other client, with the session's cookie.
const $ = (id) => document.getElementById(id)
const time = (text) => (text ? new Date(text).toLocaleString() : '')

async function call(path, options = {}) {
  const response = await fetch(path, { headers: { accept: 'application/json' }, ...options })
  if (response.status === 401) location.assign('/login')
  if (!response.ok) {
    const problem = await response.json().catch(() => ({ title: response.statusText }))
    const error = new Error([problem.title, problem.detail, problem.advice].filter(Boolean).join('. '))
    error.status = response.status
    throw error
  }
  return response.status === 204 ? undefined : response.json()
}

function show(error) {
  const line = document.createElement('div')
  line.className = 'message'
  line.textContent = error.message
  $('problems').replaceChildren(line)
}

/** Runs work whose failure is shown on the page. */
const guarded = (work) => async () => {
  try {
    await work()
  } catch (error) {
    show(error)
  }
}

function onClick(element, work) {
  element.addEventListener('click', () => void guarded(work)())
}

/** A table row of texts and elements; texts are never taken as HTML. */
function row(...cells) {
  const line = document.createElement('tr')
  for (const cell of cells) {
    const field = line.insertCell()
    field.append(cell ?? '')
  }
  return line
}

/** A browser's own name for itself, shortened to what a person would call it. */
function browserName(agent) {
  if (!agent) return 'unknown'
  const names = [
    [/Edg\//, 'Edge'],
    [/OPR\//, 'Opera'],
    [/Firefox\//, 'Firefox'],
    [/Chrom(e|ium)\//, 'Chrome'],
    [/Safari\//, 'Safari'],
  ]
  const systems = [
    [/Android/, 'Android'],
    [/iPhone|iPad/, 'iOS'],
    [/Windows/, 'Windows'],
    [/Mac OS/, 'macOS'],
    [/Linux/, 'Linux'],
  ]
  const name = names.find(([pattern]) => pattern.test(agent))?.[1]
  const system = systems.find(([pattern]) => pattern.test(agent))?.[1]
  const short = document.createElement('span')
  short.title = agent
  short.textContent = name ? [name, system && `on ${system}`].filter(Boolean).join(' ') : agent.slice(0, 40)
  return short
}

function state(text) {
  const pill = document.createElement('span')
  const good = ['processed', 'delivered', 'active']
  const bad = ['failed', 'dead', 'disabled']
  pill.className = `state ${good.includes(text) ? 'good' : bad.includes(text) ? 'bad' : 'wait'}`
  pill.textContent = text
  return pill
}

function button(label, work) {
  const element = document.createElement('button')
  element.textContent = label
  onClick(element, work)
  return element
}

let cursor
const shown = new Map()
const cells = ({ id, createdAt, direction, source, type, eventId, status }) => [
  String(id),
  time(createdAt),
  direction,
  source,
  type,
  eventId,
  state(status),
]

/** Follows the log from its beginning, at most the last 100 lines on the page. */
async function followEvents() {
  for (;;) {
    const query = new URLSearchParams({
      limit: '100',
      ...(cursor !== undefined && { cursor: String(cursor) }),
    })
    const { data } = await call(`/events?${query}`)
    for (const event of data) {
      const line = row(...cells(event))
      shown.set(event.id, line)
      $('events').append(line)
      cursor = event.id
    }
    while (shown.size > 100) {
      const [oldest] = shown.keys()
      shown.get(oldest).remove()
      shown.delete(oldest)
    }
    if (data.length < 100) break
  }
  $('events-empty').hidden = shown.size > 0
}

/** Statuses change after an event was shown: read the shown ones again. */
async function refreshShown() {
  const [first] = shown.keys()
  if (first === undefined) return
  const { data } = await call(`/events?limit=100&cursor=${first - 1}`)
  for (const event of data) shown.get(event.id)?.replaceChildren(...row(...cells(event)).children)
}

async function showSubscribers() {
  const { data } = await call('/subscribers')
  $('subscribers').replaceChildren(
    ...data.map((subscriber) =>
      row(
        subscriber.url,
        subscriber.eventTypes.join(', '),
        state(subscriber.status),
        button('Deliveries', () => showDeliveries(subscriber)),
      ),
    ),
  )
}

async function showDeliveries(subscriber) {
  const { data } = await call(`/subscribers/${subscriber.id}/deliveries`)
  $('deliveries-title').textContent = `Deliveries to ${subscriber.description ?? subscriber.url}`
  $('deliveries').replaceChildren(
    ...data.map((delivery) =>
      row(
        String(delivery.id),
        time(delivery.createdAt),
        delivery.eventType,
        state(delivery.status),
        String(delivery.attemptCount),
        button('Replay', async () => {
          await call(`/deliveries/${delivery.id}/replay`, { method: 'POST' })
          await showDeliveries(subscriber)
        }),
      ),
    ),
  )
  $('deliveries-of').hidden = false
}

async function showSessions() {
  const { data } = await call('/auth/sessions')
  $('sessions').replaceChildren(
    ...data.map((session) =>
      row(
        browserName(session.userAgent),
        session.address,
        time(session.createdAt),
        time(session.lastSeenAt),
        session.current
          ? 'this one'
          : button('Sign out', async () => {
              await call(`/auth/sessions/${session.id}`, { method: 'DELETE' })
              await showSessions()
            }),
      ),
    ),
  )
}

async function showIdentities() {
  const { data } = await call('/auth/identities')
  $('identities').replaceChildren(
    ...data.map((identity) =>
      row(
        identity.provider,
        identity.email ?? '',
        time(identity.createdAt),
        data.length > 1
          ? button('Unlink', async () => {
              await call(`/auth/identities/${identity.provider}`, { method: 'DELETE' })
              await showIdentities()
            })
          : '',
      ),
    ),
  )
}

onClick($('sign-out'), async () => {
  await call('/auth/logout', { method: 'POST' })
  location.assign('/login')
})

const { user } = await call('/auth/session')
$('who').textContent = [user.name ?? user.email ?? user.id, user.role === 'admin' ? '(admin)' : '']
  .join(' ')
  .trim()
await Promise.all([guarded(showSessions)(), guarded(showIdentities)()])
if (user.role === 'admin') {
  $('subscribers-section').hidden = false
  await guarded(showSubscribers)()
}

// The log is open to admins, and in demo mode to all: others are not bothered with a refusal.
async function tick() {
  try {
    await refreshShown()
    await followEvents()
  } catch (error) {
    if (error.status === 403) {
      $('events-empty').textContent = 'The event log is for admins.'
      return
    }
    show(error)
  }
  setTimeout(tick, document.hidden ? 15_000 : 2_000)
}
await tick()
