#!/usr/bin/env node
import { runCommandLine, runPlainServe } from './cli/run.ts'

// What runs for months does not carry the parser of commands with it.
const plain = process.argv.length === 3 && process.argv[2] === 'serve'
await (plain ? runPlainServe() : runCommandLine(process.argv))
