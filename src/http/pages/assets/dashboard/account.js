import { read, send } from './api.js'
import { browserName } from './browser-name.js'
import { $, cell, element, keyed, labelled, row, time } from './elements.js'
import { update } from './update.js'
import { confirmedButton } from './work.js'

const smallDanger = (label, ask, work) => confirmedButton(label, ask, work, 'small danger')

export async function showSessions() {
  const { data } = await read('/auth/sessions')
  const end = (path) => async () => {
    await send('DELETE', path)
    await showSessions()
  }
  const signOut = (id, name, address) =>
    smallDanger(
      'Sign out',
      {
        question: `Sign out ${name}?`,
        consequence: `The session from ${address ?? 'an unknown address'} ends at once. Whoever uses it has to sign in again.`,
      },
      end(`/auth/sessions/${id}`),
    )
  update(
    $('sessions'),
    ...data.map(({ id, current, device, app, userAgent, address, createdAt, lastSeenAt }) => {
      const name = app ? `${app} (${device})` : device
      return keyed(
        id,
        row(
          cell('main', element('span', { title: userAgent ?? '' }, name)),
          address,
          labelled('signed in', time(createdAt)),
          labelled('last seen', time(lastSeenAt)),
          cell('side', current ? 'this one' : signOut(id, name, address)),
        ),
      )
    }),
  )
  const others = data.length - 1
  const everywhereElse = smallDanger(
    'Sign out everywhere else',
    {
      question: `Sign out ${others === 1 ? 'your other session' : `your ${others} other sessions`}?`,
      consequence: 'They end at once, on all devices and in all apps. You stay signed in here.',
    },
    end('/auth/sessions'),
  )
  update($('sessions-actions'), ...(others > 0 ? [everywhereElse] : []))
}

/** The apps that the person allowed or is signed in to. Without any, the section is hidden. */
export async function showOwnApps() {
  const { data } = await read('/auth/apps')
  $('own-apps-section').hidden = data.length === 0
  update(
    $('own-apps'),
    ...data.map((app) => {
      const { id, name, firstParty, scopes, since, lastUsedAt } = app
      return keyed(
        id,
        row(
          cell('main', element('span', { title: id }, name)),
          firstParty ? 'belongs to this product' : scopes.join(', '),
          labelled('since', time(since)),
          labelled('last used', lastUsedAt === null ? 'not signed in' : time(lastUsedAt)),
          cell('side', removeButton(app)),
        ),
      )
    }),
  )
}

const removeButton = ({ id, name, firstParty }) =>
  smallDanger(
    'Remove',
    {
      question: `Remove ${name}?`,
      consequence: `It is signed out at once, on all devices.${firstParty ? '' : ' It has to ask you again before it gets anything.'}`,
    },
    async () => {
      await send('DELETE', `/auth/apps/${encodeURIComponent(id)}`)
      await Promise.all([showOwnApps(), showSessions()])
    },
  )

export async function showIdentities() {
  const { data } = await read('/auth/identities')
  const unlinkButton = ({ provider, providerId, name, email }) =>
    smallDanger(
      'Unlink',
      {
        question: `Unlink ${name ?? email ?? providerId} of ${provider}?`,
        consequence: `You can then no longer sign in to this account with this identity of ${provider}.`,
      },
      () => unlink(provider, providerId),
    )
  update(
    $('identities'),
    ...data.map((identity) => {
      const { provider, providerId, name, email, createdAt } = identity
      return keyed(
        `${provider} ${providerId}`,
        row(
          cell('main', provider),
          name ?? providerId,
          email,
          labelled('linked', time(createdAt)),
          cell('side', data.length > 1 ? unlinkButton(identity) : ''),
        ),
      )
    }),
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
        { method: 'post', action: `auth/${encodeURIComponent(name)}/link` },
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
  update(
    $('activity'),
    ...data.map((entry) =>
      keyed(
        entry.id,
        row(
          cell('tight', time(entry.at)),
          cell('main', entry.action),
          entry.provider,
          cell('side', result(entry)),
          entry.address,
          browserName(entry.userAgent),
        ),
      ),
    ),
  )
}
