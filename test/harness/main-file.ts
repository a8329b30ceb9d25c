import { fileURLToPath } from 'node:url'

/** The program that `postern` runs: of this checkout, or of the installed package in `npm test -- --package`. */
export const mainFile = fileURLToPath(import.meta.resolve('../../src/main.ts'))
