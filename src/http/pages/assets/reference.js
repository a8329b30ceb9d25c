// The API reference is readable without this script, which adds: a filter, copy buttons, and reading with the reader's session.
const { base } = document.body.dataset
const wide = matchMedia('(min-width: 761px)')
const groups = [...document.querySelectorAll('nav details')]
const links = new Map([...document.querySelectorAll('nav li a')].map((link) => [link.hash.slice(1), link]))
const longest = 20_000

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

function filter() {
  const input = document.getElementById('filter')
  const status = document.querySelector('.filter [role=status]')
  const texts = new Map(
    [...links.keys()].map((id) => {
      const title = document.querySelector(`#${CSS.escape(id)} h3`)
      return [id, `${links.get(id).textContent} ${title.textContent}`.toLowerCase()]
    }),
  )
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    let count = 0
    for (const [id, text] of texts) {
      const shown = words.every((word) => text.includes(word))
      links.get(id).parentElement.hidden = !shown
      document.getElementById(id).hidden = !shown
      if (shown) count += 1
    }
    for (const group of groups) {
      group.hidden = !group.querySelector('li:not([hidden])')
      group.open = words.length > 0 || wide.matches
    }
    for (const section of document.querySelectorAll('section.group'))
      section.hidden = !section.querySelector('article:not([hidden])')
    status.textContent = words.length === 0 ? '' : `${count} ${count === 1 ? 'call' : 'calls'}`
  })
  input.closest('p').hidden = false
}

function addCopyButtons() {
  for (const block of document.querySelectorAll('pre.command')) {
    const button = element('button', { type: 'button', textContent: 'Copy' })
    button.setAttribute('aria-label', 'Copy the command')
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('code').textContent)
      button.textContent = 'Copied'
      setTimeout(() => (button.textContent = 'Copy'), 2_000)
    })
    block.append(button)
  }
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
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  const shown = isJson && text.length < longest ? JSON.stringify(JSON.parse(text), null, 2) : text
  return shown.length > longest ? `${shown.slice(0, longest)}\n…` : shown
}

/** A form that makes the call. Only reads have one: a try must change nothing. */
function tryForm(article) {
  const { path } = article.dataset
  const rows = [...article.querySelectorAll('tr[data-in=path], tr[data-in=query]')]
  const fields = rows.map((row) => {
    const { name } = row.dataset
    const field = element('input', { name, id: `${article.id}.${name}`, required: row.dataset.in === 'path' })
    field.dataset.in = row.dataset.in
    return field
  })
  const output = element('pre', { hidden: true })
  output.setAttribute('role', 'status')
  const form = element(
    'form',
    {},
    ...fields.flatMap((field) => [element('label', { htmlFor: field.id, textContent: field.name }), field]),
    element('button', { textContent: 'Send' }),
  )
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const address = addressOf(path, fields)
    output.hidden = false
    output.textContent = `GET ${address} …`
    const began = performance.now()
    try {
      const response = await fetch(address, { redirect: 'manual' })
      const time = `${Math.round(performance.now() - began)} ms`
      const status = response.type === 'opaqueredirect' ? 'a redirect' : response.status
      output.textContent = `GET ${address}\n${status} in ${time}\n\n${await textOf(response)}`
    } catch (error) {
      output.textContent = `GET ${address}\n${error.message}`
    }
  })
  return [form, output]
}

function addTries() {
  for (const article of document.querySelectorAll('article[data-method=get]')) {
    const button = element('button', { type: 'button', textContent: 'Try it with your session' })
    button.addEventListener('click', () => {
      const [form, output] = tryForm(article)
      button.replaceWith(form)
      article.append(output)
      form.querySelector('input, button').focus()
    })
    article.append(button)
  }
}

if (wide.matches) for (const group of groups) group.open = true
filter()
addCopyButtons()
addTries()
