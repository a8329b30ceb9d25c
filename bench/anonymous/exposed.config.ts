import { defineConfig } from '../../src/index.ts'
import { exposed } from '../../test/attacks/worst-requests.ts'

export default defineConfig(exposed.config)
