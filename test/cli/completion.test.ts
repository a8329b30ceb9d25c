import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { before, describe, test } from 'node:test'
import type { Command } from 'commander'
import { commandLine } from '../../src/cli/program.ts'
import { postern } from './command.ts'

const isThere = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0

/** Defines what a shell brings for interactive use only, and prints what would be offered. */
const asking: Record<string, (script: string, words: string[]) => string> = {
  bash: (script, words) =>
    `${script}\nCOMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; _postern; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (script, words) =>
    `compdef() { : }; _describe() { printf '%s\\n' "\${found[@]%%:*}" }\n${script}\nwords=(${quoted(words)}); CURRENT=${words.length}; _postern`,
  fish: (script, words) => `${script}\ncomplete -C '${words.join(' ')}' | cut -f 1`,
}
const quoted = (words: string[]): string => words.map((word) => `'${word}'`).join(' ')

for (const shell of ['bash', 'zsh', 'fish'] as const)
  describe(`postern completion ${shell}`, { skip: !isThere(shell) }, () => {
    let script = ''
    before(async () => {
      const { code, stdout, stderr } = await postern(tmpdir(), ['completion', shell])
      assert.equal(code, 0, stderr)
      script = stdout
    })
    const offered = (...words: string[]): string[] => {
      const run = asking[shell]!(script, ['postern', ...words])
      const { stdout, stderr } = spawnSync(shell, ['-c', run], { encoding: 'utf8' })
      assert.equal(stderr, '')
      return stdout.split('\n').filter((line) => line !== '')
    }

    test('offers all commands, the commands of a group, options and choices', () => {
      const commands = commandLine().commands.map((command) => command.name())
      const first = offered('')
      assert.deepEqual(
        commands.filter((name) => !first.includes(name)),
        [],
      )
      assert.ok(['create', 'list', 'revoke'].every((name) => offered('keys', '').includes(name)))
      assert.ok(offered('replay', '').includes('deliveries'))
      assert.ok(!offered('keys', 'list', '').includes('create'))
      assert.ok(offered('keys', 'create', 'ci', '--').includes('--scope'))
      assert.ok(offered('--env-file', 'x.env', 'import', '').includes('products'))
    })

    test('offers each option of each command', () => {
      const check = (command: Command, path: string[]): void => {
        for (const below of command.commands) check(below, [...path, below.name()])
        const found = offered(...path, '--')
        for (const { long } of command.options)
          assert.ok(found.includes(long!), `${path.join(' ')} ${long} in ${found.join(' ')}`)
        assert.ok(found.includes('--json'))
      }
      check(commandLine(), [])
    })
  })
