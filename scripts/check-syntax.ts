// Node.js 22 cannot parse `using`, and the tests of the package run on it: neither they, nor what they import, may use it.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesOf } from '../test/harness/suites.ts'

const root = join(import.meta.dirname, '..')
const [, filters = ''] =
  /npm test -- --package (.*)$/m.exec(readFileSync(join(root, '.ci/run'), 'utf8')) ?? []
const reached = new Set(
  [...filesOf('package', filters.split(' ')), 'test/harness/run-files.ts', 'test/harness/use-package.ts'].map(
    (file) => join(root, file),
  ),
)
let faults = 0
// A set gives what is added to it meanwhile, too.
for (const file of reached) {
  const text = readFileSync(file, 'utf8')
  for (const [, path] of text.matchAll(/(?:from |import\(?)'(\.[^']+|#test\/[^']+)'/g)) {
    const imported = path!.startsWith('#') ? join(root, path!.slice(1)) : join(file, '..', path!)
    if (existsSync(imported)) reached.add(imported)
  }
  for (const [index, line] of text.split('\n').entries()) {
    if (!/^\s*(?:await )?using \w+ =/.test(line)) continue
    console.log(`${file.slice(root.length + 1)}:${index + 1}: close it in a finally block: ${line.trim()}`)
    faults++
  }
}
console.log(`${reached.size} files that Node.js 22 loads, ${faults} faults`)
process.exitCode = faults > 0 ? 1 : 0
