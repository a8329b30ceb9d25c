import { readFileSync } from 'node:fs'
import { parseArgs, type ParseArgsConfig } from 'node:util'

/**
 * Reads the options of a script that `npm run` starts, as `parseArgs` does. `--help` prints the comment at the top of the
 * script and its options, and exits with 0. Arguments that the script does not take print one line, and exit with 1.
 * @param script the script's `import.meta.filename`
 */
export function readOptions<T extends ParseArgsConfig>(
  script: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).includes('--help')) {
    console.log(usage(readFileSync(script, 'utf8'), config))
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    if (code?.startsWith('ERR_PARSE_ARGS_') !== true) throw error
    console.error(`${message}\nSee --help.`)
    return process.exit(1)
  }
}

function usage(source: string, { options = {} }: ParseArgsConfig): string {
  const lines = source.split('\n')
  const end = lines.findIndex((line) => !line.startsWith('//'))
  const comment = lines.slice(0, end).map((line) => line.slice('// '.length))
  const names = Object.entries(options).map(([name, { type, default: value }]) => {
    const option = type === 'boolean' ? `--${name}` : `--${name} VALUE`
    return value === undefined || value === false ? `  ${option}` : `  ${option}   default ${String(value)}`
  })
  return [...comment, '', 'Options:', ...names, '  --help'].join('\n')
}
