import type { Command } from 'commander'

export type Shell = 'bash' | 'zsh' | 'fish'

interface Word {
  word: string
  description: string
}

/** What may follow each command: `/keys` has `create`, `list` and so on. */
type Words = ReadonlyMap<string, readonly Word[]>

/** Values of arguments that take others too. */
const suggested: Readonly<Record<string, readonly string[]>> = { '/import': ['users', 'products', 'posts'] }

/** Prints a script by which a shell completes the commands, their options and the choices of their arguments. */
export function printCompletion(shell: Shell, program: Command): void {
  process.stdout.write(scripts[shell](collect(program, '', optionsOf(program), new Map())))
}

/** @param common the options of all commands */
function collect(command: Command, at: string, common: readonly Word[], words: Map<string, Word[]>): Words {
  words.set(at, [
    ...command.commands.map((one) => ({ word: one.name(), description: one.description() })),
    ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
      argChoices.map((word) => ({ word, description })),
    ),
    ...(suggested[at] ?? []).map((word) => ({ word, description: 'a built-in list' })),
    ...optionsOf(command),
    ...(at === '' ? [] : common),
    { word: '--help', description: 'display help for command' },
  ])
  for (const one of command.commands) collect(one, `${at}/${one.name()}`, common, words)
  return words
}

function optionsOf({ options }: Command): Word[] {
  return options.map(({ long, short, description }) => ({ word: long ?? short ?? '', description }))
}

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
const commandsOf = (words: Words): string[] => [...words.keys()].filter((at) => at !== '')

const scripts: Record<Shell, (words: Words) => string> = {
  bash: (words) => `# source <(postern completion bash)
_postern() {
  local word at='' found=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at/$word" in
      ${commandsOf(words).join('|')}) at="$at/$word" ;;
    esac
  done
  case "$at" in
${lines(words, (at, list) => `    ${quote(at)}) found=${quote(list.map(({ word }) => word).join(' '))} ;;`)}
  esac
  COMPREPLY=($(compgen -W "$found" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _postern postern
`,
  zsh: (words) => `#compdef postern
# source <(postern completion zsh)
_postern() {
  local word at=''
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at/$word" in
      (${commandsOf(words).join('|')}) at="$at/$word" ;;
    esac
  done
  case "$at" in
${lines(words, (at, list) => `    (${quote(at)}) found=(${list.map(({ word, description }) => quote(`${word}:${description}`)).join(' ')}) ;;`)}
  esac
  _describe postern found || _files
}
compdef _postern postern
`,
  fish: (words) => `# postern completion fish | source
function __postern_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at/$word"
      case ${commandsOf(words).join(' ')}
        set at "$at/$word"
    end
  end
  test "$at" = "$argv[1]"
end
${lines(words, (at, list) =>
  list
    .map(({ word, description }) => {
      const kind = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
      return `complete -c postern -n "__postern_at '${at}'" ${kind} -d ${quote(description)}`
    })
    .join('\n'),
)}
`,
}

function lines(words: Words, line: (at: string, list: readonly Word[]) => string): string {
  return Array.from(words, ([at, list]) => line(at, list)).join('\n')
}
