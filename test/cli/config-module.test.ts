import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import * as postern from '../../src/index.ts'
import { loadConfigModule } from '../../src/config/module.ts'
import { isConfigurationError } from '../harness/configuration-error.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

const folder = temporaryFolder()

test('a module outside the installation imports postern, in TypeScript, also through its own files', async () => {
  await writeFile(
    join(folder, 'a.config.ts'),
    `import * as postern from 'postern'
     import type { PosternConfig } from 'postern'
     import { handlers } from './handlers.ts'
     const config: PosternConfig = { receiving: { handlers } }
     export default { ...postern.defineConfig(config), postern }`,
  )
  await writeFile(
    join(folder, 'handlers.ts'),
    `import { hmac, type Handler } from 'postern'
     export const handlers: Record<string, Handler> = { 'order.paid': () => void hmac }`,
  )
  const config = await loadConfigModule<{ receiving: object; postern: object }>('a.config.ts', folder)
  assert.deepEqual(Object.keys(config!.receiving), ['handlers'])
  assert.equal(config!.postern, postern, 'this installation, not a second copy of it')
})

test('the running installation is imported, not another one beside the module, also by CommonJS', async () => {
  await mkdir(join(folder, 'node_modules/postern'), { recursive: true })
  await writeFile(join(folder, 'node_modules/postern/index.js'), 'module.exports = { hmac: "another" }')
  await writeFile(
    join(folder, 'b.config.cjs'),
    `module.exports = { isOurs: typeof require('postern').hmac === 'function' }`,
  )
  assert.deepEqual(await loadConfigModule('b.config.cjs', folder), { isOurs: true })
})

test('a project that npm made CommonJS is told which file to change, without the stack of Node.js', async () => {
  const project = join(folder, 'commonjs')
  await mkdir(project)
  await writeFile(join(project, 'package.json'), '{ "type": "commonjs" }')
  await writeFile(join(project, 'postern.config.ts'), `import { defineConfig } from 'postern'`)
  await assert.rejects(
    loadConfigModule(undefined, project),
    /postern\.config\.ts uses import or export, and its package\.json has "type": "commonjs": run `npm pkg set type=module`[^\n]*$/,
  )
  await writeFile(join(folder, 'throws.ts'), 'throw new Error("my own")')
  await assert.rejects(loadConfigModule('throws.ts', folder), ({ message }: Error) => {
    assert.match(message, /my own\n +at .*throws\.ts/)
    assert.doesNotMatch(message, /node:internal/)
    return true
  })
})

test('no module is fine; a missing or broken module, or one without a default export, is an error that names the file', async () => {
  assert.equal(await loadConfigModule(undefined, folder), undefined)
  await writeFile(join(folder, 'broken.ts'), `import 'not-installed'`)
  await writeFile(join(folder, 'empty.ts'), 'export const config = {}')
  for (const [name, why] of [
    ['missing.ts', /POSTERN_CONFIG names missing\.ts/],
    ['broken.ts', /broken\.ts could not be loaded: .*not-installed/],
    ['empty.ts', /empty\.ts has no default export/],
  ] as const)
    await assert.rejects(loadConfigModule(name, folder), (error) => {
      assert.ok(isConfigurationError(error))
      assert.match(error.message, why)
      return true
    })
})
