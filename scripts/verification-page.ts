import { receiversFor } from '../src/emitting/routes/verification.ts'

/** The address that the page shows instead of a reader's own. */
const url = 'https://example.com/webhooks'

/**
 * The page with each block of code below a mark `<!-- receiver: go -->` replaced by the receiver that the service shows. All
 * other text is the page's own.
 * @throws Error for a language without a mark, and for a mark without a language or without a block.
 */
export function withReceivers(page: string): string {
  const receivers = new Map(receiversFor(url, 'webhook').map(({ id, code }) => [id, code]))
  const filled = page.replaceAll(
    /^<!-- receiver: (\w+) -->\n\n```(\w+)\n[^]*?^```$/gm,
    (_found, id: string, language: string) => {
      const code = receivers.get(id)
      if (code === undefined) throw new Error(`the page has a mark for ${id}, which is no receiver`)
      receivers.delete(id)
      return `<!-- receiver: ${id} -->\n\n\`\`\`${language}\n${code.trimEnd()}\n\`\`\``
    },
  )
  if (receivers.size > 0) throw new Error(`the page has no block for ${[...receivers.keys()].join(', ')}`)
  return filled
}
