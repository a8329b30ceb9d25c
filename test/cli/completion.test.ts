import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { before, describe, test } from 'node:test'
import type { Command } from 'commander'
import { commandLine } from '../../src/cli/program.ts'
import { postern } from './command.ts'

const isThere = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0

interface Shell {
  /** Defines what the shell brings for interactive use only. */
  define: string
  /** Prints what would be offered after these words. */
  ask: (words: readonly string[]) => string
}

const shells: Record<string, Shell> = {
  bash: {
    define: '',
    ask: (words) =>
      `COMPREPLY=(); COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; _postern; printf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  zsh: {
    define: `compdef() { : }; _describe() { printf '%s\\n' "\${found[@]%%:*}" }`,
    ask: (words) => `words=(${quoted(words)}); CURRENT=${words.length}; _postern`,
  },
  fish: { define: '', ask: (words) => `complete -C '${words.join(' ')}' | cut -f 1` },
}
/** A line between two answers, which no command has. */
const end = '/end'
const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ')

for (const shell of ['bash', 'zsh', 'fish'] as const)
  describe(`postern completion ${shell}`, { skip: !isThere(shell) }, () => {
    let script = ''
    before(async () => {
      const { code, stdout, stderr } = await postern(tmpdir(), ['completion', shell])
      assert.equal(code, 0, stderr)
      script = stdout
    })
    /** What is offered after each of these lines of words. One shell answers all, because a start takes longer than an answer. */
    const offered = (...lines: (readonly string[])[]): string[][] => {
      const { define, ask } = shells[shell]!
      const asked = lines.map((words) => `${ask(['postern', ...words])}\nprintf '%s\\n' ${end}`)
      const { stdout, stderr } = spawnSync(shell, ['-c', [define, script, ...asked].join('\n')], {
        encoding: 'utf8',
      })
      assert.equal(stderr, '')
      const answers = stdout.split(`${end}\n`).slice(0, -1)
      assert.equal(answers.length, lines.length)
      return answers.map((answer) => answer.split('\n').filter((line) => line !== ''))
    }

    test('offers all commands, the commands of a group, options and choices', () => {
      const commands = commandLine().commands.map((command) => command.name())
      const [first, ofKeys, ofReplay, ofList, ofCreate, afterGlobal] = offered(
        [''],
        ['keys', ''],
        ['replay', ''],
        ['keys', 'list', ''],
        ['keys', 'create', 'ci', '--'],
        ['--env-file', 'x.env', 'import', ''],
      )
      assert.deepEqual(
        commands.filter((name) => !first!.includes(name)),
        [],
      )
      assert.ok(['create', 'list', 'revoke'].every((name) => ofKeys!.includes(name)))
      assert.ok(ofReplay!.includes('deliveries'))
      assert.ok(!ofList!.includes('create'))
      assert.ok(ofCreate!.includes('--scope'))
      assert.ok(afterGlobal!.includes('products'))
    })

    test('offers each option of each command', () => {
      const all: { command: Command; path: string[] }[] = []
      const add = (command: Command, path: string[]): void => {
        all.push({ command, path })
        for (const below of command.commands) add(below, [...path, below.name()])
      }
      add(commandLine(), [])
      const answers = offered(...all.map(({ path }) => [...path, '--']))
      for (const [index, { command, path }] of all.entries()) {
        const found = answers[index]!
        for (const { long } of command.options)
          assert.ok(found.includes(long!), `${path.join(' ')} ${long} in ${found.join(' ')}`)
        assert.ok(found.includes('--json'))
      }
    })
  })
