#!/usr/bin/env node
import { constants } from 'node:os'

// As process 1, which it is in a container, a program gets only the signals that it listens for: without this, a stop during the start
// would be lost, and the platform would kill the process later.
if (process.pid === 1)
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      // A command with a listener of its own ends its work first.
      if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal])
    })

// Imported after that, because it takes most of the time until the service starts.
const { runCommandLine, runPlainServe } = await import('./cli/run.ts')

const command = process.argv.slice(2)
// The running service does not keep the parser of commands in memory. No command means `serve`: `npx postern` is the demo.
const plain = command.length === 0 || (command.length === 1 && command[0] === 'serve')
await (plain ? runPlainServe() : runCommandLine(process.argv))
