// A tenant writes into alerts, through the description of a subscriber: links and lines that operators take for those of the service.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { conditionOf } from '../../src/alerts/index.ts'
import { mailOf, webhookFormats, type Message, subjectOf } from '../../src/alerts/deliver.ts'
import { emittingAttention } from '../../src/emitting/attention.ts'
import { onOneEngine, startedService } from '../harness/index.ts'
import { expectJson } from '../emitting/harness.ts'

const evil = 'https://evil.example'
const description = `[Sign in](${evil})\n\u202e<${evil}|Open>\r\n*a*_b_~\u2028www.evil.example x@evil.example`

onOneEngine('what a tenant writes into alerts', (engine) => {
  let message: Message
  const service = startedService(engine)
  before(async () => {
    const json = { url: 'http://127.0.0.1:9/', owner: 'acme', description }
    const made = await service.admin('/subscribers', { method: 'POST', json })
    assert.equal(made.status, 201)
    await service.database.transaction((tx) =>
      tx.updateTable('subscribers').set({ failing_since: 1 }).where('owner', '=', 'acme').execute(),
    )
    const [found] = await emittingAttention(service.database, Date.now())
    const line = conditionOf(found!)
    assert.ok(line.text.includes('Sign in'), 'the description is quoted')
    message = { what: 'opened', subject: subjectOf('opened', [line]), lines: [line] }
  })

  const sender = { name: 'Postern (gate)', link: (path: string) => `https://gate.example.com${path}` }
  const linesOf = (text: string): string[] => text.split(/[\r\n\u2028\u2029]/)

  test('it is one line, in one direction', () => {
    const { subject, text } = mailOf(message, sender)
    const { text: slack } = webhookFormats.slack(message, sender) as { text: string }
    assert.equal(linesOf(subject).length, 1)
    // The condition, its time, its page, an empty line, two lines of the foot, and the end of the last line.
    assert.equal(linesOf(text).length, 7, text)
    assert.equal(linesOf(slack).length, 3, slack)
    assert.ok(![subject, text, slack].some((each) => each.includes('\u202e')))
  })

  test('it makes no links and no markup, in the lines and in the subject', () => {
    const own =
      /<https:\/\/gate\.example\.com[^>|]*\|View details>|\(https:\/\/gate\.example\.com[^)]*\)|https:\/\/gate\.example\.com\S*/g
    /** What chats and mail programs make a link of: a scheme, a domain, an address of mail. */
    const linked = /\w:\/\/|[\p{L}\d-]\.\p{L}{2}|@\p{L}/u
    const { subject, text } = mailOf(message, sender)
    const { text: slack } = webhookFormats.slack(message, sender) as { text: string }
    const { attachments } = webhookFormats.teams(message, sender) as {
      attachments: { content: { body: { type: string; inlines: { text: string }[] }[] } }[]
    }
    const { body } = attachments[0]!.content
    // Only a TextBlock reads Markdown: https://adaptivecards.io/explorer/TextBlock.html
    assert.deepEqual([...new Set(body.map(({ type }) => type))], ['RichTextBlock'])
    const teams = body.flatMap(({ inlines }) => inlines.map((run) => run.text)).join('\n')
    for (const shown of [subject, text, slack, teams]) assert.doesNotMatch(shown.replaceAll(own, ''), linked)
    // The bold subject is that of the service.
    assert.doesNotMatch(slack.replace(/^\*.*\*$/m, '').replaceAll(own, ''), /[*~`<>]|\]\(|(?<!\w)_|_(?!\w)/)
    const { embeds } = webhookFormats.discord(message, sender) as {
      embeds: { title: string; description: string }[]
    }
    const { title, description: lines } = embeds[0]!
    assert.doesNotMatch(
      `${title}\n${lines.replace(/^- /, '')}`.replaceAll(own, '').replaceAll(/\\./g, ''),
      /[*_~`|<>()#@]|:\/\//,
    )
    assert.equal((slack.match(/\|View details>/g) ?? []).length, 1)
  })

  test('GET /attention has one line without an address, for whoever wrote it', async () => {
    const key = {
      scopes: ['events:read'],
      name: `deploy ${evil}/keys *x*`,
      expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    }
    assert.equal((await service.admin('/keys', { method: 'POST', json: key })).status, 201)
    const found = await expectJson<{ data: { kind: string; text: string }[] }>(service, 200, '/attention')
    const texts = found.data.filter(({ text }) => /deploy|Sign in/.test(text)).map(({ text }) => text)
    assert.equal(texts.length, 2, JSON.stringify(found))
    for (const text of texts) {
      assert.doesNotMatch(text, /:\/\/|[\r\n\u2028\u2029\u202e]/)
      assert.match(text, /evil\.example/, 'an operator can see what was written')
    }
  })

  test('a text of any length and characters has a body that the chats take', () => {
    for (const text of ['\\'.repeat(400), '*_'.repeat(300), 'a.b@c '.repeat(200), '😀'.repeat(200)]) {
      const line = { text, since: null, path: '/x' }
      const one: Message = {
        what: 'opened',
        subject: subjectOf('opened', [line]),
        lines: Array.from({ length: 20 }, () => line),
      }
      const { embeds } = webhookFormats.discord(one, sender) as {
        embeds: { title: string; description: string }[]
      }
      const { title, description: shown } = embeds[0]!
      assert.ok(title.length <= 256 && shown.length <= 4096)
      assert.equal((/\\*$/.exec(title)?.[0].length ?? 0) % 2, 0, 'no backslash is left alone')
      assert.ok(title.isWellFormed() && shown.isWellFormed())
    }
  })
})
