import type { Command } from 'commander'
import { exitCodes } from '../src/cli/command-failure.ts'
import { commandLine } from '../src/cli/program.ts'

/** The reference of the command line, made from the declarations of the commands. */
export function commandsPage(head: string, table: (columns: string[], rows: string[][]) => string): string {
  const program = commandLine()
  const codes = Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning])
  const commands = program.commands.flatMap((command) => linesOf(command, 'postern'))
  return `${head}\`postern COMMAND --help\` shows the details of each.\n\n## Options of all commands\n\n${optionsOf(program)}\nProgress, notices and errors go to standard error. NO_COLOR and FORCE_COLOR are respected.\n\n## Exit codes\n\n${table(['code', 'meaning'], codes)}\n## Commands\n\n${commands.join('\n')}`
}

function linesOf(command: Command, prefix: string): string[] {
  const name = `${prefix} ${command.name()}`
  const below = command.commands.flatMap((one) => linesOf(one, name))
  if (below.length > 0 && command.registeredArguments.length === 0) return below
  const parts = command.registeredArguments.map((argument) => {
    const text = argument.argChoices?.join('|') ?? `<${argument.name()}>`
    return argument.required ? ` ${text}` : ` [${text}]`
  })
  const options = optionsOf(command)
  return [
    `### ${name}${parts.join('')}\n\n${sentence(command.description())}\n${options === '' ? '' : `\n${options}`}`,
    ...below,
  ]
}

function optionsOf(command: Command): string {
  const { options } = command
  if (options.length === 0) return ''
  const lines = options.map(({ flags, description, argChoices, defaultValue }) => {
    const choices = argChoices ? ` (${argChoices.join(', ')})` : ''
    const usual = typeof defaultValue === 'string' ? ` Default: \`${defaultValue}\`.` : ''
    return `- \`${flags}\`: ${sentence(description + choices)}${usual}\n`
  })
  return lines.join('')
}

function sentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`
}
