import { result } from './account.js'
import { read, send } from './api.js'
import { $, cell, keyed, labelled, row, shortId, time } from './elements.js'
import { me } from './session.js'
import { update } from './update.js'
import { confirmedButton } from './work.js'

let usersPage = 0
let users = []

export async function showMoreUsers() {
  const { data, pagination } = await read(`/users?page=${(usersPage += 1)}`)
  users = [...users, ...data]
  drawUsers()
  $('users-more').hidden = !pagination.hasNext
}

const drawUsers = () => update($('users'), ...users.map(userRow))

const consequences = {
  admin:
    'An admin reads all events and accounts, changes subscribers and roles, and runs handlers again. Their sessions end, and they sign in again.',
  user: 'They can no longer read events and accounts or change subscribers. Their sessions end, and they sign in again.',
}

function userRow(user) {
  const name = user.name ?? user.providerId
  const other = user.role === 'admin' ? 'user' : 'admin'
  const change = confirmedButton(
    `Make ${other}`,
    {
      question: `Make ${name} ${other === 'admin' ? 'an admin' : 'a user without rights of an admin'}?`,
      consequence: `${[name, user.email, `${user.provider}:${user.providerId}`].filter(Boolean).join(', ')}. ${consequences[other]}`,
    },
    async () => {
      const { role } = await send('PATCH', `/users/${user.id}`, { role: other })
      user.role = role
      drawUsers()
    },
    'small danger',
  )
  return keyed(
    user.id,
    row(
      cell('main', name),
      user.email,
      `${user.provider}:${user.providerId}`,
      labelled('since', time(user.createdAt)),
      user.role,
      cell('side', user.id === me.id ? 'you' : change),
    ),
  )
}

let audit = []
let auditCursor

export const showMoreAudit = () => readAudit(auditCursor)

export const showAuditAnew = () => readAudit()

async function readAudit(cursor) {
  const query = new URLSearchParams({
    limit: '20',
    ...($('audit-failed').checked && { failed: 'true' }),
    ...(cursor && { cursor }),
  })
  const { data, pageInfo } = await read(`/audit?${query}`)
  audit = cursor ? [...audit, ...data] : data
  update($('audit'), ...audit.map(auditRow))
  auditCursor = pageInfo.nextCursor
  $('audit-more').hidden = !pageInfo.hasNextPage
}

function auditRow(entry) {
  return keyed(
    entry.id,
    row(
      cell('tight', time(entry.at)),
      cell('main', entry.action),
      labelled('account', shortId(entry.userId)),
      labelled('by', entry.actor === `user:${entry.userId}` ? 'themselves' : shortId(entry.actor)),
      entry.provider ? [entry.provider, entry.providerId].filter(Boolean).join(':') : shortId(entry.target),
      cell('side', result(entry)),
      entry.address,
    ),
  )
}
