import { read, send } from './api.js'
import { $, cell, element, keyed, labelled, row } from './elements.js'
import { keyLine } from './keys.js'
import { update } from './update.js'
import { confirmedButton, guarded } from './work.js'

let cursor
let apps = []

export const showApps = () => readApps()

export const showMoreApps = () => readApps(cursor)

async function readApps(from) {
  const query = new URLSearchParams({ limit: '20', ...(from && { cursor: from }) })
  const { data, pageInfo } = await read(`/clients?${query}`)
  apps = from ? [...apps, ...data] : data
  cursor = pageInfo.nextCursor
  update($('apps'), ...apps.map(appRow))
  $('apps-more').hidden = !pageInfo.hasNextPage
  $('apps-empty').hidden = apps.length > 0
}

/** What the person has to know of an app before they trust it. */
const kindOf = ({ declared, registered, confidential, firstParty }) =>
  [
    declared ? 'in the configuration' : registered ? 'registered itself' : undefined,
    firstParty ? 'of the product' : 'asks for consent',
    confidential ? 'with a secret' : 'public',
  ]
    .filter(Boolean)
    .join(', ')

function appRow(app) {
  return keyed(
    app.id,
    row(
      cell(
        'main',
        element('div', {}, app.name),
        element('div', { class: 'soft' }, element('code', {}, app.id)),
      ),
      labelled('kind', kindOf(app)),
      labelled('redirects to', app.redirectUris.map((uri) => element('div', {}, uri)).at(0)),
      cell('side', ...(app.declared ? [] : actionsOf(app))),
    ),
  )
}

function actionsOf({ id, name, confidential }) {
  const remove = confirmedButton(
    'Delete',
    {
      question: `Delete ${name}?`,
      consequence: 'Its users are signed out of it at once, and nobody can sign in with it again.',
    },
    async () => {
      await send('DELETE', `/clients/${id}`)
      $('apps-said').replaceChildren()
      await showApps()
    },
    'small danger',
  )
  const rotate = confirmedButton(
    'New secret',
    {
      question: `Make a new secret for ${name}?`,
      consequence: 'The secret before goes on to work for 24 hours. Of older ones none works any more.',
      kind: 'primary',
    },
    async () => showSecret(name, id, (await send('POST', `/clients/${id}/secrets`, {})).secret),
    'small',
  )
  return confidential ? [rotate, ' ', remove] : [remove]
}

/** Shows a new secret, this once. */
function showSecret(name, id, secret) {
  const lines = [
    element('p', {}, `The client id of ${name}: `, keyLine(id)),
    secret && element('p', {}, 'Its new secret, shown this once: ', keyLine(secret)),
  ]
  $('apps-said').replaceChildren(element('div', { class: 'message info' }, ...lines.filter(Boolean)))
}

/** The form of a new app. */
export function takeNewApps() {
  const form = $('new-app')
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void guarded(async () => {
      const fields = new FormData(form)
      const made = await send('POST', '/clients', {
        name: fields.get('name'),
        redirectUris: fields
          .get('redirectUris')
          .split(/[\s,]+/)
          .filter(Boolean),
        confidential: fields.get('kind') === 'confidential',
        firstParty: fields.has('firstParty'),
      })
      form.reset()
      form.closest('details').open = false
      showSecret(made.name, made.id, made.secret)
      await showApps()
    })
  })
}
