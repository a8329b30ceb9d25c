import { stepsWith, setUps } from '../src/receiving/schemes/set-up.ts'
import { joined, mark, readParts, tableOf } from './page-parts.ts'

const folder = 'sender-pages'

/** The pages of the folder docs/guides/senders, by the name of the preset's scheme. */
export function senderPages(): Record<string, string> {
  return Object.fromEntries(Object.keys(setUps).map((name) => [name, senderPage(name)]))
}

/** Schemes of many senders. */
const withoutName = new Set(['hmac', 'standard-webhooks', 'basic', 'bearer', 'api-key', 'public-key', 'jwt'])

/** What senders do that sign nothing themselves. */
const sends: Readonly<Record<string, string>> = {
  basic: 'sends both in the header `Authorization`',
  bearer: 'sends it in the header `Authorization`',
  'api-key': 'sends it in the header that `header` names',
  jwt: 'gets a token from the issuer and sends it with each request',
}

function senderPage(name: string): string {
  const { title, introduction, section, rows } = readParts(folder, name)
  const configuration = section('configuration')
  const [, source] = /sources: \{\s*(\w+):/.exec(configuration)!
  const variable = /process\.env\.(\w+)/.exec(configuration)?.[1] ?? ''
  const sender = withoutName.has(name) ? 'the sender' : title
  return joined(
    `# ${title}`,
    mark(folder, name),
    introduction,
    '## Configure Postern',
    configuration,
    section('secret'),
    `## Configure ${sender}`,
    `The source’s URL is \`BASE_URL/webhooks/${source}\`.`,
    stepsWith(name, `\`${variable}\``, sends[name] ?? 'signs as the options specify')
      .map((step, index) => `${index + 1}. ${step}`)
      .join('\n'),
    section('setup'),
    '## Requests',
    tableOf(['header or property', 'value'], rows('headers') + rows('facts')),
    section('notes'),
    section('try') === '' ? '' : joined('## Try it', trial(section('try'), section('result'))),
    section('rotate') === '' ? '' : joined('## Rotate the secret', section('rotate')),
    '## Troubleshooting',
    tableOf(['problem', 'solution'], rows('faults')),
    `[All reasons for rejections](../senders.md#rejected-webhooks). Sources: ${section('links')}.`,
  )
}

/** Lines that begin with `trigger` are commands; the text below them is shown after the result. */
function trial(text: string, result: string): string {
  const lines = text.split('\n')
  const commands = lines.filter((line) => line.startsWith('trigger '))
  if (commands.length === 0) return text
  const program = commands.map((command) => `npx postern ${command}`).join('\n')
  return joined(
    'In [a running project](../senders.md#a-project-to-try-it):',
    `\`\`\`sh run-by test/repository/sender-pages.test.ts\n${program}\n\`\`\``,
    result,
    lines.slice(commands.length).join('\n'),
  )
}
