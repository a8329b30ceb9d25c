import { test } from 'node:test'
import type { Block } from './blocks.ts'
import { missingFor, Places } from './places.ts'
import type { Terminal } from './terminal.ts'

/**
 * Declares one test for each page of the blocks. The test runs the blocks of its page in their order, each in its place, and reports those
 * for which this machine lacks something.
 * @param shared the terminal of the blocks that name no place, once the tests run
 */
export function testPages(
  blocks: readonly Block[],
  shared: () => Terminal,
  run: (terminal: Terminal, block: Block) => Promise<void>,
): void {
  for (const page of new Set(blocks.map((block) => block.page)))
    test(page, async (context) => {
      const places = new Places()
      try {
        for (const block of blocks.filter((one) => one.page === page)) {
          const missing = missingFor(block)
          if (missing === undefined) await run(await places.of(block, shared()), block)
          else context.diagnostic(`${block.from}: ${missing}`)
        }
      } finally {
        await places.close()
      }
    })
}
