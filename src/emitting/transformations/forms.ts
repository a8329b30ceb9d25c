/** A ready-made transformation. */
interface Form {
  name: string
  title: string
  code: string
}

/** The fields of an event's data as lines of text. Event data is not trusted: each form makes it inert. */
const fields = String.raw`
// One line for each field of the data, up to 20.
function lines(data) {
  const fields = typeof data === 'object' && data !== null ? Object.entries(data) : [['data', data]]
  return fields.slice(0, 20).map(([name, value]) =>
    inert(name + ': ' + (typeof value === 'string' ? value : JSON.stringify(value))).slice(0, 300))
}`

export const forms: readonly Form[] = [
  {
    name: 'slack',
    title: 'Slack',
    code: String.raw`// For the URL of a Slack incoming webhook.
function handler(webhook) {
  const { type, data } = webhook.payload
  const text = ['*' + inert(type) + '*', ...lines(data)].join('\n')
  webhook.payload = { text, unfurl_links: false, unfurl_media: false }
  return webhook
}

// Prevents mentions, links and markup. A zero-width space keeps Slack from making links.
function inert(text) {
  return String(text)
    .replace(/\s+/g, ' ')
    .replace(/:(?=\/\/)|[.@](?=\p{L})/gu, '$&\u200b')
    .replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
    .replace(/\*/g, '∗').replace(/~/g, '∼').replace(/${'`'}/g, 'ˋ').replace(/_/g, 'ˍ')
}
${fields}
`,
  },
  {
    name: 'discord',
    title: 'Discord',
    code: String.raw`// For the URL of a Discord webhook.
function handler(webhook) {
  const { type, data } = webhook.payload
  const content = ['**' + inert(type) + '**', ...lines(data)].join('\n').slice(0, 1900)
  // An empty list mentions nobody, whatever the text says.
  webhook.payload = { content, allowed_mentions: { parse: [] } }
  return webhook
}

// A backslash before a character prevents markup, mentions and links.
function inert(text) {
  return String(text).replace(/\s+/g, ' ').replace(/[\\*_~${'`'}|<>[\]()#:/@-]/g, '\\$&')
}
${fields}
`,
  },
  {
    name: 'teams',
    title: 'Microsoft Teams',
    code: String.raw`// For the URL of a workflow with the trigger "When a Teams webhook request is received".
function handler(webhook) {
  const { type, data } = webhook.payload
  // The runs of a RichTextBlock are shown as they are, without Markdown.
  const block = (text, more) => ({
    type: 'RichTextBlock',
    inlines: [Object.assign({ type: 'TextRun', text }, more)],
  })
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [block(inert(type), { weight: 'bolder' }), ...lines(data).map((line) => block(line))],
  }
  const contentType = 'application/vnd.microsoft.card.adaptive'
  webhook.payload = { type: 'message', attachments: [{ contentType, contentUrl: null, content }] }
  return webhook
}

// A zero-width space keeps Teams from making links.
function inert(text) {
  return String(text).replace(/\s+/g, ' ').replace(/:(?=\/\/)|[.@](?=\p{L})/gu, '$&\u200b')
}
${fields}
`,
  },
  {
    name: 'text',
    title: 'Plain text',
    code: String.raw`// Sends plain text in place of JSON.
function handler(webhook) {
  const { type, data } = webhook.payload
  webhook.headers['content-type'] = 'text/plain; charset=utf-8'
  webhook.payload = [type, ...lines(data)].join('\n')
  return webhook
}

function inert(text) {
  return String(text).replace(/\s+/g, ' ')
}
${fields}
`,
  },
]
