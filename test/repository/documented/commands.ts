import type { Command } from 'commander'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandLine } from '../../../src/cli/program.ts'
import { root, stepsOf, type Block } from './blocks.ts'

const shells = new Set(['sh', 'bash', 'console'])

/** The lines of a block that are typed into a shell, without those that continue them and without comments. */
export function commandLinesOf(block: Block): string[] {
  if (!shells.has(block.language)) return []
  const isTyped = /^\$ /m.test(block.text)
  const lines = isTyped ? stepsOf(block).map(({ command }) => command) : block.text.split(/(?<!\\)\n/)
  return lines
    .map((line) => line.replaceAll(/\\\n\s*/g, ' ').replace(/(?:^|\s+)#.*$/, ''))
    .filter((line) => line !== '')
}

/** At the place of a command: elsewhere `postern` is the name of a user, a database, an image. */
const call =
  /(?<=^|&& |; |\| |exec \S+ |sudo |\w=\S* )(?:npx (?:--yes |-y )?postern|npm run (?:-s |--silent )?postern --|postern)(?: +([^|;&>)`]*))/g

/** The arguments of each call of `postern` in a line. */
export const callsIn = (line: string): string[][] =>
  // What another command prints is no argument that could be checked.
  [...line.replaceAll(/\$\([^)]*\)/g, '…').matchAll(call)].map(([, words = '']) => words.trim().split(/\s+/))

const names = (one: Command): string[] => [one.name(), ...one.aliases()]

/** What is wrong with a call of `postern`, if anything: a command or an option that does not exist. */
export function faultOf(words: readonly string[]): string | undefined {
  let at = commandLine()
  const path = ['postern']
  const options = new Set(['--help', '-h', '--version', '-V', '--json'])
  const add = (one: Command): void => {
    for (const { long, short, negate } of one.options)
      for (const name of [long, short, negate ? undefined : long?.replace('--', '--no-')])
        if (name) options.add(name)
  }
  add(at)
  let rest = words
  while (at.commands.length > 0 && rest.length > 0 && !rest[0]!.startsWith('-')) {
    const [name = ''] = rest
    // A word in capitals, or dots, stands for any command.
    if (/^[A-Z…]+$|^$/.test(name)) return undefined
    const next = at.commands.find((one) => names(one).includes(name))
    // `import` has arguments of its own beside its commands.
    if (!next && at.registeredArguments.length > 0) break
    if (!next) return name === 'help' ? undefined : `${path.join(' ')} has no command ${name}`
    at = next
    path.push(name)
    rest = rest.slice(1)
    add(at)
  }
  const unknown = rest
    .filter((word) => /^--?[a-z]/i.test(word))
    .map((word) => word.split('=')[0]!)
    .find((word) => !options.has(word))
  return unknown && `${path.join(' ')} has no option ${unknown}`
}

/** The scripts of this checkout, of the packages in it, and of the projects that `postern init` makes. */
export function npmScripts(): Set<string> {
  const manifests = globSync(
    ['package.json', '{examples,packages}/**/package.json', '{site,dashboard}/package.json'],
    {
      cwd: root,
      exclude: ['**/node_modules/**'],
    },
  )
  const scripts = new Set(['install', 'test', 'start', 'dev'])
  for (const file of manifests) {
    const manifest = JSON.parse(readFileSync(join(root, file), 'utf8')) as {
      scripts?: Record<string, string>
    }
    for (const name of Object.keys(manifest.scripts ?? {})) scripts.add(name)
  }
  return scripts
}
