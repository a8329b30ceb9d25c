import { dirname, join } from 'node:path'

/** The folder of the code: `src` in a checkout, `dist` in the package. Files that are no modules lie below it by the same paths. */
export const codeFolder = import.meta.dirname
/** How files of modules end: `.ts` in a checkout, `.js` in the package. */
export const moduleExtension = import.meta.filename.endsWith('.ts') ? '.ts' : '.js'
/** The command line of this installation: in a checkout, npm runs the sources. */
export const posternCommand = moduleExtension === '.ts' ? 'npm run postern --' : 'npx postern'
/** The package's own description. */
export const packageFile = join(dirname(codeFolder), 'package.json')
