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
        identity.name ?? identity.providerId,
        identity.email ?? '',
        time(identity.createdAt),
        data.length > 1
          ? button('Unlink', async () => {
              const query = new URLSearchParams({ providerId: identity.providerId })
              await call(`/auth/identities/${identity.provider}?${query}`, { method: 'DELETE' })
              await showIdentities()
            })
          : '',
      ),
    ),
  )
}

/** A form and no call: it leads to the provider, or to /login when the sign-in was too long ago. */
async function showLinks() {
  const { data } = await call('/auth/providers')
  $('link').replaceChildren(
    ...data.map(({ name, label }) => {
      const form = document.createElement('form')
      form.method = 'post'
      form.action = `/auth/${encodeURIComponent(name)}/link`
      const submit = document.createElement('button')
      submit.textContent = `Link ${label}`
      form.append(submit)
      return form
    }),
  )
}

/** What happened, in its own word; a failure with its code and the number for support. */
function result({ code, supportId }) {
  if (code === null) return ''
  const text = document.createElement('span')
  text.className = 'state bad'
  text.textContent = code
  text.title = supportId ?? ''
  return text
}

async function showActivity() {
  const { data } = await call('/auth/audit?limit=20')
  $('activity').replaceChildren(
    ...data.map((entry) =>
      row(
        time(entry.at),
        entry.action,
        entry.provider,
        result(entry),
        entry.address,
        entry.userAgent ? browserName(entry.userAgent) : '',
      ),
    ),
  )
}

let usersPage = 0
async function showMoreUsers(me) {
  const { data, pagination } = await call(`/users?page=${(usersPage += 1)}`)
  $('users').append(...data.map((user) => userRow(user, me)))
  $('users-more').hidden = !pagination.hasNext
}

function userRow(user, me) {
  const other = user.role === 'admin' ? 'user' : 'admin'
  const change =
    user.id === me.id
      ? 'you'
      : button(`Make ${other}`, async () => {
          const body = JSON.stringify({ role: other })
          const headers = { 'content-type': 'application/json' }
          const changed = await call(`/users/${user.id}`, { method: 'PATCH', headers, body })
          line.replaceWith(userRow({ ...user, role: changed.role }, me))
        })
  const identity = `${user.provider}:${user.providerId}`
  const line = row(user.name, user.email, identity, time(user.createdAt), user.role, change)
  return line
}

/** The end of an id tells it apart; the whole of it is shown to whoever points at it. */
function shortId(id) {
  if (!id) return ''
  const short = document.createElement('code')
  short.textContent = id.length > 20 ? `…${id.slice(-8)}` : id
  short.title = id
  return short
}

let auditCursor
async function showMoreAudit() {
  const query = new URLSearchParams({
    limit: '20',
    ...($('audit-failed').checked && { failed: 'true' }),
    ...(auditCursor && { cursor: auditCursor }),
  })
  const { data, pageInfo } = await call(`/audit?${query}`)
  $('audit').append(
    ...data.map((entry) =>
      row(
        time(entry.at),
        entry.action,
        shortId(entry.userId),
        entry.actor === `user:${entry.userId}` ? 'themselves' : shortId(entry.actor),
        entry.provider ? [entry.provider, entry.providerId].filter(Boolean).join(':') : shortId(entry.target),
        result(entry),
        entry.address,
      ),
    ),
  )
  auditCursor = pageInfo.nextCursor
  $('audit-more').hidden = !pageInfo.hasNextPage
}

async function showAuditAnew() {
  auditCursor = undefined
  $('audit').replaceChildren()
  await showMoreAudit()
}

onClick($('sign-out'), async () => {
  await call('/auth/logout', { method: 'POST' })
  location.assign('/login')
})

const { user } = await call('/auth/session')
$('who').textContent = [user.name ?? user.email ?? user.id, user.role === 'admin' ? '(admin)' : '']
  .join(' ')
  .trim()
await Promise.all([showSessions, showIdentities, showLinks, showActivity].map((work) => guarded(work)()))
if (user.role === 'admin') {
  for (const name of ['subscribers', 'users', 'audit']) $(`${name}-section`).hidden = false
  onClick($('users-more'), () => showMoreUsers(user))
  onClick($('audit-more'), showMoreAudit)
  $('audit-failed').addEventListener('change', () => void guarded(showAuditAnew)())
  await Promise.all(
    [showSubscribers, () => showMoreUsers(user), showAuditAnew].map((work) => guarded(work)()),
  )
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
