#!/usr/bin/env node
import { runCommandLine, runPlainServe } from './cli/run.ts'

const command = process.argv.slice(2)
// The running service does not keep the parser of commands in memory. No command means `serve`: `npx postern` is the demo.
const plain = command.length === 0 || (command.length === 1 && command[0] === 'serve')
await (plain ? runPlainServe() : runCommandLine(process.argv))
