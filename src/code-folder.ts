import { dirname, join } from 'node:path'

/** The folder of the code: `src` in a checkout, `dist` in the package. Files that are no modules lie below it by the same paths. */
export const codeFolder = import.meta.dirname
/** How files of modules end: `.ts` in a checkout, `.js` in the package. */
export const moduleExtension = import.meta.filename.endsWith('.ts') ? '.ts' : '.js'
/** The package's own description. */
export const packageFile = join(dirname(codeFolder), 'package.json')
/** The command line in this working directory: in a checkout itself npm runs the sources, and a project has the command. */
export const posternCommand =
  moduleExtension === '.ts' && process.cwd() === dirname(codeFolder) ? 'npm run postern --' : 'npx postern'
