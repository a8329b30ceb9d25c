// The API reference is readable without this script, which adds a filter and a form for each call that sends it from this page.
const { base } = document.body.dataset
const wide = matchMedia('(min-width: 57rem)')
const groups = [...document.querySelectorAll('.calls details')]
const longest = 20_000
/** In memory only: a reload forgets it. */
let apiKey = ''

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

function filter() {
  const input = document.getElementById('filter')
  const status = document.querySelector('.filter [role=status]')
  const opened = new Set(groups.filter(({ open }) => open))
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    let count = 0
    for (const group of groups) {
      const area = group.querySelector('summary').textContent
      const items = [...group.querySelectorAll('li')]
      for (const item of items) {
        const text = `${area} ${item.textContent}`.toLowerCase()
        item.hidden = !words.every((word) => text.includes(word))
        if (!item.hidden && item !== items[0]) count += 1
      }
      group.hidden = items.every(({ hidden }) => hidden)
      group.open = words.length > 0 || opened.has(group)
    }
    status.textContent = words.length === 0 ? '' : `${count} ${count === 1 ? 'call' : 'calls'}`
  })
  input.closest('p').hidden = false
}

/** The address of a call with what was entered. Empty fields of the query are left out. */
function addressOf(path, fields) {
  const query = new URLSearchParams()
  let target = path
  for (const { name, value, dataset } of fields) {
    if (dataset.in === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value))
    else if (value !== '') query.append(name, value)
  }
  return base + target + (query.size > 0 ? `?${query}` : '')
}

async function textOf(response) {
  const text = await response.text()
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '')
  const shown = isJson && text.length < longest ? JSON.stringify(JSON.parse(text), null, 2) : text
  return shown.length > longest ? `${shown.slice(0, longest)}\n…` : shown
}

/** Sends a request with the pasted key, or else with the session's cookie, and describes the response. */
async function send(method, address, type, body) {
  const headers = {}
  if (body !== undefined) headers['content-type'] = type
  if (apiKey !== '') headers.authorization = `Bearer ${apiKey}`
  const credentials = apiKey === '' ? 'same-origin' : 'omit'
  const init = { method, headers, body, credentials, redirect: 'manual' }
  const began = performance.now()
  const response = await fetch(address, init)
  const time = `${Math.round(performance.now() - began)} ms`
  if (response.type === 'opaqueredirect') return `A redirect, in ${time}`
  const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`)
  return `HTTP ${response.status} in ${time}\n${lines.join('\n')}\n\n${await textOf(response)}`
}

function fieldsOf(article) {
  const rows = [...article.querySelectorAll('tr[data-in=path], tr[data-in=query]')]
  return rows.map(({ dataset }) => {
    const id = `${article.id}.${dataset.name}`
    const field = element('input', { name: dataset.name, id, required: dataset.in === 'path' })
    field.dataset.in = dataset.in
    return field
  })
}

function tryForm(article) {
  const { path, type, body } = article.dataset
  const method = article.dataset.method.toUpperCase()
  const fields = fieldsOf(article)
  const key = element('input', {
    id: `${article.id}.key`,
    type: 'password',
    autocomplete: 'off',
    value: apiKey,
  })
  key.placeholder = 'Empty: your session'
  const text = element('textarea', { id: `${article.id}.body`, value: body ?? '', spellcheck: false })
  text.rows = Math.min(12, text.value.split('\n').length + 1)
  const controls = [
    ['API key (not stored)', key],
    ...fields.map((field) => [field.name, field]),
    ...(type === undefined ? [] : [['Body', text]]),
  ]
  const output = element('pre', { hidden: true })
  output.setAttribute('role', 'status')
  const labeled = controls.flatMap(([label, control]) => [
    element('label', { htmlFor: control.id, textContent: label }),
    control,
  ])
  const form = element('form', { className: 'try' }, ...labeled, element('button', { textContent: 'Send' }))
  const run = async () => {
    const address = addressOf(path, fields)
    apiKey = key.value.trim()
    if (method !== 'GET' && !confirm(`Send ${method} ${address}? It can change data of this service.`)) return
    output.hidden = false
    output.textContent = `${method} ${address} …`
    const result = await send(method, address, type, type === undefined ? undefined : text.value).catch(
      ({ message }) => message,
    )
    output.replaceChildren(element('code', { textContent: `${method} ${address}\n${result}` }))
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void run()
  })
  return [form, output]
}

function addTries() {
  for (const article of document.querySelectorAll('article[data-method]')) {
    const button = element('button', { type: 'button', textContent: 'Try it' })
    button.addEventListener('click', () => {
      const parts = tryForm(article)
      button.replaceWith(...parts)
      parts[0].querySelector('input').focus()
    })
    article.querySelector('.examples').after(button)
  }
}

if (wide.matches && !groups.some(({ open }) => open)) for (const group of groups) group.open = true
filter()
addTries()
