import { readFileSync } from 'node:fs'
import { packageFile } from '../code-folder.ts'

/** The version of Postern, as package.json names it. */
export const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
