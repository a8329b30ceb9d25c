// A tenant writes into alerts, through the description of a subscriber: links and lines that operators take for those of the service.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { conditionOf } from '../../src/alerts/condition.ts'
import { mailOf, webhookFormats } from '../../src/alerts/formats.ts'
import { subjectOf, type Message } from '../../src/alerts/message.ts'
import { emittingAttention } from '../../src/emitting/attention.ts'
import { onEachEngine } from '../harness/engines.ts'
import { startTestService } from '../harness/service.ts'
import { started } from '../harness/started.ts'

const evil = 'https://evil.example'
const description = `[Sign in](${evil})\n\u202e<${evil}|Open>\r\nDone\u2028x`

onEachEngine('what a tenant writes into alerts', (engine) => {
  let message: Message
  const service = started(() => startTestService(engine))
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

  const link = (path: string): string => `https://gate.example.com${path}`
  const linesOf = (text: string): string[] => text.split(/[\r\n\u2028\u2029]/)

  test('it is one line, in one direction', () => {
    const { subject, text } = mailOf(message, link)
    const { text: slack } = webhookFormats.slack(message, link) as { text: string }
    assert.equal(linesOf(subject).length, 1)
    // The condition, its time, its page, an empty line, the foot, and the end of the last line.
    assert.equal(linesOf(text).length, 6, text)
    assert.equal(linesOf(slack).length, 2, slack)
    assert.ok(![subject, text, slack].some((each) => each.includes('\u202e')))
  })

  test('it makes no links with texts of its own', () => {
    const { text: slack } = webhookFormats.slack(message, link) as { text: string }
    assert.ok(!slack.includes(`<${evil}`), slack)
    const { embeds } = webhookFormats.discord(message, link) as { embeds: { description: string }[] }
    assert.ok(!embeds[0]!.description.includes(`](${evil}`), embeds[0]!.description)
    // Only a TextBlock reads Markdown: https://adaptivecards.io/explorer/TextBlock.html
    const { attachments } = webhookFormats.teams(message, link) as {
      attachments: { content: { body: { type: string }[] } }[]
    }
    assert.deepEqual([...new Set(attachments[0]!.content.body.map(({ type }) => type))], ['RichTextBlock'])
  })
})
