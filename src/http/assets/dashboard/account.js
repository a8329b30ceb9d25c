import { read, send } from './api.js'
import { browserName } from './browser-name.js'
import { $, cell, element, labelled, row, time } from './elements.js'
import { smallButton } from './work.js'

export async function showSessions() {
  const { data } = await read('/auth/sessions')
  const end = (path) => async () => {
    await send('DELETE', path)
    await showSessions()
  }
  $('sessions').replaceChildren(
    ...data.map(({ id, current, device, app, userAgent, address, createdAt, lastSeenAt }) =>
      row(
        cell('main', element('span', { title: userAgent ?? '' }, app ? `${app} (${device})` : device)),
        address,
        labelled('signed in', time(createdAt)),
        labelled('last seen', time(lastSeenAt)),
        cell('side', current ? 'this one' : smallButton('Sign out', end(`/auth/sessions/${id}`))),
      ),
    ),
  )
  const others = data.length > 1 ? [smallButton('Sign out everywhere else', end('/auth/sessions'))] : []
  $('sessions-actions').replaceChildren(...others)
}

export async function showIdentities() {
  const { data } = await read('/auth/identities')
  $('identities').replaceChildren(
    ...data.map(({ provider, providerId, name, email, createdAt }) =>
      row(
        cell('main', provider),
        name ?? providerId,
        email,
        labelled('linked', time(createdAt)),
        cell('side', data.length > 1 ? smallButton('Unlink', () => unlink(provider, providerId)) : ''),
      ),
    ),
  )
}

async function unlink(provider, providerId) {
  const query = new URLSearchParams({ providerId })
  await send('DELETE', `/auth/identities/${provider}?${query}`)
  await showIdentities()
}

/** A form and no call: it leads to the provider, or to /login when the sign-in was too long ago. */
export async function showLinks() {
  const { data } = await read('/auth/providers')
  $('link').replaceChildren(
    ...data.map(({ name, label }) =>
      element(
        'form',
        { method: 'post', action: `/auth/${encodeURIComponent(name)}/link` },
        element('button', { class: 'small' }, `Link ${label}`),
      ),
    ),
  )
}

/** What happened, in its own word; a failure with its code and the number for support. */
export function result({ code, supportId }) {
  return code === null ? undefined : element('span', { class: 'state bad', title: supportId ?? '' }, code)
}

export async function showActivity() {
  const { data } = await read('/auth/audit?limit=20')
  $('activity').replaceChildren(
    ...data.map((entry) =>
      row(
        cell('tight', time(entry.at)),
        cell('main', entry.action),
        entry.provider,
        cell('side', result(entry)),
        entry.address,
        browserName(entry.userAgent),
      ),
    ),
  )
}
