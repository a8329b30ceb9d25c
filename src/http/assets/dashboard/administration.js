import { result } from './account.js'
import { read, send } from './api.js'
import { $, cell, labelled, row, shortId, time } from './elements.js'
import { me } from './session.js'
import { smallButton } from './work.js'

let usersPage = 0

export async function showMoreUsers() {
  const { data, pagination } = await read(`/users?page=${(usersPage += 1)}`)
  $('users').append(...data.map(userRow))
  $('users-more').hidden = !pagination.hasNext
}

function userRow(user) {
  const other = user.role === 'admin' ? 'user' : 'admin'
  const change = smallButton(`Make ${other}`, async () => {
    const { role } = await send('PATCH', `/users/${user.id}`, { role: other })
    line.replaceWith(userRow({ ...user, role }))
  })
  const line = row(
    cell('main', user.name ?? user.providerId),
    user.email,
    `${user.provider}:${user.providerId}`,
    labelled('since', time(user.createdAt)),
    user.role,
    cell('side', user.id === me.id ? 'you' : change),
  )
  return line
}

let auditCursor

export async function showMoreAudit() {
  const query = new URLSearchParams({
    limit: '20',
    ...($('audit-failed').checked && { failed: 'true' }),
    ...(auditCursor && { cursor: auditCursor }),
  })
  const { data, pageInfo } = await read(`/audit?${query}`)
  $('audit').append(
    ...data.map((entry) =>
      row(
        cell('tight', time(entry.at)),
        cell('main', entry.action),
        labelled('account', shortId(entry.userId)),
        labelled('by', entry.actor === `user:${entry.userId}` ? 'themselves' : shortId(entry.actor)),
        entry.provider ? [entry.provider, entry.providerId].filter(Boolean).join(':') : shortId(entry.target),
        cell('side', result(entry)),
        entry.address,
      ),
    ),
  )
  auditCursor = pageInfo.nextCursor
  $('audit-more').hidden = !pageInfo.hasNextPage
}

export async function showAuditAnew() {
  auditCursor = undefined
  $('audit').replaceChildren()
  await showMoreAudit()
}
