// Runs commands one after the other in one process, each as `postern` runs it. Loading the service for each would take half a second
// of processor time. Only the modules that may remember the previous command are loaded again. What a command logs is not in its output.
import { registerHooks } from 'node:module'
import type { Command, Ended } from './command.ts'

const sources = new URL('../../src/', import.meta.url).href
const commands = `${sources}cli/`
/** Projects' own modules, and those of the commands: `--json` and the file of settings are remembered there. */
const isRemembered = (url: string) =>
  url.startsWith(commands) || (url.startsWith('file:') && !/\/(?:src|test|node_modules)\//.test(url))
let number = 0

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    return isRemembered(found.url) && !found.url.includes('?')
      ? { ...found, url: `${found.url}?command=${number}` }
      : found
  },
})

class Exit extends Error {}

let output: Omit<Ended, 'code'> = { stdout: '', stderr: '' }
/** What a call of `process.exit` has ended: nothing that follows counts. */
let exited: Ended | undefined

process.exit = (code) => {
  exited ??= { code: Number(code ?? process.exitCode ?? 0), ...output }
  throw new Exit()
}
for (const name of ['stdout', 'stderr'] as const)
  process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    output[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const written = rest.at(-1)
    if (typeof written === 'function') process.nextTick(written)
    return true
  }

async function run({ folder, args, env }: Command): Promise<void> {
  number += 1
  output = { stdout: '', stderr: '' }
  exited = undefined
  process.exitCode = undefined
  process.chdir(folder)
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name)
  Object.assign(process.env, env)
  process.stdout.removeAllListeners('error')
  // Resolved by the hook: it is another module for each command.
  const { runCommandLine } = await import('../../src/cli/run.ts')
  await runCommandLine([process.execPath, 'postern', ...args])
}

// The command has ended when nothing keeps its process alive but the channel to the test.
process.on('message', (command: Command) => {
  process.channel!.unref()
  void run(command)
})
process.on('beforeExit', () => {
  process.channel!.ref()
  process.send!(exited ?? { code: Number(process.exitCode ?? 0), ...output })
})
process.on('disconnect', () => {
  process.kill(process.pid)
})
