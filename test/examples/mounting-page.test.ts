// The programs of docs/guides/mounting.md as processes: the reader's own server answers its page, and the service what is below the prefix.
import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { each, freePort, temporaryFolder } from '../harness/index.ts'
import { blocksOf, root } from '../repository/documented/blocks.ts'
import { startProgram } from '../harness/program.ts'
import { programEnvironment } from './shop/programs.ts'

const blocks = blocksOf('docs/guides/mounting.md')
/** The first line of a program names its file. */
const programs = blocks.flatMap(({ language, text }) => {
  const [, file] = /^\/\/ (\w+\.ts)\n/.exec(text) ?? []
  return language === 'ts' && file !== undefined && file !== 'postern.config.ts' ? [{ file, text }] : []
})
const configuration = blocks.find(({ text }) => text.includes('export default defineConfig'))!.text
/** Addresses with what they answer, as the page shows them. */
const shown = blocks.flatMap(({ language, text }) =>
  language === 'sh' ? [...text.matchAll(/^curl http:\/\/127\.0\.0\.1:3000(\S+) +# (.+)$/gm)] : [],
)
/** The command that starts a program, without its file. */
const options = blocks.flatMap(({ text }) => /^node (.*) gate\.ts$/m.exec(text)?.[1]?.split(' ') ?? [])

const folder = temporaryFolder()
// Express and Fastify.
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))

describe('the programs of docs/guides/mounting.md', () => {
  test('are those for Node.js, Express and Fastify, with a way to start and two addresses', () => {
    assert.deepEqual(each(programs, 'file'), ['gate.ts', 'app.ts', 'server.ts'])
    assert.equal(options.length, 2)
    assert.equal(shown.length, 2)
  })

  for (const { file, text } of programs)
    test(`${file} answers as the page says, and ends after SIGTERM`, async () => {
      const home = join(folder, file)
      const port = String(await freePort())
      mkdirSync(join(home, 'migrations'), { recursive: true })
      const files = { 'package.json': '{"type":"module"}', '.env': `PORT=${port}\nSHUTDOWN_DELAY=0\n` }
      const all = { ...files, 'postern.config.ts': configuration, [file]: text.replaceAll('3000', port) }
      for (const [name, content] of Object.entries(all)) writeFileSync(join(home, name), content)
      const env = programEnvironment(home)
      const program = startProgram([process.execPath, ...options, file], { cwd: home, env })
      try {
        await program.shows(/"msg":"ready"/)
        for (const [, path, answer] of shown) {
          const printed = await (await fetch(`http://127.0.0.1:${port}${path}`)).text()
          assert.ok(printed.startsWith(answer!.replace(/…\}$/, '').replace(/,$/, '')), `${path}: ${printed}`)
        }
      } finally {
        assert.equal(await program.stop(), 0, program.output())
      }
    })
})
